//! The Service that gives the pods of a workload their DNS names.
//!
//! A pod has a name in DNS if an endpoint of the headless Service in its `subdomain` has its hostname (upstream:
//! `ShouldSetHostname`). A StatefulSet sets both, an Indexed Job the hostname, and the Service must select the pods.

use roster_engine::{
    model::{Labels, Resource, Service},
    reason::{Finding, Reason, Severity},
};

use super::{
    manifests::Manifests,
    matching::{Candidate, workload_name},
    service_checks::SelectedWorkloads,
};
use crate::inventory::workloads::workload::{Workload, WorkloadController};

impl<'a> Manifests<'a> {
    /// The finding about the Service in `serviceName` of a workload of the namespace.
    pub(super) fn check_governing_service(
        &self,
        workload: &Workload,
        selected: &SelectedWorkloads<'a>,
    ) -> Option<Finding> {
        let WorkloadController::StatefulSet { service_name, .. } = &workload.controller else { return None };
        let found = |code, message| {
            let pointer = Some("/spec/serviceName".to_owned());
            Some(Finding { pointer, ..Finding::new(code, workload.key(), message) })
        };
        match self.service(service_name) {
            Some(service) if is_headless(service) && service.selector.as_ref().is_none_or(Labels::is_empty) => {
                let message = format!(
                    "the Service {service_name} in serviceName has no selector: the pods have no DNS names, unless something \
                     else writes its endpoints"
                );
                found(Reason::GoverningServiceNoSelector, message)
            }
            Some(service) if is_headless(service) => {
                let message = selects_others(service, workload, selected)?;
                found(Reason::GoverningServiceSelectsOthers, message)
            }
            Some(_) => {
                let message =
                    format!("the Service {service_name} in serviceName has a cluster IP: the pods have no DNS names");
                found(Reason::GoverningServiceNotHeadless, message)
            }
            // An API server does not require it, and a StatefulSet may be chosen for its volumes or the order of its pods.
            None if service_name.is_empty() => {
                let message = "the field serviceName is missing: the pods have no DNS names".to_owned();
                let finding = found(Reason::GoverningServiceMissing, message)?;
                Some(Finding { severity: Severity::Info, ..finding })
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

    /// The finding about the `subdomain` of pods that are not those of a StatefulSet, which overwrites it.
    pub(super) fn check_subdomain(&self, workload: &Workload) -> Option<Finding> {
        let template = &workload.template;
        let subdomain = &template.subdomain;
        let is_set = matches!(workload.controller, WorkloadController::StatefulSet { .. });
        // The Service may be in another file that was not given.
        if subdomain.is_empty() || is_set || self.services.is_empty() {
            return None;
        }
        let why = match self.service(subdomain) {
            Some(service) if is_headless(service) => return None,
            Some(_) => "has a cluster IP",
            None => "is not among the manifests of the namespace",
        };
        let message = format!("the Service {subdomain} in subdomain {why}: the pods have no DNS names");
        let pointer = Some(format!("{}/spec/subdomain", workload.template_pointer()));
        // Without a hostname, it may be meant for what the pods call themselves; and an operator may make the Service.
        let is_indexed = match &workload.controller {
            WorkloadController::Job(job) | WorkloadController::CronJob { job, .. } => job.indexed,
            _ => false,
        };
        let is_meant = (is_indexed || !template.hostname.is_empty()) && self.custom_resources.is_none();
        let code = Reason::SubdomainServiceMissing;
        let severity = if is_meant { code.severity() } else { Severity::Info };
        let finding = Finding { severity, pointer, ..Finding::new(code, workload.key(), message) };
        self.unless_unread(Resource::Service.kind(), subdomain, finding)
    }
}

/// Says which other workload a headless Service selects instead of a StatefulSet. One that selects nothing has a finding of its
/// own, and so has one whose selector is not compared.
fn selects_others(service: &Service, workload: &Workload, selected: &[(&Labels, &Workload)]) -> Option<String> {
    let selector = service.selector.as_ref().filter(|selector| !selector.is_empty())?;
    if Candidate::Workload(workload).is_selected_by(selector) {
        return None;
    }
    let (_, other) = selected[selected.binary_search_by_key(&selector, |(selector, _)| *selector).ok()?];
    Some(format!(
        "the Service {} in serviceName selects the pods of {}, not those of {}, which have no DNS names",
        service.meta.name,
        workload_name(other),
        workload_name(workload)
    ))
}

/// Whether a Service is meant to have no cluster IP. An API server refuses other spellings of `None`, which is reported.
fn is_headless(service: &Service) -> bool {
    service.headless() || service.cluster_ip.eq_ignore_ascii_case("None")
}
