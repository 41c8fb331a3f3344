//! How many pod ports (ports of the Service, on one pod each) are served, and what counts as a finding of an explanation.

use serde::Serialize;

use super::explanation::{Cause, Explanation};
use crate::{
    phrase::counted,
    reason::{Reason, Severity},
};

/// How many pod ports of how many Services are served: a pod counts once for each port of its Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServedTotals {
    /// Services.
    pub services: usize,
    /// Pod ports.
    pub pod_ports: usize,
    /// How many of those are ready in the slices of at least one address type, which kube-proxy reads.
    pub served: usize,
    /// Addresses in stored slices whose pod or node is gone.
    pub stale_addresses: usize,
}

impl ServedTotals {
    /// The totals of one explanation. A name that only Endpoints or slices have does not count as a Service.
    pub fn of(explanation: &Explanation) -> Self {
        let missing = explanation.reasons.iter().any(|r| r.code == Reason::ServiceMissing);
        let counts = &explanation.summary;
        // The pods that an ExternalName Service selects have no verdict: it has no endpoints.
        let pod_ports = if counts.scopes.is_empty() { 0 } else { counts.pods * counts.ports.max(1) };
        let stale_addresses = counts.stale_addresses;
        Self { services: usize::from(!missing), pod_ports, served: counts.served, stale_addresses }
    }

    /// How much of a Service is served, such as `1 of 2`.
    pub fn short(self, explanation: &Explanation) -> String {
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
    pub fn long(self, explanation: &Explanation) -> String {
        let account = match self.pod_ports {
            0 => without_pods(explanation).to_owned(),
            all if explanation.summary.ports > 1 => format!("{} of {all} pod ports served", self.served),
            all => format!("{} of {} served", self.served, counted(all, "pod")),
        };
        account + &self.and_stale()
    }

    /// The pod ports of all Services.
    pub fn text(self) -> String {
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

    /// Adds the totals of other Services.
    pub fn add(&mut self, other: Self) {
        self.services += other.services;
        self.pod_ports += other.pod_ports;
        self.served += other.served;
        self.stale_addresses += other.stale_addresses;
    }
}

/// Why a Service has no pods, or that none are known.
fn without_pods(explanation: &Explanation) -> &'static str {
    let has_no_selector = explanation.reasons.iter().any(|cause| cause.code == Reason::NoSelector);
    match (explanation.hides_pods(), has_no_selector) {
        (true, _) => "pods not checked",
        // Somebody else writes its endpoints: they are not pods that it lacks.
        (false, true) => "no selector",
        (false, false) => "no pods",
    }
}

impl Explanation {
    /// Whether it is not known which pods the Service has.
    pub fn hides_pods(&self) -> bool {
        self.reasons.iter().any(|cause| matches!(cause.code, Reason::NotChecked | Reason::TooManyPods))
    }

    /// All its findings: those of the Service, and those of its rows.
    pub fn findings(&self) -> impl Iterator<Item = &Cause> {
        self.reasons.iter().chain(self.rows.iter().flat_map(|r| &r.reasons))
    }

    /// Whether it has a warning or an error.
    pub fn needs_attention(&self) -> bool {
        self.findings().any(|f| f.severity > Severity::Info)
    }
}
