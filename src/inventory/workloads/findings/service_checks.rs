//! The checks of the Services of one namespace.

use super::{
    listing::ServiceNames,
    manifests::{Manifests, of_service},
    matching::workload_name,
    near_miss::NearbyCandidates,
    ports::SelectedPorts,
    selection::{Comparisons, Selection},
    unmatched::{Namespaces, SelectorFault},
};
use crate::{
    engine::reason::{Finding, Reason},
    inventory::workloads::assume::WorkloadPods,
    model::{Labels, Service, ServiceType, Text},
};

/// The Services of one workload.
#[derive(Debug, Default)]
pub(super) struct BackedServices<'a> {
    /// Those that have no other workload.
    pub(super) alone: ServiceNames<'a>,
    /// Those that wait until its pods are ready.
    pub(super) waiting: ServiceNames<'a>,
}

/// The checks of the Services of a namespace. Those with equal selectors are checked together: any number of Services may
/// select the same thousands of workloads.
pub(super) struct ServiceChecks<'n, 'a> {
    namespace: &'a Text,
    manifests: &'n Manifests<'a>,
    namespaces: &'n Namespaces<'n, 'a>,
    /// Made for the first selector that matches nothing.
    nearby: Option<NearbyCandidates<'a>>,
    /// With the places of the Services.
    findings: Vec<(usize, Vec<Finding>)>,
    /// By the places of the workloads.
    backed: Vec<BackedServices<'a>>,
}

impl<'n, 'a> ServiceChecks<'n, 'a> {
    pub(super) fn new(namespace: &'a Text, manifests: &'n Manifests<'a>, namespaces: &'n Namespaces<'n, 'a>) -> Self {
        let backed = manifests.workloads.iter().map(|_| BackedServices::default()).collect();
        Self { namespace, manifests, namespaces, nearby: None, findings: Vec::new(), backed }
    }

    /// The findings about the Services in their order, and the Services of each workload.
    pub(super) fn finish(mut self) -> (impl Iterator<Item = Finding>, Vec<BackedServices<'a>>) {
        self.findings.sort_by_key(|(place, _)| *place);
        (self.findings.into_iter().flat_map(|(_, findings)| findings), self.backed)
    }

    /// Checks all Services.
    pub(super) fn check(&mut self, comparisons: &mut Comparisons) {
        if self.manifests.is_recorded() {
            return;
        }
        for (selector, mut services) in self.manifests.by_selector() {
            services.retain(|(_, service)| service.kind != ServiceType::ExternalName);
            if !services.is_empty() {
                self.check_selector(selector, &services, comparisons);
            }
        }
    }

    /// Checks the Services that have this selector.
    fn check_selector(
        &mut self,
        selector: &'a Labels,
        services: &[(usize, &'a Service)],
        comparisons: &mut Comparisons,
    ) {
        let selection = Selection::find(selector, self.manifests, self.namespaces.index, comparisons);
        let fault = match &selection {
            None => {
                let message = "the selector is not compared with all labels: they have too many combinations";
                Some(SelectorFault::new(Reason::SelectorNotChecked, message.to_owned()))
            }
            Some(selection) if selection.workloads.is_empty() && selection.has_pods => None,
            Some(selection) if selection.workloads.is_empty() => {
                let places = self.manifests.places.clone();
                let nearby =
                    self.nearby.get_or_insert_with(|| NearbyCandidates::new(self.namespaces.index.written(places)));
                self.namespaces.unmatched(self.namespace, selector, nearby, comparisons)
            }
            Some(selection) => {
                self.check_selected(selector, selection, services);
                return;
            }
        };
        if let Some(SelectorFault { code, severity, message }) = fault {
            let finding =
                |service| Finding { severity, ..of_service(code, service, "/spec/selector", message.clone()) };
            self.findings.extend(services.iter().map(|(place, service)| (*place, vec![finding(service)])));
        }
    }

    /// Checks the Services that select these workloads.
    fn check_selected(&mut self, selector: &Labels, selection: &Selection<'a>, services: &[(usize, &'a Service)]) {
        // What cannot be read may be behind them as well.
        let is_all = self.manifests.unread.selected_by(selector).is_none();
        let several = selection.several_workloads();
        let mut ports = (!selection.has_pods).then(|| SelectedPorts::new(&selection.workloads));
        let no_pods = match selection.workloads.as_slice() {
            [(workload, WorkloadPods::None(why))] if is_all && !why.is_refusal() => {
                let name = workload_name(workload);
                Some(format!("{name} is the only workload behind the Service and makes no pods: {why}"))
            }
            _ => None,
        };
        for (place, service) in services {
            let mut findings = Vec::new();
            if let Some(ports) = &mut ports {
                ports.check(service, &mut findings);
            }
            let of_selector = |code, message: &String| of_service(code, service, "/spec/selector", message.clone());
            findings.extend(no_pods.as_ref().map(|message| of_selector(Reason::NoReplicas, message)));
            findings.extend(several.as_ref().map(|names| {
                let message = format!("the selector matches the pods of several workloads: {names}");
                of_selector(Reason::SeveralWorkloads, &message)
            }));
            self.findings.push((*place, findings));
        }
        self.add_backed(selection, is_all, services);
    }

    /// Adds the Services to those of the workloads. `is_all`: nothing else is behind them.
    fn add_backed(&mut self, selection: &Selection<'a>, is_all: bool, services: &[(usize, &'a Service)]) {
        // A Service that publishes pods before they are ready does not wait.
        let waiting: Vec<_> = services.iter().copied().filter(|(_, s)| !s.publish_not_ready).collect();
        for place in &selection.places {
            self.backed[*place].waiting.add(&waiting);
        }
        if let ([place], true) = (selection.places.as_slice(), is_all) {
            self.backed[*place].alone.add(services);
        }
    }
}
