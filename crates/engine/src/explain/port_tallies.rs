//! The counts of each Service port over the lists that kube-proxy reads.

use std::{collections::BTreeMap, ops::Range};

use super::port_run::{CountByPlace, each_piece};
use crate::reason::Reason;

/// The counts of one Service port, or of a Service without ports.
#[derive(Default)]
pub(super) struct PortTally {
    /// Whether some pod serves it.
    pub(super) served: bool,
    /// For each reason why pods do not serve it the number of pods: each pod counts once.
    pub(super) reasons: BTreeMap<Reason, usize>,
}

/// What one list says of some ports of a pod.
pub(super) struct TalliedRun {
    pub(super) ports: Range<usize>,
    pub(super) is_served: bool,
    /// The decisive reason.
    pub(super) reason: Reason,
}

/// The tallies of all ports, while pods are added.
pub(super) struct PortTallies {
    ports: usize,
    served: CountByPlace,
    pod_ports: usize,
    reasons: BTreeMap<Reason, CountByPlace>,
}

impl PortTallies {
    pub(super) fn of(ports: usize) -> Self {
        Self { ports, served: CountByPlace::of(ports), pod_ports: 0, reasons: BTreeMap::new() }
    }

    /// Adds what the lists say of a pod. It counts once, with the most severe of its reasons.
    pub(super) fn add_pod(&mut self, lists: &[Vec<TalliedRun>]) {
        let lists: Vec<&[TalliedRun]> = lists.iter().map(Vec::as_slice).collect();
        each_piece(
            &lists,
            |run| run.ports.clone(),
            |ports, runs| {
                if runs.iter().any(|run| run.is_served) {
                    self.served.add(&ports);
                    self.pod_ports += ports.len();
                }
                let worse =
                    |worst: Reason, reason: Reason| if reason.severity() > worst.severity() { reason } else { worst };
                let worst = runs.iter().map(|run| run.reason).reduce(worse);
                let is_cause = |reason: &Reason| !matches!(reason, Reason::Ready | Reason::PublishedNotReady);
                if let Some(reason) = worst.filter(is_cause) {
                    self.reasons.entry(reason).or_insert_with(|| CountByPlace::of(self.ports)).add(&ports);
                }
            },
        );
    }

    /// Pods × ports that are served because of some list.
    pub(super) fn served(&self) -> usize {
        self.pod_ports
    }

    /// The tally of each port.
    pub(super) fn finish(self) -> Vec<PortTally> {
        let tally = |pods| PortTally { served: pods > 0, reasons: BTreeMap::new() };
        let mut tallies: Vec<PortTally> = self.served.counts().map(tally).collect();
        for (reason, counts) in self.reasons {
            for (tally, pods) in tallies.iter_mut().zip(counts.counts()).filter(|(_, pods)| *pods > 0) {
                tally.reasons.insert(reason, pods);
            }
        }
        tallies
    }
}
