//! How many pods × ports are served, and what counts as a finding of an explanation.

use serde::Serialize;

use crate::engine::{
    explain::{Cause, Explanation},
    reason::{Reason, Severity},
};

/// How many pods × ports of how many Services are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServedTotals {
    /// Services.
    pub(super) services: usize,
    /// Pods × ports of Services.
    pub(super) pod_ports: usize,
    /// How many of those are ready in at least one list: in Endpoints, or in the slices of one address type.
    pub(super) served: usize,
}

impl ServedTotals {
    /// The totals of one explanation. A name that only Endpoints or slices have does not count as a Service.
    pub(super) fn of(explanation: &Explanation) -> Self {
        let missing = explanation.reasons.iter().any(|r| r.code == Reason::ServiceMissing);
        let counts = &explanation.summary;
        // The pods that an ExternalName Service selects have no verdict: it has no endpoints.
        let pod_ports = if counts.scopes.is_empty() { 0 } else { counts.pods * counts.ports.max(1) };
        Self { services: usize::from(!missing), pod_ports, served: counts.served }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.services += other.services;
        self.pod_ports += other.pod_ports;
        self.served += other.served;
    }
}

/// All findings of an explanation: those of the Service, and those of its rows.
pub(super) fn findings(explanation: &Explanation) -> impl Iterator<Item = &Cause> {
    explanation.reasons.iter().chain(explanation.rows.iter().flat_map(|r| &r.reasons))
}

/// Whether an explanation has a warning or an error.
pub(super) fn needs_attention(explanation: &Explanation) -> bool {
    findings(explanation).any(|f| f.severity > Severity::Info)
}
