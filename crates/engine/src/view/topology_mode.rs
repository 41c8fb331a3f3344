//! The topology mode of a Service port: which hints kube-proxy follows.

use super::{
    hints::{HintFor, HintsIgnored},
    merged_endpoints::ProxyEndpoint,
    viewpoint::Viewpoint,
};

/// The hints that kube-proxy follows for a Service port on a node. It reads only hints, neither `trafficDistribution` nor
/// annotations: the EndpointSlice controller turns those into hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyMode {
    /// Endpoints that are hinted for the node.
    SameNode,
    /// Endpoints that are hinted for the zone of the node.
    SameZone,
    /// All endpoints.
    Everywhere(HintsIgnored),
}

impl TopologyMode {
    /// The mode for the endpoints of a port (upstream: `topologyModeFromHints`). Hints of a kind count only if every ready
    /// endpoint has one, and one of them is for this node.
    pub(super) fn of<'e>(endpoints: impl Iterator<Item = &'e ProxyEndpoint<'e>>, at: Viewpoint<'_>) -> Self {
        let (mut nodes, mut zones, mut ready) = (HintTally::default(), HintTally::default(), 0);
        for endpoint in endpoints.filter(|e| e.ready()) {
            ready += 1;
            nodes.count(endpoint.hints.nodes);
            zones.count(endpoint.hints.zones);
        }
        if ready > 0 && nodes.followed() {
            return Self::SameNode;
        }
        if ready > 0 && zones.followed() {
            return Self::SameZone;
        }
        Self::Everywhere(match (nodes, zones) {
            _ if ready == 0 => HintsIgnored::NoneReady,
            (_, zones) if zones.without == 0 && at.zone().is_empty() => HintsIgnored::NodeWithoutZone,
            (_, zones) if zones.without == 0 => HintsIgnored::NotForZone,
            (nodes, zones) if nodes.without == ready && zones.without == ready => HintsIgnored::NoHints,
            (nodes, _) if nodes.without == 0 => HintsIgnored::NotForNode,
            (nodes, zones) => HintsIgnored::Missing { without: nodes.without.min(zones.without), ready },
        })
    }

    /// Whether a ready endpoint is used in this mode.
    pub(super) fn admits(self, endpoint: &ProxyEndpoint<'_>) -> bool {
        match self {
            Self::SameNode => endpoint.hints.nodes == HintFor::This,
            Self::SameZone => endpoint.hints.zones == HintFor::This,
            Self::Everywhere(_) => true,
        }
    }
}

/// The hints of one kind, of all ready endpoints.
#[derive(Clone, Copy, Default)]
struct HintTally {
    without: usize,
    for_this: bool,
}

impl HintTally {
    fn count(&mut self, hint: HintFor) {
        self.without += usize::from(hint == HintFor::None);
        self.for_this |= hint == HintFor::This;
    }

    fn followed(self) -> bool {
        self.without == 0 && self.for_this
    }
}
