//! What the objects of a call cannot say, and what to bring.

use std::collections::BTreeSet;

use roster_engine::{
    explain::{Cause, Explanation},
    model::Text,
    reason::{Finding, Reason, Severity},
};
use roster_manifests::inventory::{Entry, Index};

use super::answer::{Answer, Fold};

/// Most namespaces that are named.
const NAMED: usize = 3;

/// What is not known of a Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceGaps {
    /// Its pods are assumed, or not known.
    lacks_pods: bool,
    /// Pods are not ready for a reason that only the cluster knows.
    is_not_ready: bool,
}

impl ServiceGaps {
    /// Whether its pods are assumed, or not known.
    pub(super) fn lacks_pods(self) -> bool {
        self.lacks_pods
    }

    /// What is not known of a Service; `is_read` says whether a pod of this name is among the objects.
    pub(super) fn of(entry: &Entry<'_>, explanation: &Explanation, is_read: impl Fn(&Text) -> bool) -> Self {
        let Some(service) = entry.service else { return Self::default() };
        let is_assumed = explanation.rows.first().is_some_and(|row| !is_read(&row.pod));
        let is_unchecked = explanation.reasons.iter().any(|cause| cause.code == Reason::NotChecked);
        let mut causes = explanation.rows.iter().flat_map(|row| &row.reasons);
        let is_unready = |cause: &Cause| cause.code == Reason::NotReady && cause.severity > Severity::Info;
        Self {
            lacks_pods: service.selector.is_some() && (is_assumed || is_unchecked),
            is_not_ready: !is_assumed && causes.any(is_unready),
        }
    }
}

/// What is not known of the Services of an answer.
#[derive(Debug, Default)]
pub(super) struct Undecided {
    /// The namespaces whose pods are assumed, or not known.
    without_pods: BTreeSet<Text>,
    is_not_ready: bool,
    /// Whether a `NetworkPolicy` is among the objects.
    has_network_policy: bool,
    /// Whether no cause was found.
    is_clean: bool,
}

impl Undecided {
    /// Nothing yet; `is_clean` says that no cause was found.
    pub(super) fn new(index: &Index<'_>, is_clean: bool) -> Self {
        let is_policy = |f: &Finding| f.code == Reason::IgnoredObject && f.object.kind.starts_with("NetworkPolicy ");
        Self { has_network_policy: index.problems().iter().any(is_policy), is_clean, ..Self::default() }
    }

    /// Adds a Service of this namespace.
    pub(super) fn add(&mut self, namespace: &Text, gaps: ServiceGaps) {
        if gaps.lacks_pods {
            self.without_pods.insert(namespace.clone());
        }
        self.is_not_ready |= gaps.is_not_ready;
    }

    /// Writes what is undecided.
    pub(super) fn write(self, answer: &mut Answer) {
        let mut lines = Vec::new();
        for namespace in self.without_pods.iter().take(NAMED) {
            lines.push(format!(
                "whether pods of namespace {namespace} exist and become ready (image, crash, probe, scheduling): no pod of \
                 the cluster is among the objects. Bring: kubectl get pods -n {namespace} -o yaml"
            ));
        }
        if self.is_not_ready {
            lines.push(
                "why a container is not ready: its log and its events say. Bring: kubectl describe pod, kubectl logs"
                    .to_owned(),
            );
        }
        if self.has_network_policy {
            lines.push(
                "whether the NetworkPolicies let traffic pass: the network plugin enforces them, and Roster does not read them"
                    .to_owned(),
            );
        } else if self.is_clean {
            lines.push(
                "DNS, NetworkPolicies, a service mesh, and what the application answers: Roster decides endpoints only"
                    .to_owned(),
            );
        }
        answer.list("undecided from these objects:", &lines, Fold::after(lines.len(), ""), |line| (*line).clone());
    }
}
