//! Checks of EndpointSlices.

mod content;
mod service;

use serde::Deserialize;
use smallvec::SmallVec;

use super::{Check, Checked, Head, Subject, addresses, managed};
use crate::{
    admission::{Rule, findings::Findings, owner},
    model::{AddressType, Named, Text, wire::nullable},
};

/// An EndpointSlice, as far as the rules read it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    #[serde(default, deserialize_with = "nullable")]
    metadata: Head,
    #[serde(default, deserialize_with = "nullable")]
    address_type: AddressType,
    #[serde(default, deserialize_with = "nullable")]
    endpoints: Vec<Endpoint>,
    #[serde(default, deserialize_with = "nullable")]
    ports: Vec<Port>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Port {
    #[serde(deserialize_with = "nullable")]
    name: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Endpoint {
    #[serde(deserialize_with = "nullable")]
    addresses: SmallVec<[Text; 1]>,
    #[serde(deserialize_with = "nullable")]
    hints: Hints,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Hints {
    #[serde(deserialize_with = "nullable")]
    for_zones: Vec<Named>,
}

impl Listed {
    fn addresses(&self) -> impl Iterator<Item = addresses::Listed<'_, Field>> {
        self.endpoints.iter().enumerate().flat_map(|(endpoint, e)| {
            e.addresses
                .iter()
                .enumerate()
                .map(move |(at, text)| addresses::Listed { text: text.as_str(), field: Field { endpoint, at } })
        })
    }

    /// Whether its addresses are names.
    fn has_names(&self) -> bool {
        matches!(&self.address_type, AddressType::Other(t) if t == "FQDN")
    }
}

/// Where an address is.
#[derive(Clone, Copy, Debug)]
struct Field {
    endpoint: usize,
    at: usize,
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "endpoints[{}].addresses[{}]", self.endpoint, self.at)
    }
}

impl Checked for Listed {
    const CHECKS: &'static [Check<Self>] = &[
        Check { rules: &[Rule::SliceLabels, Rule::SliceService], look: service::check },
        Check { rules: &[Rule::ManagedBy], look: |s, f| managed(s, |o| &o.metadata, owner::SLICES, f) },
        Check { rules: &[Rule::SliceOverCapacity], look: content::capacity },
        Check { rules: &[Rule::AddressType], look: content::address_type },
        Check { rules: &[Rule::SpecialAddress], look: special },
        Check { rules: &[Rule::DuplicateEndpoint], look: service::duplicates },
        Check { rules: &[Rule::UnknownZone], look: content::zones },
        Check { rules: &[Rule::Provenance], look: provenance },
    ];

    fn deleting(&self) -> bool {
        self.metadata.deleting()
    }

    fn is_owned(subject: &Subject<'_, Self>) -> bool {
        owner::managed_by(&subject.object.metadata.labels, owner::SLICES).is_some()
    }
}

/// Names are no addresses: what they stand for is not known here.
fn special(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    if !subject.object.has_names() {
        for listed in subject.object.addresses() {
            addresses::check_special(&listed, findings);
        }
    }
}

fn provenance(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    addresses::check_provenance(subject.object.addresses(), subject.namespace, subject.cluster, findings);
}
