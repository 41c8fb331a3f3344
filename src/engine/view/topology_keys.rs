//! The topology keys of a Service: which labels of nodes fence its traffic in.

use serde::Deserialize;

use super::viewpoint::Viewpoint;
use crate::model::{Labels, Service, Text};

/// The annotation of SuperEdge's application-grid-wrapper: a JSON list of label keys.
pub const SUPEREDGE_KEYS: &str = "topologyKeys";
/// In ordered mode, and in the field `topologyKeys`: all endpoints.
pub(super) const WILDCARD: &str = "*";

/// How several keys are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyOrder {
    /// As SuperEdge does: an endpoint stays if its node agrees with this one in any of the keys.
    #[default]
    #[serde(rename = "any")]
    AnyKey,
    /// As the field `topologyKeys` of Kubernetes 1.17 to 1.21: the first key for which there is a ready endpoint decides,
    /// and `*` stands for all endpoints. Unlike there, all endpoints are used where no key has one.
    Ordered,
}

/// The keys of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopologyKeys(Vec<Text>);

impl TopologyKeys {
    /// Reads the annotation of a Service. An annotation that is not a list of texts is an error: SuperEdge ignores it.
    pub fn of(service: &Service) -> Result<Self, MalformedKeys> {
        let Some(text) = service.meta.annotations.get(SUPEREDGE_KEYS) else { return Ok(Self::default()) };
        let keys: Option<Vec<Text>> = serde_json::from_str(text).map_err(|_| MalformedKeys)?;
        Ok(Self(keys.unwrap_or_default()))
    }

    /// The keys, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Text> {
        self.0.iter()
    }

    /// Whether the Service has no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a node agrees with another one in any key: both have it, with equal values.
    pub(super) fn agree(&self, here: &Labels, there: &Labels) -> bool {
        self.0.iter().any(|key| agree(key, here, there))
    }

    /// In ordered mode, the key that decides; `has` tells whether a ready endpoint is on a node with labels that fit.
    pub(super) fn deciding(&self, at: Viewpoint<'_>, has: impl Fn(&dyn Fn(&Labels) -> bool) -> bool) -> Option<&Text> {
        let here = at.labels()?;
        self.0.iter().take_while(|key| *key != WILDCARD).find(|key| has(&|there| agree(key, here, there)))
    }
}

/// Whether both nodes have the label, with equal values.
pub(super) fn agree(key: &str, here: &Labels, there: &Labels) -> bool {
    here.get(key).is_some_and(|value| there.get(key) == Some(value))
}

/// The annotation is not a JSON list of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedKeys;
