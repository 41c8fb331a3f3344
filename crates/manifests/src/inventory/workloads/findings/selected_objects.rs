//! The pods and Services that objects of other kinds select by labels.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use roster_engine::{
    model::{Labels, Resource, Service, Text},
    reason::{Reason, Severity},
};

use super::{
    Comparison,
    candidate_index::CandidateIndex,
    comparisons::NotCompared,
    listing::list,
    manifests::{Manifests, selector},
    matching::Candidate,
    near_miss::NearbyCandidates,
    selection::{Selected, Selection, SelectorSearch},
    unmatched::{Namespaces, SelectorFault, nothing_matches},
};

/// Most objects of a namespace of which one must be applied as it is written.
const MAX_LOOKED_AT: usize = 256;

/// A selector of an object.
#[derive(Clone, Copy, Debug)]
pub struct ObjectSelector<'s> {
    /// The kind of the object.
    pub kind: &'static str,
    /// Its document.
    pub document: usize,
    /// The namespace in which it selects.
    pub namespace: &'s Text,
    /// The labels of which it asks for one value. What else it asks for is not compared.
    pub labels: &'s Labels,
}

/// What a selector selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectedObjects {
    /// Something that has ports of these names.
    Found(Arc<PortNames>),
    /// Nothing that can be said: it may be elsewhere.
    Unknown,
    /// Nothing.
    Nothing {
        /// How much it matters.
        severity: Severity,
        /// What is wrong.
        message: String,
    },
}

/// The names of the ports of what is selected.
#[derive(Debug, PartialEq, Eq)]
pub struct PortNames {
    /// The names.
    pub names: BTreeSet<Text>,
    /// The first of them, as a message has them.
    pub text: String,
}

impl PortNames {
    fn of<'n>(names: impl Iterator<Item = &'n Text>) -> SelectedObjects {
        let names: BTreeSet<Text> = names.filter(|name| !name.is_empty()).cloned().collect();
        SelectedObjects::Found(Arc::new(Self { text: list(names.iter().map(Text::as_str)), names }))
    }
}

/// A selector of a kind and a unit, in a namespace. Any number of objects may have it.
type KnownSelector = (&'static str, usize, Text, Labels);

/// What selectors select in an input.
pub struct ObjectSelections<'a> {
    comparison: &'a Comparison<'a>,
    namespaces: Namespaces<'a, 'a>,
    /// The pods of the namespaces that were asked for, by their labels.
    nearby_pods: BTreeMap<&'a Text, NearbyCandidates<'a>>,
    nearby_services: BTreeMap<&'a Text, NearbyCandidates<'a>>,
    /// The Services of all namespaces, and where those of each are.
    services: CandidateIndex<'a>,
    /// Their documents.
    documents: Vec<usize>,
    places: BTreeMap<&'a Text, Range<usize>>,
    /// The first Service of each namespace that has a selector.
    selectors: BTreeMap<(&'a Text, &'a Labels), &'a Service>,
    /// What was found before.
    known: BTreeMap<KnownSelector, SelectedObjects>,
}

/// A search for what a selector selects.
type Search<'a> = fn(&mut ObjectSelections<'a>, &ObjectSelector<'_>) -> Result<SelectedObjects, NotCompared>;

impl<'a> Comparison<'a> {
    /// What selectors select.
    pub fn object_selections(&'a self) -> ObjectSelections<'a> {
        let mut services = CandidateIndex::default();
        let (mut documents, mut places, mut selectors) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for (namespace, manifests) in &self.all {
            let start = services.len();
            for service in &manifests.services {
                services.push(Candidate::Service(service.object));
                documents.push(service.document);
                if let Some(of_pods) = selector(service.object) {
                    selectors.entry((*namespace, of_pods)).or_insert(service.object);
                }
            }
            places.insert(*namespace, start..services.len());
        }
        ObjectSelections {
            comparison: self,
            namespaces: self.namespaces(),
            nearby_pods: BTreeMap::new(),
            nearby_services: BTreeMap::new(),
            services,
            documents,
            places,
            selectors,
            known: BTreeMap::new(),
        }
    }
}

impl<'a> ObjectSelections<'a> {
    /// The pods that a selector selects.
    pub fn pods(&mut self, of: &ObjectSelector<'_>) -> SelectedObjects {
        self.find(of, Self::find_pods)
    }

