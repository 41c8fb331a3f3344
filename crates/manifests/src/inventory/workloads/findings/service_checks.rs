//! The checks of the Services of one namespace.

use roster_engine::{
    model::{Resource, Service, ServiceType, Text},
    phrase::counted,
    reason::{Finding, Reason},
};

use super::{
    comparisons::{Comparisons, NotCompared},
    in_all_versions,
    listing::ServiceNames,
    manifests::{Located, Manifests, SelectorOfUnit, of_service},
    matching::workload_name,
    near_miss::NearbyCandidates,
    ports::SelectedPorts,
    selection::{Selected, Selection, SelectorSearch},
    unmatched::{Namespaces, SelectorFault, not_checked, typo},
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

/// The checks of the Services of a namespace. Those of a unit with equal selectors are checked together: any number of Services
/// may select the same thousands of workloads.
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
    not_compared: Vec<(usize, Located<&'a Service>)>,
}

/// The first workload that each Service of a namespace selects for certain, if it selects one; sorted by the places of the
/// Services.
pub(super) type SelectedWorkloads<'a> = Vec<(usize, &'a Workload)>;

/// What was found about the Services of a namespace.
pub(super) struct CheckedServices<'a> {
    /// The findings with their documents, in the order of the Services.
    pub(super) findings: Vec<Located<Finding>>,
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
        self.selected.sort_by_key(|(place, _)| *place);
        let document = |place: usize| self.manifests.services[place].document;
        let placed = |(place, findings): (usize, Vec<Finding>)| {
            findings.into_iter().map(move |object| Located { document: document(place), object })
        };
        let findings = self.findings.into_iter().flat_map(placed).collect();
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
        let finding = of_service(Reason::SelectorNotChecked, first.object, "/spec/selector", message);
        self.findings.push((*place, vec![finding]));
    }

    /// Checks all Services.
    pub(super) fn check(&mut self, comparisons: &Comparisons) {
        for SelectorOfUnit { selector, mut services } in self.manifests.by_selector(self.namespaces.units) {
            let is_checked = |service: &Located<&Service>| {
                !self.manifests.is_recorded(&self.namespaces.units.unit(service.document))
                    && self.namespaces.is_judged(service.document)
                    && service.object.kind != ServiceType::ExternalName
            };
            services.retain(|(_, service)| is_checked(service));
            if let Some((_, first)) = services.first() {
                let (manifests, index, units) = (self.manifests, self.namespaces.index, self.namespaces.units);
                let (kind, document) = (Resource::Service.kind(), first.document);
                let search = SelectorSearch { kind, selector, document, manifests, index, units, comparisons };
                self.check_selector(&search, &services);
            }
        }
    }

    /// Checks the Services that have this selector.
    fn check_selector(&mut self, search: &SelectorSearch<'_, 'a>, services: &[(usize, Located<&'a Service>)]) {
        let Ok(fault) = self.fault_or_check(search, services) else {
            self.not_compared.extend(services);
            return;
        };
        if let Some(SelectorFault { code, severity, message }) = fault {
            let finding =
                |service| Finding { severity, ..of_service(code, service, "/spec/selector", message.clone()) };
            self.findings.extend(services.iter().map(|(place, service)| (*place, vec![finding(service.object)])));
        }
    }

    /// The fault of a selector that selects no workload. If it selects some, these are checked.
    fn fault_or_check(
        &mut self,
        search: &SelectorSearch<'_, 'a>,
        services: &[(usize, Located<&'a Service>)],
    ) -> Result<Option<SelectorFault>, NotCompared> {
        let selector = search.selector;
        let selected = search.run()?;
        let is_here = matches!(selected, Selected::Here(_));
        let (is_possible, versions) = match selected {
            Selected::Here(selection) => (false, vec![selection]),
            Selected::Nearest(versions) => (false, versions),
            Selected::Possibly => (true, Vec::new()),
            Selected::Nothing => (false, Vec::new()),
            Selected::Beyond(workload, asked) => {
                let fault = asked.fault(workload, self.manifests);
                return Ok(match self.manifests.unread.selected_by(selector, Some(search.document)) {
                    None => fault,
                    Some(UnreadMatch::Known(_) | UnreadMatch::Unrendered) => None,
                    Some(UnreadMatch::Possible(unread)) => fault.map(|fault| not_checked(&fault.message, &unread)),
                });
            }
        };
        if !versions.is_empty() {
            // What cannot be read may be behind them as well; what is in another folder than the unit is not applied with it.
            let unread = self.manifests.unread;
            let is_all = if is_here {
                !unread.adds_to(selector, search.document)
            } else {
                unread.selected_by(selector, Some(search.document)).is_none()
            };
            self.check_selected(search, &versions, services, is_all);
            return Ok(None);
        }
        let (places, unread) = (self.manifests.places.clone(), self.manifests.unread);
        let nearby = self.nearby.get_or_insert_with(|| {
            let mut candidates = self.namespaces.index.written(places);
            candidates.extend(unread.labelled());
            NearbyCandidates::new(candidates)
        });
        if is_possible && self.namespaces.is_made_by_test(search.document, |file| search.manifests.has_candidate(file))
        {
            return Ok(None);
        }
        if is_possible {
            return typo(self.namespace, search, nearby);
        }
        self.namespaces.unmatched(self.namespace, search, nearby)
    }

    /// Checks the Services that select workloads. There may be several versions of these. `is_all`: nothing else is behind them.
    fn check_selected(
        &mut self,
        search: &SelectorSearch<'_, 'a>,
        versions: &[Selection<'a>],
        services: &[(usize, Located<&'a Service>)],
        is_all: bool,
    ) {
        let mut of_versions: Vec<_> = versions.iter().map(|version| SelectionChecks::new(version, is_all)).collect();
        for (place, service) in services {
            let found = of_versions.iter_mut().map(|version| version.check(service.object, search.comparisons));
            self.findings.push((*place, in_all_versions(found)));
        }
        let [selection] = versions else { return };
        if let Some((workload, _)) = selection.workloads.first() {
            self.selected.extend(services.iter().map(|(place, _)| (*place, *workload)));
        }
        self.add_backed(selection, is_all, services);
    }

    /// Adds the Services to those of the workloads. `is_all`: nothing else is behind them.
    fn add_backed(&mut self, selection: &Selection<'a>, is_all: bool, services: &[(usize, Located<&'a Service>)]) {
        let all: Vec<(usize, &Service)> = services.iter().map(|(place, service)| (*place, service.object)).collect();
        // A Service that publishes pods before they are ready does not wait.
        let waiting: Vec<_> = all.iter().copied().filter(|(_, s)| !s.publish_not_ready).collect();
        for place in &selection.places {
            self.backed[*place].waiting.add(&waiting);
        }
        if let ([place], true, true) = (selection.places.as_slice(), is_all, selection.pods.is_empty()) {
            self.backed[*place].alone.add(&all);
        }
    }
}

/// What is checked of the Services that select the same workloads.
struct SelectionChecks<'a> {
    ports: SelectedPorts<'a>,
    /// Why there are no pods.
    no_pods: Option<String>,
    several: Option<String>,
}

impl<'a> SelectionChecks<'a> {
    /// `is_all`: nothing else is selected.
    fn new(selection: &Selection<'a>, is_all: bool) -> Self {
        let no_pods = match selection.workloads.as_slice() {
            [(workload, WorkloadPods::None(why))]
                if is_all && selection.pods.is_empty() && !why.is_refusal() && !workload.is_hook =>
            {
                let name = workload_name(workload);
                Some(format!("{name} is the only workload behind the Service and makes no pods: {why}"))
            }
            _ => None,
        };
        Self { ports: SelectedPorts::new(selection), no_pods, several: selection.several_workloads() }
    }

    fn check(&mut self, service: &'a Service, comparisons: &Comparisons) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.ports.check(service, comparisons, &mut findings);
        let of_selector = |code, message: &String| of_service(code, service, "/spec/selector", message.clone());
        findings.extend(self.no_pods.as_ref().map(|message| of_selector(Reason::NoReplicas, message)));
        findings.extend(self.several.as_ref().map(|names| {
            let message = format!("the selector matches the pods of several workloads: {names}");
            of_selector(Reason::SeveralWorkloads, &message)
        }));
        findings
    }
}
