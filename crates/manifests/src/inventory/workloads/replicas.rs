//! How many pods a controller makes, or why it makes none.

use std::fmt;

use roster_engine::model::Text;

use super::{
    autoscaler::Autoscaler,
    workload::{JobSpec, Workload, WorkloadController},
};

/// How many pods a controller makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodNumber {
    /// This many, at least one.
    Some(u32),
    /// One for each node that fits.
    EachNode,
    /// None, for this reason.
    None(NoPods),
}

/// Why a controller makes no pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPods {
    /// `replicas` or `parallelism` is 0.
    Zero,
    /// A new Deployment is paused.
    Paused,
    /// A Job or CronJob is suspended.
    Suspended,
    /// A CronJob is not due.
    NotDue,
    /// Helm runs it as a hook, before or after the release, or as a test.
    Hook,
    /// Another controller makes the pods.
    ManagedBy(Text),
    /// The selector does not select the labels of the template: an API server refuses the workload.
    SelectorDiffers,
    /// The name makes a label that is too long: an API server refuses every pod.
    NameTooLong,
    /// The name has a dot: an API server refuses the workload.
    NameHasDot,
    /// Its containers have this port twice in the host network: an API server refuses every pod.
    HostPortTwice(i32),
}

/// Longest value of a label.
const MAX_LABEL: usize = 63;
/// `-` and a hash of ten letters, which most have.
const REVISION_SUFFIX: usize = 11;

impl NoPods {
    /// Whether an API server refuses the workload or its pods, so that the workload cannot work.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Zero | Self::Paused | Self::Suspended | Self::NotDue | Self::Hook | Self::ManagedBy(_) => false,
            Self::SelectorDiffers | Self::NameTooLong | Self::NameHasDot | Self::HostPortTwice(_) => true,
        }
    }
}

impl fmt::Display for NoPods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("it is scaled to 0"),
            Self::Paused => f.write_str("it is paused"),
            Self::Suspended => f.write_str("it is suspended"),
            Self::NotDue => f.write_str("a CronJob has pods only while it runs"),
            Self::Hook => f.write_str("a hook of Helm has pods only while it runs"),
            Self::ManagedBy(controller) => write!(f, "the controller {controller} makes them"),
            Self::SelectorDiffers => f.write_str("its selector does not select the labels of its template"),
            Self::NameTooLong => write!(
                f,
                "its name has more than {} letters, so that the label controller-revision-hash is too long",
                MAX_LABEL - REVISION_SUFFIX
            ),
            Self::NameHasDot => f.write_str("its name has a dot"),
            Self::HostPortTwice(port) => write!(f, "its containers have the port {port} twice in the host network"),
        }
    }
}

impl Workload {
    /// How many pods its controller makes. `due` says whether a CronJob has just started a run.
    pub fn pod_number(&self, autoscaler: Option<&Autoscaler>, due: bool) -> PodNumber {
        if let Some(refusal) = self.refusal() {
            return PodNumber::None(refusal);
        }
        let of_replicas = |replicas: Option<i32>| {
            let replicas = replicas.unwrap_or(1);
            positive(autoscaler.map_or(replicas, |a| a.without_metrics(replicas)))
        };
        if self.is_hook && !due {
            return PodNumber::None(NoPods::Hook);
        }
        match &self.controller {
            // Nothing is known of the pods that a Deployment made before it was paused: it keeps them.
            WorkloadController::Deployment { paused: true, .. } if self.uid.is_empty() => {
                PodNumber::None(NoPods::Paused)
            }
            WorkloadController::DaemonSet => PodNumber::EachNode,
            WorkloadController::Job(job) => job.pod_number(),
            WorkloadController::CronJob { suspended: true, .. } => PodNumber::None(NoPods::Suspended),
            WorkloadController::CronJob { job, .. } if due => job.pod_number(),
            WorkloadController::CronJob { .. } => PodNumber::None(NoPods::NotDue),
            WorkloadController::Deployment { replicas, .. }
            | WorkloadController::ReplicaSet { replicas }
            | WorkloadController::ReplicationController { replicas }
            | WorkloadController::StatefulSet { replicas, .. }
            | WorkloadController::Custom { replicas } => of_replicas(*replicas),
        }
    }

    /// The pointer to the field that says how many pods its controller makes; `None` if no field does.
    pub(super) fn number_pointer(&self) -> Option<String> {
        match &self.controller {
            WorkloadController::DaemonSet => None,
            WorkloadController::Job(job) => Some(format!("/spec/{}", job.number_field())),
            WorkloadController::CronJob { job, .. } => Some(format!("/spec/jobTemplate/spec/{}", job.number_field())),
            _ => Some("/spec/replicas".to_owned()),
        }
    }

    /// What an API server refuses of the workload, or of each of its pods.
    fn refusal(&self) -> Option<NoPods> {
        let is_app = match &self.controller {
            WorkloadController::StatefulSet { .. } if self.name.contains('.') => return Some(NoPods::NameHasDot),
            WorkloadController::StatefulSet { .. } if self.name.len() + REVISION_SUFFIX > MAX_LABEL => {
                return Some(NoPods::NameTooLong);
            }
            WorkloadController::Job(job) if job.indexed && self.name.contains('.') => return Some(NoPods::NameHasDot),
            WorkloadController::Deployment { .. }
            | WorkloadController::ReplicaSet { .. }
            | WorkloadController::StatefulSet { .. }
            | WorkloadController::DaemonSet => true,
            _ => false,
        };
        let selects = match &self.selector {
            Some(selector) => !(is_app && selector.is_empty()) && selector.selects(&self.template.labels),
            None => !is_app,
        };
        // The API server writes the selector of a Job, and labels that it selects.
        if !selects && !self.is_job() {
            return Some(NoPods::SelectorDiffers);
        }
        self.template.repeated_host_port.map(NoPods::HostPortTwice)
    }
}

impl JobSpec {
    fn pod_number(&self) -> PodNumber {
        if self.suspended {
            return PodNumber::None(NoPods::Suspended);
        }
        if !self.managed_by.is_empty() && self.managed_by != "kubernetes.io/job-controller" {
            return PodNumber::None(NoPods::ManagedBy(self.managed_by.clone()));
        }
        let (parallelism, completions) = self.limits();
        positive(parallelism.min(completions))
    }

    /// The most pods at a time, and in total.
    fn limits(&self) -> (i32, i32) {
        let parallelism = self.parallelism.unwrap_or(1);
        // Of an Indexed Job, an API server requires `completions`; one is the least that it can be.
        (parallelism, self.completions.unwrap_or(if self.indexed { 1 } else { parallelism }))
    }

    /// The field that says how many pods it makes.
    fn number_field(&self) -> &'static str {
        let (parallelism, completions) = self.limits();
        if completions < parallelism { "completions" } else { "parallelism" }
    }
}

/// A negative number of pods is refused.
fn positive(number: i32) -> PodNumber {
    match u32::try_from(number) {
        Ok(number) if number > 0 => PodNumber::Some(number),
        _ => PodNumber::None(NoPods::Zero),
    }
}
