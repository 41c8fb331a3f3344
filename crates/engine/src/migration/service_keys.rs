//! The topology keys of a Service, wherever they are.

use std::collections::BTreeMap;

use crate::{
    model::{Service, Text, names},
    view::{MalformedKeys, POOL_OF_NODE, TopologyKeys, YURT_TOPOLOGY},
};

/// Names of the zone label before it got its own group.
const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
/// Values of OpenYurt's annotation that stand for the node pool.
const POOL: [&str; 2] = ["openyurt.io/nodepool", "kubernetes.io/zone"];
/// In the field: all endpoints.
const WILDCARD: &str = "*";

/// What has the topology keys of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySource {
    /// `spec.topologyKeys` of Kubernetes 1.17 to 1.21: in order.
    Field,
    /// The annotation of SuperEdge: any of them.
    SuperEdge,
    /// The annotation of OpenYurt: one.
    OpenYurt,
}

impl KeySource {
    /// All of them, in the order in which they count.
    pub const ALL: [Self; 3] = [Self::SuperEdge, Self::OpenYurt, Self::Field];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Field => "spec.topologyKeys",
            Self::SuperEdge => "SuperEdge",
            Self::OpenYurt => "OpenYurt",
        }
    }

    /// The annotation; `None` for the field, which no newer API server stores.
    pub fn annotation(self) -> Option<&'static str> {
        match self {
            Self::Field => None,
            Self::SuperEdge => Some(crate::view::SUPEREDGE_KEYS),
            Self::OpenYurt => Some(YURT_TOPOLOGY),
        }
    }
}

/// The topology keys of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceKeys {
    /// Where they are.
    pub source: KeySource,
    /// The keys, as they are written.
    pub keys: Vec<Text>,
    /// What else has keys of the Service, which do not count.
    pub others: Vec<KeySource>,
}

/// What a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyLevel {
    Node,
    Zone,
    /// A label for which Kubernetes has nothing.
    Other,
    /// All endpoints.
    Everything,
}

impl ServiceKeys {
    /// The keys of a Service; `None` if it has none.
    pub fn of(service: &Service) -> Result<Option<Self>, MalformedKeys> {
        let of_grid: Vec<Text> = TopologyKeys::of(service)?.all().cloned().collect();
        let of_yurt = service.meta.annotations.get(YURT_TOPOLOGY).cloned();
        let all = [
            (KeySource::SuperEdge, of_grid),
            (KeySource::OpenYurt, of_yurt.into_iter().collect()),
            (KeySource::Field, service.topology_keys.clone()),
        ];
        let mut found = all.into_iter().filter(|(_, keys)| !keys.is_empty());
        let Some((source, keys)) = found.next() else { return Ok(None) };
        Ok(Some(Self { source, keys, others: found.map(|(source, _)| source).collect() }))
    }

    /// What each key stands for, if nodes have `zone_key` as their zone.
    pub(super) fn levels(&self, zone_key: Option<&Text>) -> Vec<KeyLevel> {
        let zone_label = zone_key.filter(|zone| self.labels().any(|label| label == zone.as_str()));
        let level = |key: &Text| match key.as_str() {
            names::HOSTNAME => KeyLevel::Node,
            names::ZONE | OLD_ZONE if self.source != KeySource::OpenYurt => KeyLevel::Zone,
            WILDCARD if self.source == KeySource::Field => KeyLevel::Everything,
            _ if zone_label.is_some_and(|label| is_label(key, label)) => KeyLevel::Zone,
            _ => KeyLevel::Other,
        };
        self.keys.iter().map(level).collect()
    }

    /// The labels of nodes that could become zones.
    fn labels(&self) -> impl Iterator<Item = &str> {
        let is_known = |key: &str| [names::HOSTNAME, names::ZONE, OLD_ZONE, names::REGION, WILDCARD, ""].contains(&key);
        self.keys.iter().filter_map(move |key| match self.source {
            KeySource::OpenYurt => POOL.contains(&key.as_str()).then_some(POOL_OF_NODE),
            KeySource::Field | KeySource::SuperEdge => (!is_known(key)).then_some(key.as_str()),
        })
    }
}

/// Whether a key stands for a label of nodes.
fn is_label(key: &str, label: &str) -> bool {
    key == label || (label == POOL_OF_NODE && POOL.contains(&key))
}

/// The label that most Services have among their keys.
pub(super) fn most_frequent<'k>(all: impl Iterator<Item = &'k ServiceKeys>) -> Option<Text> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    all.flat_map(ServiceKeys::labels).for_each(|label| *counts.entry(label).or_default() += 1);
    // Of equally frequent ones, the first.
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    most.map(|(label, _)| Text::new(label))
}
