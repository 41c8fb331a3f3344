//! The Service that gives the pods of a StatefulSet their DNS names.
//!
//! A pod has a name in DNS if an endpoint of the headless Service in its `subdomain` has its hostname (upstream:
//! `ShouldSetHostname`). A StatefulSet sets both, and the Service must select the pods.

use super::{
    manifests::Manifests,
    matching::{Candidate, workload_name},
    selection::{Comparisons, Selection},
    unmatched::Namespaces,
};
use crate::{
    engine::reason::{Finding, Reason},
    inventory::workloads::workload::{Workload, WorkloadController},
    model::{Resource, Service},
};

impl<'a> Manifests<'a> {
    /// The finding about the Service in `serviceName` of a workload of the namespace.
    pub(super) fn check_governing_service(
        &self,
        workload: &'a Workload,
        namespaces: &Namespaces<'_, 'a>,
        comparisons: &mut Comparisons,
    ) -> Option<Finding> {
        let WorkloadController::StatefulSet { service_name, .. } = &workload.controller else { return None };
        let found = |code, message| {
            let pointer = Some("/spec/serviceName".to_owned());
            Some(Finding { pointer, ..Finding::new(code, workload.key(), message) })
        };
        match self.service(service_name) {
            Some(service) if is_headless(service) => {
                let message = self.selects_others(service, workload, namespaces, comparisons)?;
                found(Reason::GoverningServiceSelectsOthers, message)
            }
            Some(_) => {
                let message =
                    format!("the Service {service_name} in serviceName has a cluster IP: the pods have no DNS names");
                found(Reason::GoverningServiceNotHeadless, message)
            }
            None if service_name.is_empty() => {
                let message = "the field serviceName is missing: the pods have no DNS names".to_owned();
                found(Reason::GoverningServiceMissing, message)
            }
            // The Service may be in another file that was not given.
            None if self.services.is_empty() => None,
            None => {
                let message =
                    format!("the Service {service_name} in serviceName is not among the manifests of the namespace");
                let finding = found(Reason::GoverningServiceMissing, message)?;
                self.unless_unread(Resource::Service.kind(), service_name, finding)
            }
        }
    }

    /// Says which other workload a headless Service selects instead of a StatefulSet. One that selects nothing has a finding
    /// of its own.
    fn selects_others(
        &self,
        service: &Service,
        workload: &'a Workload,
        namespaces: &Namespaces<'_, 'a>,
        comparisons: &mut Comparisons,
    ) -> Option<String> {
        let selector = service.selector.as_ref().filter(|selector| !selector.is_empty())?;
        if Candidate::Workload(workload).is_selected_by(selector) {
            return None;
        }
        let selection = Selection::find(selector, self, namespaces.index, comparisons)?;
        // A custom resource may add labels, and need not.
        let is_known = |other: &&Workload| Candidate::Workload(other).is_known_to_be_selected_by(selector);
        let other = selection.workloads.iter().map(|(other, _)| *other).find(is_known)?;
        Some(format!(
            "the Service {} in serviceName selects the pods of {}, not those of {}, which have no DNS names",
            service.meta.name,
            workload_name(other),
            workload_name(workload)
        ))
    }
}

/// Whether a Service is meant to have no cluster IP. An API server refuses other spellings of `None`, which is reported.
fn is_headless(service: &Service) -> bool {
    service.headless() || service.cluster_ip.eq_ignore_ascii_case("None")
}
