//! Whether a selector matches the pods of a workload.

use roster_engine::model::{Labels, Pod, Resource, Service, Text, json::message::shortened};

use crate::inventory::workloads::{
    identity::is_opaque,
    workload::{Workload, WorkloadController},
};

/// The label that says which pod of a StatefulSet it is.
pub(super) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// The label with the ordinal of a pod of a StatefulSet.
pub(super) const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// Further labels that controllers add to what the template has.
const ADDED: [&str; 5] =
    [POD_NAME, POD_INDEX, "batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/job-name", "job-name"];

/// The number of a pod, as a controller writes it.
pub(super) fn ordinal(text: &str) -> Option<u32> {
    let is_plain = text == "0" || text.starts_with(|first: char| ('1'..='9').contains(&first));
    text.parse().ok().filter(|_| is_plain)
}

fn is_ordinal(text: &str) -> bool {
    ordinal(text).is_some()
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
            POD_NAME if self.has_ordinals() => self.ordinal_of(value).is_some(),
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

    /// The number of its pod that has this name.
    pub(super) fn ordinal_of(&self, pod: &str) -> Option<u32> {
        ordinal(pod.strip_prefix(self.name.as_str())?.strip_prefix('-')?)
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
    format!("{} {}", shortened(&workload.kind), shortened(&workload.name))
}

/// What a selector is compared with: a workload, or a pod that no workload makes; or a Service, which monitors select.
#[derive(Clone, Copy, Debug)]
pub(super) enum Candidate<'a> {
    Workload(&'a Workload),
    Pod(&'a Pod),
    Service(&'a Service),
}

impl<'a> Candidate<'a> {
    pub(super) fn labels(self) -> &'a Labels {
        match self {
            Self::Workload(workload) => &workload.template.labels,
            Self::Pod(pod) => &pod.labels,
            Self::Service(service) => &service.meta.labels,
        }
    }

    /// Whether a workload has the label itself, from which its pods do not get it.
    pub(super) fn has_itself(self, key: &str, value: &Text) -> bool {
        matches!(self, Self::Workload(workload) if workload.labels.get(key) == Some(value))
    }

    /// The pod, if it is one.
    pub(super) fn pod(self) -> Option<&'a Pod> {
        match self {
            Self::Workload(_) | Self::Service(_) => None,
            Self::Pod(pod) => Some(pod),
        }
    }

    /// The Service, if it is one.
    pub(super) fn service(self) -> Option<&'a Service> {
        if let Self::Service(service) = self { Some(service) } else { None }
    }

    pub(super) fn may_have(self, key: &str, value: &Text) -> bool {
        match self {
            Self::Workload(workload) => workload.may_have(key, value),
            Self::Pod(pod) => is_opaque(key) || pod.labels.get(key) == Some(value),
            Self::Service(service) => service.meta.labels.get(key) == Some(value),
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
            Self::Service(service) => format!("Service {}", service.meta.name),
        }
    }

    /// The namespace.
    pub(super) fn namespace(self) -> &'a Text {
        match self {
            Self::Workload(workload) => &workload.namespace,
            Self::Pod(pod) => pod.namespace(),
            Self::Service(service) => &service.meta.namespace,
        }
    }

    /// Whether it comes from a cluster: a pod that a controller has made.
    pub(super) fn is_recorded(self) -> bool {
        matches!(self, Self::Pod(pod) if !pod.reference.uid.is_empty())
    }

    /// Whether Helm runs it apart from the release.
    pub(super) fn is_hook(self) -> bool {
        match self {
            Self::Workload(workload) => workload.is_hook,
            Self::Pod(pod) => pod.is_hook,
            Self::Service(_) => false,
        }
    }

    /// Whether it may be what a selector almost matches: a Job without labels is meant for no Service, and a hook says nothing of
    /// the other workloads.
    pub(super) fn may_be_meant(self) -> bool {
        let is_job = matches!(self, Self::Workload(w) if w.is_job());
        !(self.is_hook() || self.is_recorded() || is_job && self.labels().is_empty())
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
