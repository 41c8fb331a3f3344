//! A change that may put a Service right: the button below what to do shows what it would do.

use roster_engine::{explain::Diagnosis, model::Text, plan::selected_pods, reason::Reason};
use roster_manifests::inventory::Entry;

use crate::{
    advice::number_in_pods,
    cluster::{Cluster, Explained},
    what_if::Change,
};

/// The change for the first cause of a Service, if one is known.
pub(crate) fn of(cluster: &Cluster<'_>, entry: &Entry<'_>, explained: &Explained) -> Option<Change> {
    let diagnosis = Diagnosis::of(&explained.explanation);
    let service = format!("{}/{}", entry.namespace, entry.name);
    match diagnosis.lead()?.code {
        Reason::NamedPortMissing => {
            let rows = explained.explanation.rows.iter();
            let is_cause = |code: Reason| code == Reason::NamedPortMissing;
            let mut missing = rows.filter(|row| row.reasons.iter().any(|cause| is_cause(cause.code)));
            let port = missing.find_map(|row| row.ports.names().first())?;
            let state = cluster.index.state(entry);
            let target = number_in_pods(&state, &selected_pods(&state), port)?.to_string().into();
            let port = if port.name.is_empty() { port.port.to_string() } else { port.name.to_string() };
            Some(Change::TargetPort { service, port, target })
        }
        Reason::SelectorMatchesNothing => {
            let miss = explained.explanation.reasons.iter().find_map(|cause| cause.labels.first())?;
            let value = miss.found.clone().unwrap_or_default();
            Some(Change::Selector { service, key: miss.key.clone(), value })
        }
        Reason::NotReady => {
            let rows = explained.explanation.rows.iter();
            let mut unready = rows.filter(|row| row.reasons.iter().any(|cause| cause.code == Reason::NotReady));
            let pod: &Text = &unready.next()?.pod;
            let to = crate::what_if::ReadinessTo::Ready;
            Some(Change::PodReadiness { pod: format!("{}/{pod}", entry.namespace), to })
        }
        _ => None,
    }
}
