//! Sets the hints of one sync.

use super::{
    super::{draft::SliceDraft, job::SliceJob, records},
    hint_mode::HintMode,
    settings::without_effect,
    topology,
};
use crate::{
    model::{Family, ZoneShares},
    record::Recorder,
    state::{Event, EventType, SyncReport},
};

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
