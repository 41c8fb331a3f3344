//! Sets the hints of one sync, in the hint mode of the Service.

use super::{
    super::{draft::SliceDraft, job::SliceJob, records},
    settings::{asks_for_zones, knows_distribution, without_effect},
    topology,
    traffic::TrafficHints,
};
use crate::{
    model::{Family, Service, ZoneShares},
    profile::{Profile, TrafficDistribution},
    record::Recorder,
    state::{Event, EventType, SyncReport},
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

/// Sets the hints of one sync. It remembers what upstream's topology cache remembers between address types.
pub(in super::super) struct Hinter<'a> {
    pub(in super::super) mode: HintMode,
    zones: Option<&'a ZoneShares>,
    /// Whether an earlier address type has got hints (`HasPopulatedHints`).
    populated: bool,
}

impl<'a> Hinter<'a> {
    /// Reads the mode of the Service, and the zones of the nodes if the mode needs them.
    pub(in super::super) fn of(job: &SliceJob<'a>) -> Self {
        let mode = HintMode::of(job.service, job.profile);
        let zones = if mode == HintMode::Topology { job.nodes.zone_shares() } else { None };
        Self { mode, zones, populated: false }
    }

    /// Sets, corrects or removes the hints of one address type.
    pub(in super::super) fn apply(
        &mut self,
        job: &SliceJob<'_>,
        family: Family,
        draft: &mut SliceDraft<'_>,
        report: &mut SyncReport,
        recorder: &mut impl Recorder,
    ) {
        let mut refused = None;
        match self.mode {
            HintMode::None => {
                draft.remove_hints(job.profile.hash);
                // A setting without effect is recorded for the pods too.
                let ignored = recorder.open().then(|| without_effect(job.service, job.profile, job.context.minor));
                refused = ignored.into_iter().flatten().next().map(|(_, why)| why);
            }
            HintMode::Traffic(traffic) => traffic.apply(draft, job.profile.hash),
            HintMode::Topology => {
                let answer = topology::apply(self.zones, draft, job.profile.hash);
                self.announce(job, family, &answer, report);
                refused = answer.err();
            }
        }
        if self.mode != HintMode::None || refused.is_some() {
            records::hints(job, family, draft, refused.as_deref(), recorder);
        }
    }

    /// Emits the event that upstream emits.
    fn announce(&mut self, job: &SliceJob<'_>, family: Family, answer: &Result<(), String>, report: &mut SyncReport) {
        let (kind, reason, message) = match answer {
            Ok(()) if std::mem::replace(&mut self.populated, true) => return,
            Ok(()) => (EventType::Normal, "TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled"),
            Err(why) => {
                self.populated = false;
                (EventType::Warning, "TopologyAwareHintsDisabled", why.as_str())
            }
        };
        if job.profile.hint_events {
            let message = format!("{message}, addressType: {}", family.as_str());
            report.events.push(Event { kind, reason, message, object: job.service.key() });
        }
    }
}
