//! A Service in the list: how much of it is served, and what is wrong with it.

use std::cmp::Reverse;

use roster_engine::{explain::ServedTotals, model::Text, picture::PictureReason, reason::Severity};

use crate::cluster::Explained;

/// A Service in the list.
#[derive(Clone, Debug)]
pub(crate) struct ServiceLine {
    pub(crate) namespace: Text,
    pub(crate) name: Text,
    /// What is known of it; `None` if it was not looked at, because the input is too large.
    pub(crate) known: Option<KnownLine>,
}

/// What is known of a Service in the list.
#[derive(Clone, Debug)]
pub(crate) struct KnownLine {
    pub(crate) totals: ServedTotals,
    /// How many ports the Service has.
    pub(crate) ports: usize,
    /// Such as `1 of 2`.
    pub(crate) served: String,
    /// What is wrong, the worst first.
    pub(crate) reasons: Vec<PictureReason>,
}

impl KnownLine {
    pub(crate) fn of(explained: Explained) -> Self {
        let reasons = explained.reasons();
        let Explained { explanation, title, .. } = explained;
        let totals = ServedTotals::of(&explanation);
        let served = title.unwrap_or_else(|| totals.short(&explanation));
        Self { totals, ports: explanation.summary.ports, served, reasons }
    }

    /// How bad it is.
    pub(crate) fn severity(&self) -> Severity {
        self.reasons.first().map_or(Severity::Info, |worst| worst.severity)
    }

    /// Whether all of it is served.
    pub(crate) fn is_served(&self) -> bool {
        self.totals.served == self.totals.pod_ports && self.totals.pod_ports > 0
    }
}

impl ServiceLine {
    /// Namespace and name, as a request names it.
    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The worst first; then Services of which a part is not served.
    pub(crate) fn rank(&self) -> (Reverse<Severity>, bool) {
        let severity = self.known.as_ref().map_or(Severity::Info, KnownLine::severity);
        (Reverse(severity), self.known.as_ref().is_none_or(KnownLine::is_served))
    }
}