    /// The Services that a selector selects.
    pub fn services(&mut self, of: &ObjectSelector<'_>) -> SelectedObjects {
        self.find(of, Self::find_services)
    }

    fn find(&mut self, of: &ObjectSelector<'_>, search: Search<'a>) -> SelectedObjects {
        if !self.namespaces.is_judged(of.document) || of.labels.is_empty() {
            return SelectedObjects::Unknown;
        }
        let unit = self.namespaces.units.unit(of.document).start;
        let key = (of.kind, unit, of.namespace.clone(), of.labels.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = search(self, of).unwrap_or(SelectedObjects::Unknown);
        self.known.insert(key, found.clone());
        found
    }

    fn find_pods(&mut self, of: &ObjectSelector<'_>) -> Result<SelectedObjects, NotCompared> {
        let ObjectSelector { kind, document, labels: selector, namespace } = *of;
        let Some((namespace, manifests)) = self.comparison.all.get_key_value(namespace) else {
            return Ok(SelectedObjects::Unknown);
        };
        let (index, units, comparisons) = (&self.comparison.index, self.namespaces.units, &self.comparison.comparisons);
        let search = SelectorSearch { kind, selector, document, manifests, index, units, comparisons };
        let versions = match search.run()? {
            Selected::Here(selection) => vec![selection],
            // A test may apply a file with any other.
            Selected::Nearest(versions) if !self.namespaces.is_in_test(document) => versions,
            Selected::Nearest(_) | Selected::Possibly | Selected::Beyond(..) => return Ok(SelectedObjects::Unknown),
            Selected::Nothing => return self.no_pods(namespace, manifests, &search),
        };
        let mut places = versions.iter().flat_map(|version| &version.places);
        let is_all = manifests.unread.selected_by(selector, Some(document)).is_none()
            && places.all(|place| self.namespaces.is_judged(manifests.workloads[*place].document));
        if !is_all {
            return Ok(SelectedObjects::Unknown);
        }
        Ok(PortNames::of(versions.iter().flat_map(port_names)))
    }

    fn no_pods<'s>(
        &mut self,
        namespace: &'a Text,
        manifests: &'a Manifests<'a>,
        search: &SelectorSearch<'_, 's>,
    ) -> Result<SelectedObjects, NotCompared>
    where
        'a: 's,
    {
        let mut workloads = manifests.workloads.iter().take(MAX_LOOKED_AT);
        if !workloads.any(|workload| self.namespaces.is_judged(workload.document)) {
            return Ok(SelectedObjects::Unknown);
        }
        let nearby = self.nearby_pods.entry(namespace).or_insert_with(|| {
            let mut candidates = self.comparison.index.written(manifests.places.clone());
            candidates.extend(manifests.unread.labelled());
            NearbyCandidates::new(candidates)
        });
        let (namespaces, nearby): (&Namespaces<'_, 's>, &NearbyCandidates<'s>) = (&self.namespaces, nearby);
        let fault = namespaces.unmatched(namespace, search, nearby)?;
        Ok(match fault {
            Some(SelectorFault { code, severity, message }) if code != Reason::SelectorNotChecked => {
                SelectedObjects::Nothing { severity, message }
            }
            _ => SelectedObjects::Unknown,
        })
    }

    fn find_services(&mut self, of: &ObjectSelector<'_>) -> Result<SelectedObjects, NotCompared> {
        let comparisons = &self.comparison.comparisons;
        let of_assumed = || self.comparison.all.get_key_value(&Text::new(self.namespaces.assumed));
        let own = self.comparison.all.get_key_value(of.namespace);
        // Objects without a namespace may be meant for it.
        let Some((namespace, manifests)) = own.or_else(of_assumed) else { return Ok(SelectedObjects::Unknown) };
        if manifests.unread.may_have_labels(Resource::Service.kind(), of.labels, of.document) {
            return Ok(SelectedObjects::Unknown);
        }
        let mut found = Vec::new();
        for places in self.meant_places(namespace) {
            found.extend(self.services_in(of.labels, places)?);
        }
        if self.namespaces.is_in_test(of.document) {
            let unit = self.namespaces.units.unit(of.document);
            found.retain(|place| unit.contains(&self.documents[*place]));
        }
        if found.is_empty() {
            return self.no_services(of, manifests);
        }
        if found.iter().any(|place| !self.namespaces.is_judged(self.documents[*place])) {
            return Ok(SelectedObjects::Unknown);
        }
        let services = || found.iter().filter_map(|place| self.services.at(*place).service());
        comparisons.take(services().map(|service| service.ports.len()).sum())?;
        Ok(PortNames::of(services().flat_map(|service| &service.ports).map(|port| &port.name)))
    }

    /// Where the Services are that may be in a namespace: its own, and those whose namespace is not written.
    fn meant_places(&self, namespace: &Text) -> Vec<Range<usize>> {
        let assumed = self.namespaces.assumed;
        if namespace == assumed {
            return std::iter::once(0..self.services.len()).collect();
        }
        [namespace, &Text::new(assumed)].into_iter().filter_map(|of| self.places.get(of).cloned()).collect()
    }

    /// The Services with these labels, at some places.
    fn services_in(&self, labels: &Labels, places: Range<usize>) -> Result<Vec<usize>, NotCompared> {
        let places = self.services.places(labels, places);
        self.comparison.comparisons.take_selector(labels, places.len())?;
        let mut found = places.in_order();
        found.retain(|place| self.services.at(*place).is_selected_by(labels));
        Ok(found)
    }

    fn no_services(
        &mut self,
        of: &ObjectSelector<'_>,
        manifests: &'a Manifests<'a>,
    ) -> Result<SelectedObjects, NotCompared> {
        // A kustomization may give labels to those that it changes.
        let mut services = manifests.services.iter().take(MAX_LOOKED_AT);
        let is_open = services.any(|service| !self.namespaces.is_judged(service.document))
            || manifests.services.is_empty()
            || manifests.custom_resources.is_some();
        if is_open || of.namespace == "kube-system" || self.namespaces.is_in_test(of.document) {
            return Ok(SelectedObjects::Unknown);
        }
        if let Some(service) = self.selectors.get(&(&manifests.services[0].object.meta.namespace, of.labels)) {
            let message = format!(
                "the selector matches no Service; Service {} selects pods with these labels, but does not have them itself",
                service.meta.name
            );
            return Ok(SelectedObjects::Nothing { severity: Severity::Warning, message });
        }
        if manifests.services[0].object.meta.namespace != *of.namespace {
            return Ok(SelectedObjects::Unknown);
        }
        let elsewhere = self.services_in(of.labels, 0..self.services.len())?;
        if let Some(other) = elsewhere.first().map(|place| self.services.at(*place)) {
            let message = format!(
                "the selector matches {} of namespace {}; a {} selects Services of its own namespace, or of those in namespaceSelector",
                other.name(),
                other.namespace(),
                of.kind
            );
            return Ok(SelectedObjects::Nothing { severity: Severity::Warning, message });
        }
        let namespace = &manifests.services[0].object.meta.namespace;
        let nearby = self.nearby_services.entry(namespace).or_insert_with(|| {
            NearbyCandidates::new(manifests.services.iter().map(|s| Candidate::Service(s.object)).collect())
        });
        let nearby: &NearbyCandidates<'_> = nearby;
        let nearest = nearby.nearest(of.labels, &self.comparison.comparisons)?;
        Ok(nearest.map_or(SelectedObjects::Unknown, |nearest| {
            let severity = if nearest.is_alike() { Severity::Warning } else { Severity::Info };
            SelectedObjects::Nothing { severity, message: nothing_matches("no Service", &nearest) }
        }))
    }
}

/// The names of the ports of what is selected.
fn port_names<'s>(selection: &'s Selection<'_>) -> impl Iterator<Item = &'s Text> {
    let of_workloads = selection
        .workloads
        .iter()
        .flat_map(|(workload, _)| workload.template.ports.iter().chain(&workload.template.init_ports));
    let of_pods = selection.pods.iter().flat_map(|pod| pod.ports.iter());
    of_workloads.chain(of_pods).map(|port| &port.name)
}
