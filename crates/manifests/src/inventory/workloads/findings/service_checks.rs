//! The checks of the Services of one namespace.

use roster_engine::{
    model::{Labels, Service, ServiceType, Text},
    phrase::counted,
    reason::{Finding, Reason},
};

use super::{
    comparisons::{Comparisons, NotCompared},
    listing::ServiceNames,
    manifests::{Manifests, of_service},
    matching::workload_name,
    near_miss::NearbyCandidates,
    ports::SelectedPorts,
    selection::Selection,
    unmatched::{Namespaces, SelectorFault, not_checked},
    unread_index::UnreadMatch,
};
use crate::inventory::workloads::{assume::WorkloadPods, workload::Workload};

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
    selected: SelectedWorkloads<'a>,
    /// The Services whose selectors are not compared, with their places.
    not_compared: Vec<(usize, &'a Service)>,
}

/// The first workload that each selector of a namespace selects for certain, if it selects one; sorted by selector.
pub(super) type SelectedWorkloads<'a> = Vec<(&'a Labels, &'a Workload)>;

/// What was found about the Services of a namespace.
pub(super) struct CheckedServices<'a> {
    /// The findings, in the order of the Services.
    pub(super) findings: Vec<Finding>,
    /// The Services of each workload, by its place.
    pub(super) backed: Vec<BackedServices<'a>>,
    pub(super) selected: SelectedWorkloads<'a>,
}

impl<'n, 'a> ServiceChecks<'n, 'a> {
    pub(super) fn new(namespace: &'a Text, manifests: &'n Manifests<'a>, namespaces: &'n Namespaces<'n, 'a>) -> Self {
        let backed = manifests.workloads.iter().map(|_| BackedServices::default()).collect();
        Self {
            namespace,
            manifests,
            namespaces,
            nearby: None,
            findings: Vec::new(),
            backed,
            selected: SelectedWorkloads::new(),
            not_compared: Vec::new(),
        }
    }

    /// What was found.
    pub(super) fn finish(mut self) -> CheckedServices<'a> {
        self.report_not_compared();
        self.findings.sort_by_key(|(place, _)| *place);
        let findings = self.findings.into_iter().flat_map(|(_, findings)| findings).collect();
        CheckedServices { findings, backed: self.backed, selected: self.selected }
    }

    /// Says of the first Service whose selector is not compared how many there are.
    fn report_not_compared(&mut self) {
        let Some((place, first)) = self.not_compared.iter().min_by_key(|(place, _)| *place) else { return };
        let which = match self.not_compared.len() - 1 {
            0 => "the selector is".to_owned(),
            more => format!("the selectors of this and of {} of the namespace are", counted(more, "more Service")),
        };
        let message = format!("{which} not compared with all labels: they have too many combinations");
        self.findings.push((*place, vec![of_service(Reason::SelectorNotChecked, first, "/spec/selector", message)]));
    }

    /// Checks all Services.
    pub(super) fn check(&mut self, comparisons: &Comparisons) {
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
    fn check_selector(&mut self, selector: &'a Labels, services: &[(usize, &'a Service)], comparisons: &Comparisons) {
        let Ok(fault) = self.fault_or_check(selector, services, comparisons) else {
            self.not_compared.extend(services);
            return;
        };
        if let Some(SelectorFault { code, severity, message }) = fault {
            let finding =
                |service| Finding { severity, ..of_service(code, service, "/spec/selector", message.clone()) };
            self.findings.extend(services.iter().map(|(place, service)| (*place, vec![finding(service)])));
        }
    }

    /// The fault of a selector that selects no workload. If it selects some, these are checked.
    fn fault_or_check(
        &mut self,
        selector: &'a Labels,
        services: &[(usize, &'a Service)],
        comparisons: &Comparisons,
    ) -> Result<Option<SelectorFault>, NotCompared> {
        let selection = Selection::find(selector, self.manifests, self.namespaces.index, comparisons)?;
        if !selection.workloads.is_empty() {
            self.selected.extend(selection.workloads.first().map(|(workload, _)| (selector, *workload)));
            self.check_selected(selector, &selection, services, comparisons);
            return Ok(None);
        }
        if !selection.pods.is_empty() {
            return Ok(None);
        }
        if let Some((workload, asked)) = selection.beyond {
            let fault = asked.fault(workload, self.manifests);
            return Ok(match self.manifests.unread.selected_by(selector) {
                None => fault,
                Some(UnreadMatch::Known(_)) => None,
                Some(UnreadMatch::Possible(unread)) => fault.map(|fault| not_checked(&fault.message, &unread)),
            });
        }
        let (places, unread) = (self.manifests.places.clone(), self.manifests.unread);
        let nearby = self.nearby.get_or_insert_with(|| {
            let mut candidates = self.namespaces.index.written(places);
            candidates.extend(unread.labelled());
            NearbyCandidates::new(candidates)
        });
        if selection.is_possible {
            return self.namespaces.typo(self.namespace, selector, nearby, comparisons);
        }
        self.namespaces.unmatched(self.namespace, selector, nearby, comparisons)
    }

    /// Checks the Services that select these workloads.
    fn check_selected(
        &mut self,
        selector: &Labels,
        selection: &Selection<'a>,
        services: &[(usize, &'a Service)],
        comparisons: &Comparisons,
    ) {
        // What cannot be read may be behind them as well.
        let is_all = self.manifests.unread.selected_by(selector).is_none();
        let several = selection.several_workloads();
        let mut ports = SelectedPorts::new(selection);
        let no_pods = match selection.workloads.as_slice() {
            [(workload, WorkloadPods::None(why))]
                if is_all && selection.pods.is_empty() && !why.is_refusal() && !workload.is_hook =>
            {
                let name = workload_name(workload);
                Some(format!("{name} is the only workload behind the Service and makes no pods: {why}"))
            }
            _ => None,
        };
        for (place, service) in services {
            let mut findings = Vec::new();
            ports.check(service, comparisons, &mut findings);
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
        if let ([place], true, true) = (selection.places.as_slice(), is_all, selection.pods.is_empty()) {
            self.backed[*place].alone.add(services);
        }
    }
}
