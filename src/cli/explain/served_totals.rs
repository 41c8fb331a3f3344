//! How many pod ports (ports of the Service, on one pod each) are served, and what counts as a finding of an explanation.

use roster_engine::{
    explain::{Cause, Explanation},
    phrase::counted,
    reason::{Reason, Severity},
};
use roster_manifests::inventory::Findings;
use serde::Serialize;

/// How many pod ports of how many Services are served: a pod counts once for each port of its Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServedTotals {
    /// Services.
    pub(super) services: usize,
    /// Pod ports.
    pub(super) pod_ports: usize,
    /// How many of those are ready in the slices of at least one address type, which kube-proxy reads.
    pub(super) served: usize,
    /// Addresses in stored slices whose pod or node is gone.
    pub(super) stale_addresses: usize,
}

impl ServedTotals {
    /// The totals of one explanation. A name that only Endpoints or slices have does not count as a Service.
    pub(super) fn of(explanation: &Explanation) -> Self {
        let missing = explanation.reasons.iter().any(|r| r.code == Reason::ServiceMissing);
        let counts = &explanation.summary;
        // The pods that an ExternalName Service selects have no verdict: it has no endpoints.
        let pod_ports = if counts.scopes.is_empty() { 0 } else { counts.pods * counts.ports.max(1) };
        let stale_addresses = counts.stale_addresses;
        Self { services: usize::from(!missing), pod_ports, served: counts.served, stale_addresses }
    }

    /// How much of a Service is served, such as `1 of 2`.
    pub(super) fn short(self, explanation: &Explanation) -> String {
        // Where a Service has one port, these are pods.
        let unit = if explanation.summary.ports > 1 { " pod ports" } else { "" };
        match self.pod_ports {
            0 => without_pods(explanation).to_owned(),
            all if self.stale_addresses > 0 => {
                format!("{} of {all}{unit}, {} stale", self.served, self.stale_addresses)
            }
            all => format!("{} of {all}{unit}", self.served),
        }
    }

    /// The same in more words.
    pub(super) fn long(self, explanation: &Explanation) -> String {
        let account = match self.pod_ports {
            0 => without_pods(explanation).to_owned(),
            all if explanation.summary.ports > 1 => format!("{} of {all} pod ports served", self.served),
            all => format!("{} of {} served", self.served, counted(all, "pod")),
        };
        account + &self.and_stale()
    }

    /// The pod ports of all Services.
    pub(super) fn text(self) -> String {
        let Self { pod_ports, served, .. } = self;
        if pod_ports == 0 {
            return format!("no pods selected{}", self.and_stale());
        }
        let all = counted(pod_ports, "pod port");
        format!("{all}: {served} served, {} not served{}", pod_ports - served, self.and_stale())
    }

    /// `, 2 stale addresses`.
    fn and_stale(self) -> String {
        match self.stale_addresses {
            0 => String::new(),
            n => format!(", {}", counted(n, "stale address")),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.services += other.services;
        self.pod_ports += other.pod_ports;
        self.served += other.served;
        self.stale_addresses += other.stale_addresses;
    }
}

/// Whether a Service has no pods, or none are known.
fn without_pods(explanation: &Explanation) -> &'static str {
    let is_unknown = |cause: &Cause| matches!(cause.code, Reason::NotChecked | Reason::TooManyPods);
    let unknown = explanation.reasons.iter().any(is_unknown);
    if unknown { "pods not checked" } else { "no pods" }
}

/// All findings of an explanation: those of the Service, and those of its rows.
pub(super) fn findings(explanation: &Explanation) -> impl Iterator<Item = &Cause> {
    explanation.reasons.iter().chain(explanation.rows.iter().flat_map(|r| &r.reasons))
}

/// `; 1 warning about other objects`: what the totals of Services do not count.
pub(super) fn and_others(findings: &Findings) -> String {
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let counts = [(count(Severity::Error), "error"), (count(Severity::Warning), "warning")];
    let counts: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n, what)).collect();
    if counts.is_empty() { String::new() } else { format!("; {} about other objects", counts.join(", ")) }
}

/// Whether an explanation has a warning or an error.
pub(super) fn needs_attention(explanation: &Explanation) -> bool {
    findings(explanation).any(|f| f.severity > Severity::Info)
}
