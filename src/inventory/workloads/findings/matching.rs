//! Whether a selector matches the pods of a workload.

use crate::{
    inventory::workloads::{
        identity::is_opaque,
        workload::{Workload, WorkloadController},
    },
    model::{Labels, Pod, Text},
};

/// The label that says which pod of a StatefulSet it is.
pub(super) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// Further labels that controllers add to what the template has.
const ADDED: [&str; 5] = [
    POD_NAME,
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-name",
    "job-name",
];

/// Whether pods of a workload that Roster knows may have the label though its template does not.
pub(super) fn may_be_added(key: &str) -> bool {
    is_opaque(key) || ADDED.contains(&key)
}

impl Workload {
    /// Whether its controller may add any label to those of its template.
    pub(super) fn may_have_any_label(&self) -> bool {
        matches!(self.controller, WorkloadController::Custom { .. })
    }

    /// Whether a pod of the workload may have the label: from the template, or from its controller.
    fn may_have(&self, key: &str, value: &Text) -> bool {
        let of_template = self.template.labels.get(key);
        let is_ordinal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let added = match (&self.controller, key) {
            (_, key) if is_opaque(key) => return true,
            // A controller that Roster does not know may add any label.
            (WorkloadController::Custom { .. }, _) => of_template.is_none(),
            (WorkloadController::StatefulSet { .. }, POD_NAME) => {
                let ordinal = value.strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
                return ordinal.is_some_and(is_ordinal);
            }
            (WorkloadController::StatefulSet { .. }, "apps.kubernetes.io/pod-index") => return is_ordinal(value),
            (WorkloadController::Job(job) | WorkloadController::CronJob { job, .. }, _) => match key {
                "batch.kubernetes.io/job-completion-index" => job.indexed && is_ordinal(value),
                "job-name" | "batch.kubernetes.io/job-name" => !job.manual_selector && value.starts_with(&*self.name),
                _ => false,
            },
            _ => false,
        };
        added || of_template == Some(value)
    }
}

/// Kind and name of a workload.
pub(super) fn workload_name(workload: &Workload) -> String {
    format!("{} {}", workload.kind, workload.name)
}

/// What a selector is compared with: a workload, or a pod that no workload makes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Candidate<'a> {
    Workload(&'a Workload),
    Pod(&'a Pod),
}

impl<'a> Candidate<'a> {
    pub(super) fn labels(self) -> &'a Labels {
        match self {
            Self::Workload(workload) => &workload.template.labels,
            Self::Pod(pod) => &pod.labels,
        }
    }

    pub(super) fn may_have(self, key: &str, value: &Text) -> bool {
        match self {
            Self::Workload(workload) => workload.may_have(key, value),
            Self::Pod(pod) => is_opaque(key) || pod.labels.get(key) == Some(value),
        }
    }

    /// Whether `selector` may select its pods.
    pub(super) fn is_selected_by(self, selector: &Labels) -> bool {
        selector.iter().all(|(key, value)| self.may_have(key, value))
    }

    /// Kind and name.
    pub(super) fn name(self) -> String {
        match self {
            Self::Workload(workload) => workload_name(workload),
            Self::Pod(pod) => format!("Pod {}", pod.name()),
        }
    }

    /// The namespace.
    pub(super) fn namespace(self) -> &'a Text {
        match self {
            Self::Workload(workload) => &workload.namespace,
            Self::Pod(pod) => pod.namespace(),
        }
    }

    /// Whether it comes from a cluster: a pod that a controller has made.
    pub(super) fn is_recorded(self) -> bool {
        matches!(self, Self::Pod(pod) if !pod.reference.uid.is_empty())
    }

    /// Whether its controller may add any label.
    pub(super) fn may_have_any_label(self) -> bool {
        matches!(self, Self::Workload(workload) if workload.may_have_any_label())
    }

    /// Whether its pods are members of a group that often choose a leader among themselves.
    pub(super) fn has_members(self) -> bool {
        matches!(self, Self::Workload(w) if matches!(w.controller, WorkloadController::StatefulSet { .. }))
    }
}
