//! The objects of one namespace.

use super::matching::Candidate;
use crate::{
    engine::reason::{Finding, Reason},
    model::{Pod, Service},
    workloads::{assume::WorkloadPods, workload::Workload},
};

/// The Services and workloads of a namespace.
#[derive(Default)]
pub(super) struct Manifests<'a> {
    pub(super) services: Vec<&'a Service>,
    pub(super) pods: Vec<&'a Pod>,
    pub(super) workloads: Vec<(&'a Workload, &'a WorkloadPods)>,
    pub(super) has_custom_resources: bool,
}

impl<'a> Manifests<'a> {
    /// The workloads, and the pods that were never in a cluster.
    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate<'a>> {
        let pods = self.pods.iter().filter(|p| p.reference.uid.is_empty()).map(|p| Candidate::Pod(p));
        self.workloads.iter().map(|(w, _)| Candidate::Workload(w)).chain(pods)
    }
}

/// A finding about a field of a Service.
pub(super) fn of_service(code: Reason, service: &Service, pointer: &str, message: String) -> Finding {
    Finding { pointer: Some(pointer.to_owned()), ..Finding::new(code, service.key(), message) }
}
