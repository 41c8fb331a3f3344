//! Hints of endpoints, and why they are not followed.

use std::fmt;

use crate::model::{Endpoint, HintName, Text};

/// What the hints of an endpoint say to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HintFlags {
    pub(super) nodes: HintFor,
    pub(super) zones: HintFor,
}

/// What the hints of one kind say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HintFor {
    /// There are none.
    #[default]
    None,
    /// They are for others.
    Others,
    /// They name this node, or its zone.
    This,
}

impl HintFlags {
    pub(super) fn of(endpoint: &Endpoint, node: &Text, zone: &Text) -> Self {
        let Some(hints) = &endpoint.hints else { return Self::default() };
        Self { nodes: HintFor::of(&hints.for_nodes, node), zones: HintFor::of(&hints.for_zones, zone) }
    }
}

impl HintFor {
    fn of(names: &[HintName], this: &Text) -> Self {
        match names {
            [] => Self::None,
            names if names.iter().any(|hint| hint.name == *this) => Self::This,
            _ => Self::Others,
        }
    }
}

/// Why kube-proxy does not follow the hints of a Service port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintsIgnored {
    /// No ready endpoint has a hint.
    NoHints,
    /// Some ready endpoints have none: hints count only if all of them have one.
    Missing {
        /// The number of ready endpoints without a hint.
        without: usize,
        /// The number of ready endpoints.
        ready: usize,
    },
    /// The node has no zone.
    NodeWithoutZone,
    /// No ready endpoint is hinted for the zone of the node.
    NotForZone,
    /// No ready endpoint is hinted for the node, and none has hints for zones.
    NotForNode,
    /// No endpoint is ready.
    NoneReady,
}

impl fmt::Display for HintsIgnored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHints => f.write_str("no ready endpoint has a hint"),
            Self::Missing { without, ready } => {
                write!(f, "{without} of {ready} ready endpoints have no hint, and hints count only if all have one")
            }
            Self::NodeWithoutZone => f.write_str("the node has no label topology.kubernetes.io/zone"),
            Self::NotForZone => f.write_str("no ready endpoint is hinted for the zone of the node"),
            Self::NotForNode => f.write_str("no ready endpoint is hinted for the node"),
            Self::NoneReady => f.write_str("no endpoint is ready"),
        }
    }
}
