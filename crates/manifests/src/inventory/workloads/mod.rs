//! Workloads, and the pods that their controllers would make.
//!
//! A manifest in git has no pods: a Deployment, a StatefulSet or another kind with a pod template makes them. [`assume()`]
//! gives the pods of kube-controller-manager 1.37, with its labels, host names, owners and nodes; `cargo xtask test
//! cluster` compares them. What a cluster chooses is assumed: hashes and generated letters are the word `assumed`,
//! addresses are from the ranges for documentation, and every pod that has a node is ready.

mod addresses;
mod assume;
mod autoscaler;
mod findings;
mod identity;
mod nodes;
mod pods;
mod replicas;
mod requests;
mod rollout;
mod scheduling;
mod selecting_services;
mod template;
#[cfg(test)]
mod tests;
mod unread;
mod unread_text;
mod workload;
mod written_pods;

pub use assume::{AssumedObjects, KnownObjects, MAX_PODS, WorkloadPods, assume, outcomes};
pub use autoscaler::{Autoscaler, ResourceMetric};
pub use findings::{
    ComparedObjects, Comparison, NamedService, ObjectDocuments, ObjectSelections, ObjectSelector, PortNames,
    SelectedObjects, ServiceReference, ServiceReferences, UnassumedWorkloads, UnreadIndex, UnreadMatch,
    UnreadOfNamespace, findings,
};
pub use nodes::ASSUMED_NODE;
pub use pods::AssumedPod;
pub use replicas::{NoPods, PodNumber};
pub use requests::ContainerRequests;
pub use rollout::{PodShare, RollingUpdate, RolloutStrategy};
pub use scheduling::{NodeKnowledge, NodeTerm, PlacedBy, Scheduling, Toleration};
pub use template::PodTemplate;
pub use unread::{UnreadObject, UnreadObjects, UnreadPods};
pub use unread_text::UnreadText;
pub use workload::{JobSpec, Workload, WorkloadController};
pub(crate) use written_pods::is_written;
pub use written_pods::run_written;

/// What stands for a hash or for generated letters. Neither ever has a vowel, so that it cannot be a real one.
pub const ASSUMED: &str = "assumed";
