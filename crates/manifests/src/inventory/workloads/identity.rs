//! What a controller gives each of its pods: name, labels, annotations, host name and owner.

use roster_engine::model::{Labels, OwnerReference, Resource, Text, names};
use smol_str::{ToSmolStr, format_smolstr};

use super::{
    ASSUMED,
    workload::{JobSpec, Workload, WorkloadController},
};

/// The labels and annotations that controllers add.
mod keys {
    pub(super) const POD_TEMPLATE_HASH: &str = "pod-template-hash";
    pub(super) const REVISION: &str = "controller-revision-hash";
    pub(super) const TEMPLATE_GENERATION: &str = "pod-template-generation";
    pub(super) const STATEFUL_POD: &str = "statefulset.kubernetes.io/pod-name";
    pub(super) const POD_INDEX: &str = "apps.kubernetes.io/pod-index";
    pub(super) const JOB_NAMES: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
    pub(super) const JOB_UIDS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
    pub(super) const JOB_INDEX: &str = "batch.kubernetes.io/job-completion-index";
    pub(super) const JOB_INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
}

/// Labels whose values only a cluster knows.
const OPAQUE: [&str; 7] = [
    keys::POD_TEMPLATE_HASH,
    keys::REVISION,
    keys::TEMPLATE_GENERATION,
    keys::JOB_UIDS[0],
    keys::JOB_UIDS[1],
    names::ZONE,
    names::REGION,
];

/// Whether only a cluster knows the value of a label.
pub(super) fn is_opaque(key: &str) -> bool {
    OPAQUE.contains(&key)
}

/// The labels with its name that a Job gives all of its pods.
pub(super) fn job_labels(workload: &Workload) -> impl Iterator<Item = (&str, &str)> {
    let adds = matches!(&workload.controller, WorkloadController::Job(job) if !job.manual_selector);
    keys::JOB_NAMES.into_iter().filter(move |_| adds).map(|key| (key, workload.name.as_str()))
}

/// The name of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PodName {
    /// This name.
    Exact(Text),
    /// A name that an API server generates: this prefix, and random letters.
    Generated(Text),
}

/// What is different in each pod of a workload, or added to its template.
#[derive(Clone, Debug)]
pub(super) struct PodIdentity {
    pub(super) name: PodName,
    /// Labels that the controller adds, or sets to another value.
    pub(super) labels: Labels,
    pub(super) annotations: Labels,
    /// Overwrites the host name of the template.
    pub(super) hostname: Option<Text>,
    /// Overwrites the subdomain of the template.
    pub(super) subdomain: Option<Text>,
}

impl PodIdentity {
    fn generated(prefix: &str) -> Self {
        Self {
            name: PodName::Generated(cut(prefix, MAX_PREFIX).into()),
            labels: Labels::default(),
            annotations: Labels::default(),
            hostname: None,
            subdomain: None,
        }
    }
}

/// Longest prefix of a generated name: with five letters it is a DNS label.
const MAX_PREFIX: usize = 58;

/// The first `length` bytes of a text, or as many as are whole characters.
fn cut(text: &str, length: usize) -> &str {
    &text[..text.floor_char_boundary(length)]
}

impl Workload {
    /// The object that owns the pods: the workload, or what its controller makes of it.
    pub(super) fn pod_owner(&self) -> OwnerReference {
        let owner = |resource: Resource, name: Text, uid: &Text| OwnerReference {
            api_version: resource.api_version().into(),
            ..OwnerReference::controller(resource.kind(), &name, uid)
        };
        let unknown = Text::default();
        match &self.controller {
            WorkloadController::Deployment { .. } => owner(Resource::ReplicaSet, self.derived_name(), &unknown),
            WorkloadController::CronJob { .. } => owner(Resource::Job, self.derived_name(), &unknown),
            _ => OwnerReference {
                api_version: self.api_version.clone(),
                ..OwnerReference::controller(&self.kind, &self.name, &self.uid)
            },
        }
    }

    /// The name of the ReplicaSet of a Deployment, or of the Job of a CronJob.
    fn derived_name(&self) -> Text {
        format_smolstr!("{}-{ASSUMED}", self.name)
    }

    /// What the controller gives the pod with this number, counted from 0.
    pub(super) fn identity(&self, number: u32) -> PodIdentity {
        let mut identity = PodIdentity::generated(&format!("{}-", self.name));
        match &self.controller {
            WorkloadController::Deployment { .. } => {
                identity = PodIdentity::generated(&format!("{}-", self.derived_name()));
                identity.labels.insert(keys::POD_TEMPLATE_HASH, ASSUMED);
            }
            WorkloadController::StatefulSet { service_name, first_ordinal, .. } => {
                let ordinal = i64::from(*first_ordinal) + i64::from(number);
                let name = format_smolstr!("{}-{ordinal}", self.name);
                identity.labels.insert(keys::STATEFUL_POD, name.clone());
                identity.labels.insert(keys::POD_INDEX, ordinal.to_smolstr());
                identity.labels.insert(keys::REVISION, format_smolstr!("{}-{ASSUMED}", self.name));
                identity.hostname = Some(name.clone());
                identity.subdomain = Some(service_name.clone());
                identity.name = PodName::Exact(name);
            }
            WorkloadController::DaemonSet => {
                identity.labels.insert(keys::REVISION, ASSUMED);
                identity.labels.insert(keys::TEMPLATE_GENERATION, "1");
            }
            WorkloadController::Job(job) => identity = job.identity(&self.name, &self.uid, number),
            WorkloadController::CronJob { job, .. } => {
                identity = job.identity(&self.derived_name(), &Text::default(), number);
            }
            WorkloadController::ReplicaSet { .. }
            | WorkloadController::ReplicationController { .. }
            | WorkloadController::Custom { .. } => {}
        }
        identity
    }
}

impl JobSpec {
    /// What the Job of this name gives a pod.
    fn identity(&self, name: &str, uid: &Text, number: u32) -> PodIdentity {
        let mut identity = PodIdentity::generated(&format!("{name}-"));
        if !self.manual_selector {
            let uid = if uid.is_empty() { ASSUMED } else { uid };
            for key in keys::JOB_NAMES {
                identity.labels.insert(key, name);
            }
            for key in keys::JOB_UIDS {
                identity.labels.insert(key, uid);
            }
        }
        if self.indexed {
            let index = number.to_smolstr();
            let suffix = format!("-{index}-");
            let prefix = format!("{}{suffix}", cut(name, MAX_PREFIX.saturating_sub(suffix.len())));
            identity.name = PodName::Generated(prefix.into());
            identity.hostname = Some(format_smolstr!("{name}-{index}"));
            identity.labels.insert(keys::JOB_INDEX, index.clone());
            identity.annotations.insert(keys::JOB_INDEX, index);
            if self.limits_each_index {
                identity.annotations.insert(keys::JOB_INDEX_FAILURES, "0");
            }
        }
        identity
    }
}
