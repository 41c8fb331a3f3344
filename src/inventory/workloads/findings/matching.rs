//! Whether a selector matches the pods of a workload.

use crate::{
    inventory::workloads::{
        identity::is_opaque,
        workload::{Workload, WorkloadController},
    },
    model::{Labels, Pod, Resource, Text},
};

/// The label that says which pod of a StatefulSet it is.
pub(super) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// The label with the ordinal of a pod of a StatefulSet.
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// Further labels that controllers add to what the template has.
const ADDED: [&str; 5] =
    [POD_NAME, POD_INDEX, "batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/job-name", "job-name"];

fn is_ordinal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

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
        match key {
            key if is_opaque(key) => true,
            // A StatefulSet gives them, whatever the template says.
            POD_NAME if self.has_ordinals() => {
                let ordinal = value.strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
                ordinal.is_some_and(is_ordinal)
            }
            POD_INDEX if self.has_ordinals() => is_ordinal(value),
            _ => of_template == Some(value) || self.may_add(key, value),
        }
    }

    /// Whether its controller may add the label.
    fn may_add(&self, key: &str, value: &Text) -> bool {
        match &self.controller {
            // Any label of its own; but none that Kubernetes' controllers make of the names of their objects.
            WorkloadController::Custom { .. } => !ADDED.contains(&key) && !self.template.labels.contains_key(key),
            WorkloadController::Job(job) | WorkloadController::CronJob { job, .. } => match key {
                "batch.kubernetes.io/job-completion-index" => job.indexed && is_ordinal(value),
                "job-name" | "batch.kubernetes.io/job-name" => !job.manual_selector && value.starts_with(&*self.name),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether its pods are numbered: those of a StatefulSet, and of the custom resources that are called so as well, such
    /// as the one of `OpenKruise`.
    fn has_ordinals(&self) -> bool {
        match self.controller {
            WorkloadController::StatefulSet { .. } => true,
            WorkloadController::Custom { .. } => self.kind.ends_with(Resource::StatefulSet.kind()),
            _ => false,
        }
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

    /// Whether all its pods have the label, as far as the manifests show: not only because nothing is known of its controller.
    pub(super) fn is_known_to_have(self, key: &str, value: &Text) -> bool {
        let is_guess = self.may_have_any_label() && !is_opaque(key) && !self.labels().contains_key(key);
        !is_guess && self.may_have(key, value)
    }

    /// Whether `selector` may select its pods.
    pub(super) fn is_selected_by(self, selector: &Labels) -> bool {
        selector.iter().all(|(key, value)| self.may_have(key, value))
    }

    /// Whether `selector` selects its pods, as far as the manifests show.
    pub(super) fn is_known_to_be_selected_by(self, selector: &Labels) -> bool {
        selector.iter().all(|(key, value)| self.is_known_to_have(key, value))
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
