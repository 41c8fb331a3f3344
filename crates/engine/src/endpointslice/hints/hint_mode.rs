//! The hint mode of a Service.

use super::{
    settings::{asks_for_zones, knows_distribution},
    traffic::TrafficHints,
};
use crate::{
    model::Service,
    profile::{Profile, TrafficDistribution},
};

/// The hints that a Service asks for, as the release understands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum HintMode {
    /// No hints: stored ones are removed.
    None,
    /// `topology-mode: Auto`: zones get endpoints in proportion to their CPU.
    Topology,
    /// `trafficDistribution`: every endpoint serves its own zone, or its own node.
    Traffic(TrafficHints),
}

impl HintMode {
    /// The mode of a Service: the annotation wins over `spec.trafficDistribution`.
    pub(in super::super) fn of(service: &Service, profile: &Profile) -> Self {
        if asks_for_zones(service, profile) {
            return Self::Topology;
        }
        let Some(value) = service.traffic_distribution.as_ref().filter(|v| knows_distribution(v, profile)) else {
            return Self::None;
        };
        let nodes = value == "PreferSameNode";
        let empty_zone = profile.traffic_distribution == TrafficDistribution::CloseWithEmptyZone;
        Self::Traffic(TrafficHints { nodes, empty_zone })
    }

    /// Whether endpoints without a zone are hinted for the zone `""` (versions.md#s13).
    pub(in super::super) fn hints_empty_zone(self) -> bool {
        matches!(self, Self::Traffic(traffic) if traffic.empty_zone)
    }
}
