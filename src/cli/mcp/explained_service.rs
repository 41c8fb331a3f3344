//! A Service of a call, explained.

use std::collections::BTreeSet;

use roster_engine::{
    explain::{Explanation, ServedTotals},
    model::{ObjectKey, Text},
    plan::selected_pods,
};
use roster_manifests::inventory::Entry;

use super::{known_objects::KnownObjects, suspects::Suspect, tool::ToolError, undecided::ServiceGaps};
use crate::cli::explain::Explainer;

/// Most pods that the Services of a call may have to choose from, counted for each Service.
const MOST_CANDIDATES: usize = 2_000_000;

/// What there is to say about a Service.
#[derive(Debug)]
pub(super) struct ExplainedService {
    pub(super) namespace: Text,
    pub(super) name: Text,
    pub(super) totals: ServedTotals,
    /// How much of it is served, in words.
    pub(super) served: String,
    pub(super) suspects: Vec<Suspect>,
    pub(super) gaps: ServiceGaps,
    /// The names of the pods that it selects.
    pub(super) selects: Vec<Text>,
}

impl ExplainedService {
    /// All Services, the worst first.
    pub(super) fn all(known: &KnownObjects, explainer: &Explainer<'_>) -> Result<Vec<Self>, ToolError> {
        if explainer.index.candidates() > MOST_CANDIDATES {
            return Err(ToolError::at("service", "the Services select too many pods: name one Service"));
        }
        let read: BTreeSet<(&Text, &Text)> =
            known.inventory.pods_of_input().iter().map(|pod| (pod.namespace(), pod.name())).collect();
        let mut services = Vec::with_capacity(explainer.index.entries().len());
        let collected = explainer.each(
            |entry, explanation| {
                let selected = selected_pods(&explainer.index.state(entry));
                let selects = selected.iter().map(|pod| pod.name().clone()).collect();
                Self::of(entry, &explanation, selects, |pod| read.contains(&(entry.namespace, pod)))
            },
            |service| {
                services.push(service);
                Ok(())
            },
        );
        collected.map_err(|error| ToolError::at("objects", error.to_string()))?;
        services.sort_by_key(|service| (service.is_served(), service.totals.served));
        Ok(services)
    }

    fn of(entry: &Entry<'_>, explanation: &Explanation, selects: Vec<Text>, is_read: impl Fn(&Text) -> bool) -> Self {
        let totals = ServedTotals::of(explanation);
        Self {
            namespace: entry.namespace.clone(),
            name: entry.name.clone(),
            totals,
            served: totals.long(explanation),
            suspects: Suspect::of_service(explanation),
            gaps: ServiceGaps::of(entry, explanation, is_read),
            selects,
        }
    }

    /// `Service shop/web: 1 of 2 pods served`.
    pub(super) fn line(&self) -> String {
        format!("Service {}/{}: {}", self.namespace, self.name, self.served)
    }

    /// Whether all of it is served.
    pub(super) fn is_served(&self) -> bool {
        self.totals.pod_ports > 0 && self.totals.served == self.totals.pod_ports
    }

    /// Whether it is this object.
    pub(super) fn is(&self, object: &ObjectKey) -> bool {
        object.kind == "Service" && self.namespace == object.namespace && self.name == object.name
    }

    /// Whether an object concerns it: it is the Service, or one of another kind in its namespace or in none.
    pub(super) fn is_concerned_by(&self, object: &ObjectKey) -> bool {
        if object.kind == "Service" {
            return self.is(object);
        }
        object.namespace.is_empty() || object.namespace == self.namespace
    }
}
