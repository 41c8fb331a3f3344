//! An EndpointSlice, reduced to what the rules read.

use std::fmt;

use serde::Deserialize;
use smallvec::SmallVec;

use crate::{
    admission::kinds::{addresses::ListedAddress, check::CheckedMeta},
    model::{AddressType, HintName, Text, names, wire::nullable},
};

/// An EndpointSlice.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::admission::kinds) struct CheckedSlice {
    #[serde(default, deserialize_with = "nullable")]
    pub(super) metadata: CheckedMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) address_type: AddressType,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) endpoints: Vec<CheckedEndpoint>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) ports: Vec<CheckedPort>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CheckedPort {
    #[serde(deserialize_with = "nullable")]
    pub(super) name: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CheckedEndpoint {
    #[serde(deserialize_with = "nullable")]
    addresses: SmallVec<[Text; 1]>,
    #[serde(deserialize_with = "nullable")]
    pub(super) hints: CheckedHints,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CheckedHints {
    #[serde(deserialize_with = "nullable")]
    pub(super) for_zones: Vec<HintName>,
}

impl CheckedSlice {
    /// All addresses with their fields.
    pub(super) fn addresses(&self) -> impl Iterator<Item = ListedAddress<'_, EndpointField>> {
        self.endpoints.iter().enumerate().flat_map(|(endpoint, e)| {
            e.addresses
                .iter()
                .enumerate()
                .map(move |(at, text)| ListedAddress { text: text.as_str(), field: EndpointField { endpoint, at } })
        })
    }

    /// Whether its addresses are host names.
    pub(super) fn has_names(&self) -> bool {
        matches!(&self.address_type, AddressType::Other(t) if t == "FQDN")
    }

    /// The Service in the label of the slice.
    pub(super) fn service_name(&self) -> Option<&str> {
        self.metadata.labels.get(names::SERVICE_NAME).map(AsRef::as_ref).filter(|name: &&str| !name.is_empty())
    }
}

/// The field of an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndpointField {
    endpoint: usize,
    at: usize,
}

impl fmt::Display for EndpointField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "endpoints[{}].addresses[{}]", self.endpoint, self.at)
    }
}
