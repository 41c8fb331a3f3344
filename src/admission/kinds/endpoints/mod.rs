//! Checks of Endpoints.

mod capacity;
mod duplicates;
mod headless;

use serde::Deserialize;

use super::{Check, Checked, Head, Subject, addresses, managed};
use crate::{
    admission::{
        Known, Rule,
        findings::{About, Findings},
        owner,
    },
    model::{EndpointPort, ServiceType, Text, names, wire::nullable},
};

/// An Endpoints object, as far as the rules read it: of an address only the IP, so that a thousand of them are
/// read in a fraction of a millisecond.
#[derive(Debug, Deserialize)]
pub(super) struct Listed {
    #[serde(default, deserialize_with = "nullable")]
    metadata: Head,
    #[serde(default, deserialize_with = "nullable")]
    subsets: Vec<Subset>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Subset {
    #[serde(deserialize_with = "nullable")]
    addresses: Vec<Address>,
    #[serde(deserialize_with = "nullable")]
    not_ready_addresses: Vec<Address>,
    #[serde(deserialize_with = "nullable")]
    ports: Vec<EndpointPort>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Address {
    #[serde(deserialize_with = "nullable")]
    ip: Text,
}

/// The names of the two lists of a subset.
const LISTS: [&str; 2] = ["addresses", "notReadyAddresses"];

impl Subset {
    fn lists(&self) -> [&[Address]; 2] {
        [&self.addresses, &self.not_ready_addresses]
    }
}

impl Listed {
    /// How many addresses the lists of each subset hold.
    fn counts(&self) -> Vec<[usize; 2]> {
        self.subsets.iter().map(|s| s.lists().map(<[_]>::len)).collect()
    }

    fn addresses(&self) -> impl Iterator<Item = addresses::Listed<'_, Field>> {
        self.subsets.iter().enumerate().flat_map(|(subset, s)| {
            s.lists().into_iter().enumerate().flat_map(move |(list, addresses)| {
                addresses.iter().enumerate().map(move |(at, address)| addresses::Listed {
                    text: address.ip.as_str(),
                    field: Field { subset, list, at },
                })
            })
        })
    }
}

/// Where an address is.
#[derive(Clone, Copy, Debug)]
struct Field {
    subset: usize,
    list: usize,
    at: usize,
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "subsets[{}].{}[{}].ip", self.subset, LISTS[self.list], self.at)
    }
}

impl Checked for Listed {
    const CHECKS: &'static [Check<Self>] = &[
        Check { rules: &[Rule::OverCapacity, Rule::OverCapacityWarning], look: capacity::check },
        Check { rules: &[Rule::HeadlessLabel], look: headless::check },
        Check { rules: &[Rule::ManagedBy], look: |s, f| managed(s, |o| &o.metadata, owner::ENDPOINTS, f) },
        Check { rules: &[Rule::SpecialAddress], look: special },
        Check { rules: &[Rule::DuplicateAddress], look: duplicates::check },
        Check { rules: &[Rule::Provenance], look: provenance },
        Check { rules: &[Rule::EndpointsDeprecated], look: deprecated },
    ];

    fn deleting(&self) -> bool {
        self.metadata.deleting()
    }

    /// By its label, which it has since 1.33; or because the Service has a selector.
    fn is_owned(subject: &Subject<'_, Self>) -> bool {
        owner::managed_by(&subject.object.metadata.labels, owner::ENDPOINTS).is_some()
            || matches!(
                subject.cluster.service(subject.namespace, subject.name),
                Known::Yes(Some(s)) if s.selector.is_some() && s.kind != ServiceType::ExternalName
            )
    }
}

fn special(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    for listed in subject.object.addresses() {
        addresses::check_special(&listed, findings);
    }
}

fn provenance(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    addresses::check_provenance(subject.object.addresses(), subject.namespace, subject.cluster, findings);
}

/// Endpoints that are a lock of a leader election have nothing to move to slices.
fn deprecated(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    if !subject.object.metadata.annotations.contains_key(names::LEADER) {
        findings.add(
            Rule::EndpointsDeprecated,
            About::Text(""),
            format_args!(""),
            format_args!("v1 Endpoints are deprecated since 1.33; write discovery.k8s.io/v1 EndpointSlices"),
        );
    }
}
