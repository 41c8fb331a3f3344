//! Hints: for which zones or nodes an endpoint is meant.

mod allocation;
mod auto;
mod settings;
mod traffic;
mod zones;

use crate::{
    engine::{
        compat::{HashKind, Profile, TrafficDistribution},
        record::Recorder,
        state::{Event, EventType, Report},
    },
    model::{EndpointSlice, Family, Service},
};

use super::{Job, blank, notes, packing::Draft};
pub(super) use settings::without_effect;
pub(crate) use settings::{asks_for_zones, knows_distribution};
pub(super) use traffic::is_ready;
use zones::Zones;

/// What a Service asks for, as its release understands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// No hints: those that are there go.
    Nothing,
    /// `topology-mode: Auto`: zones get endpoints in proportion to their CPU.
    Auto,
    /// `trafficDistribution`: every endpoint serves its own zone, or its own node.
    Close(traffic::Close),
}

impl Asked {
    /// The annotation wins over `spec.trafficDistribution`.
    pub(super) fn of(service: &Service, profile: &Profile) -> Self {
        if asks_for_zones(service, profile) {
            return Self::Auto;
        }
        let Some(value) = service.traffic_distribution.as_ref().filter(|v| knows_distribution(v, profile)) else {
            return Self::Nothing;
        };
        let nodes = value == "PreferSameNode";
        let empty_zone = profile.traffic_distribution == TrafficDistribution::CloseWithEmptyZone;
        Self::Close(traffic::Close { nodes, empty_zone })
    }

    /// Whether endpoints without a zone are hinted for the zone `""` (S13).
    pub(super) fn hints_empty_zone(self) -> bool {
        matches!(self, Self::Close(close) if close.empty_zone)
    }
}

/// The hints of one sync. What upstream remembers in its topology cache between address types is kept here.
pub(super) struct Hinting<'a> {
    pub(super) asked: Asked,
    zones: Option<Zones<'a>>,
    /// Whether an earlier address type has got its hints (`HasPopulatedHints`).
    populated: bool,
}

impl<'a> Hinting<'a> {
    /// Looks at what the Service asks for, and at the nodes where it matters.
    pub(super) fn of(job: &Job<'a>) -> Self {
        let asked = Asked::of(job.service, job.profile);
        let zones = if asked == Asked::Auto { Zones::of(job.nodes) } else { None };
        Self { asked, zones, populated: false }
    }

    /// Gives, corrects or takes away the hints of one address type.
    pub(super) fn apply(
        &mut self,
        job: &Job<'_>,
        family: Family,
        draft: &mut Draft<'_>,
        report: &mut Report,
        trace: &mut impl Recorder,
    ) {
        let mut refused = None;
        match self.asked {
            Asked::Nothing => {
                strip(draft, job.profile.hash);
                // A Service that asked in vain is told so at its pods too.
                let said = trace.open().then(|| without_effect(job.service, job.profile, job.context.minor));
                refused = said.into_iter().flatten().next().map(|(_, why)| why);
            }
            Asked::Close(close) => close.apply(draft, job.profile.hash),
            Asked::Auto => {
                let answer = auto::apply(self.zones.as_ref(), draft, job.profile.hash);
                self.announce(job, family, &answer, report);
                refused = answer.err();
            }
        }
        if self.asked != Asked::Nothing || refused.is_some() {
            notes::hints(job, family, draft, refused.as_deref(), trace);
        }
    }

    fn announce(&mut self, job: &Job<'_>, family: Family, answer: &Result<(), String>, report: &mut Report) {
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

/// `RemoveHintsFromSlices`.
fn strip(draft: &mut Draft<'_>, hash: HashKind) {
    move_to_update(draft, hash, |slice| slice.endpoints.iter().any(|e| e.hints.is_some()));
    for slice in draft.written() {
        for endpoint in &mut slice.endpoints {
            endpoint.hints = None;
        }
    }
}

/// Moves the unchanged slices that need a write to those that are updated.
fn move_to_update(draft: &mut Draft<'_>, hash: HashKind, mut needs: impl FnMut(&EndpointSlice) -> bool) {
    let Draft { unchanged, update, .. } = draft;
    unchanged.retain(|slice| {
        let needs = needs(slice);
        if needs {
            update.push(blank::copy(slice, hash));
        }
        !needs
    });
}
