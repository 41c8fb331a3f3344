//! The Service that gives the pods of a workload their DNS names.
//!
//! A pod has a name in DNS if an endpoint of the headless Service in its `subdomain` has its hostname (upstream:
//! `ShouldSetHostname`). A StatefulSet sets both, an Indexed Job the hostname, and the Service must select the pods.

use std::ops::Range;

use roster_engine::{
    model::{Resource, Service},
    reason::{Finding, Reason, Severity},
};

use super::{
    manifests::{Located, Manifests, selector},
    matching::{Candidate, workload_name},
    service_checks::SelectedWorkloads,
    unmatched::Namespaces,
};
use crate::{
    inventory::workloads::workload::{Workload, WorkloadController},
    units::Units,
};

impl<'a> Manifests<'a> {
    /// The finding about the Service in `serviceName` of a workload of the namespace.
    pub(super) fn check_governing_service(
        &self,
        workload: Located<&Workload>,
        selected: &SelectedWorkloads<'a>,
        namespaces: &Namespaces<'_, 'a>,
    ) -> Option<Finding> {
        let Located { document, object: workload } = workload;
        let units = namespaces.units;
        let WorkloadController::StatefulSet { service_name, .. } = &workload.controller else { return None };
        let found = |code, message| {
            let pointer = Some("/spec/serviceName".to_owned());
            Finding { pointer, ..Finding::new(code, workload.key(), message) }
        };
        let versions = self.services_named(service_name, document, units);
        // Of several versions, one that fits is enough.
        let faults = versions.iter().map(|place| self.governing_fault(workload, *place, selected));
        let faults: Option<Vec<(Reason, String)>> = faults.collect();
        match faults.map(|faults| faults.into_iter().next()) {
            None => None,
            Some(Some((code, message))) => Some(found(code, message)),
            // An API server does not require it, and a StatefulSet may be chosen for its volumes or the order of its pods.
            Some(None) if service_name.is_empty() => {
                let message = "the field serviceName is missing: the pods have no DNS names".to_owned();
                Some(Finding { severity: Severity::Info, ..found(Reason::GoverningServiceMissing, message) })
            }
            // The Service may be in another file that was not given.
            Some(None) if self.services.is_empty() => None,
            Some(None) if namespaces.is_made_by_test(document, |file| self.has_service(file)) => None,
            Some(None) => {
                let message =
                    format!("the Service {service_name} in serviceName is not among the manifests of the namespace");
                let finding = found(Reason::GoverningServiceMissing, message);
                self.unless_unread(Resource::Service.kind(), service_name, finding)
            }
        }
    }

    /// Whether some documents have a Service of the namespace.
    pub(super) fn has_service(&self, documents: &Range<usize>) -> bool {
        let first = self.services.partition_point(|service| service.document < documents.start);
        self.services.get(first).is_some_and(|service| service.document < documents.end)
    }

    /// What is wrong with the Service at a place as that of a StatefulSet.
    fn governing_fault(
        &self,
        workload: &Workload,
        place: usize,
        selected: &SelectedWorkloads<'a>,
    ) -> Option<(Reason, String)> {
        let service = self.services[place].object;
        let named = format!("the Service {} in serviceName", service.meta.name);
        if !is_headless(service) {
            let message = format!("{named} {HAS_CLUSTER_IP}");
            return Some((Reason::GoverningServiceNotHeadless, message));
        }
        let Some(selector) = selector(service) else {
            let message = format!(
                "{named} has no selector: the pods have no DNS names, unless something else writes its endpoints"
            );
            return Some((Reason::GoverningServiceNoSelector, message));
        };
        // One that selects nothing has a finding of its own, and so has one whose selector is not compared.
        if Candidate::Workload(workload).is_selected_by(selector) {
            return None;
        }
        let other = selected[selected.binary_search_by_key(&place, |(place, _)| *place).ok()?].1;
        let message = format!(
            "{named} selects the pods of {}, not those of {}, which have no DNS names",
            workload_name(other),
            workload_name(workload)
        );
        Some((Reason::GoverningServiceSelectsOthers, message))
    }

    /// The finding about the `subdomain` of pods that are not those of a StatefulSet, which overwrites it.
    pub(super) fn check_subdomain(&self, workload: Located<&Workload>, units: &Units) -> Option<Finding> {
        let Located { document, object: workload } = workload;
        let template = &workload.template;
        let subdomain = &template.subdomain;
        let is_set = matches!(workload.controller, WorkloadController::StatefulSet { .. });
        // The Service may be in another file that was not given.
        if subdomain.is_empty() || is_set || self.services.is_empty() {
            return None;
        }
        let versions = self.services_named(subdomain, document, units);
        if versions.iter().any(|place| is_headless(self.services[*place].object)) {
            return None;
        }
        let missing = "is not among the manifests of the namespace: the pods have no DNS names";
        let why = if versions.is_empty() { missing } else { HAS_CLUSTER_IP };
        let message = format!("the Service {subdomain} in subdomain {why}");
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

/// `CoreDNS` answers for the pods of other Services, too; the specification of DNS in Kubernetes does not ask for it.
const HAS_CLUSTER_IP: &str = "has a cluster IP: only a headless one gives pods DNS names in every cluster";

/// Whether a Service is meant to have no cluster IP. An API server refuses other spellings of `None`, which is reported.
fn is_headless(service: &Service) -> bool {
    service.headless() || service.cluster_ip.eq_ignore_ascii_case("None")
}
