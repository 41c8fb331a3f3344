//! The pods and Services that objects of other kinds select by labels.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use roster_engine::{
    model::{Labels, Resource, Text},
    reason::{Reason, Severity},
};

use super::{
    Comparison,
    candidate_index::CandidateIndex,
    comparisons::NotCompared,
    listing::list,
    manifests::Manifests,
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
    /// The names of ports that what it selects should have.
    pub ports: &'s [&'s str],
}

/// What a selector selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectedObjects {
    /// Something. These ports are missing in all of it, and these are the names that it has.
    Found {
        /// The places of the missing ports in [`ObjectSelector::ports`].
        missing: Vec<usize>,
        /// The names, as a message has them.
        names: String,
    },
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
}

impl<'a> Comparison<'a> {
    /// What selectors select.
    pub fn object_selections(&'a self) -> ObjectSelections<'a> {
        let mut services = CandidateIndex::default();
        let (mut documents, mut places) = (Vec::new(), BTreeMap::new());
        for (namespace, manifests) in &self.all {
            let start = services.len();
            for service in &manifests.services {
                services.push(Candidate::Service(service.object));
                documents.push(service.document);
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
        }
    }
}

impl<'a> ObjectSelections<'a> {
    /// The pods that a selector selects.
    pub fn pods(&mut self, of: &ObjectSelector<'_>) -> SelectedObjects {
        self.find_pods(of).unwrap_or(SelectedObjects::Unknown)
    }

    fn find_pods(&mut self, of: &ObjectSelector<'_>) -> Result<SelectedObjects, NotCompared> {
        let ObjectSelector { kind, document, labels: selector, ports, .. } = *of;
        let Some((namespace, manifests)) = self.judged(of) else { return Ok(SelectedObjects::Unknown) };
        let (index, units, comparisons) = (&self.comparison.index, self.namespaces.units, &self.comparison.comparisons);
        let search = SelectorSearch { kind, selector, document, manifests, index, units, comparisons };
        let versions = match search.run()? {
            Selected::Here(selection) => vec![selection],
            Selected::Nearest(versions) => versions,
            Selected::Possibly | Selected::Beyond(..) => return Ok(SelectedObjects::Unknown),
            Selected::Nothing => return self.no_pods(namespace, manifests, &search),
        };
        let mut places = versions.iter().flat_map(|version| &version.places);
        let is_all = manifests.unread.selected_by(selector, Some(document)).is_none()
            && places.all(|place| self.namespaces.is_judged(manifests.workloads[*place].document));
        if !is_all {
            return Ok(SelectedObjects::Unknown);
        }
        Ok(with_ports(ports, &versions.iter().flat_map(port_names).collect()))
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

    /// The Services that a selector selects.
    pub fn services(&mut self, of: &ObjectSelector<'_>) -> SelectedObjects {
        self.find_services(of).unwrap_or(SelectedObjects::Unknown)
    }

    fn find_services(&mut self, of: &ObjectSelector<'_>) -> Result<SelectedObjects, NotCompared> {
        let comparisons = &self.comparison.comparisons;
        let Some((namespace, manifests)) = self.judged(of) else { return Ok(SelectedObjects::Unknown) };
        let places = self.services.places(of.labels, 0..self.services.len());
        comparisons.take_selector(of.labels, places.len())?;
        let mut found = places.in_order();
        found.retain(|place| self.services.at(*place).is_selected_by(of.labels));
        let here = self.places.get(namespace).cloned().unwrap_or_default();
        let assumed = self.namespaces.assumed;
        let is_meant = |place: &usize| {
            here.contains(place) || *namespace == assumed || *self.services.at(*place).namespace() == assumed
        };
        let elsewhere = found.iter().find(|place| !is_meant(place)).copied();
        found.retain(is_meant);
        if manifests.unread.may_have_labels(Resource::Service.kind(), of.labels, of.document) {
            return Ok(SelectedObjects::Unknown);
        }
        if found.is_empty() {
            return self.no_services(of, manifests, elsewhere);
        }
        if found.iter().any(|place| !self.namespaces.is_judged(self.documents[*place])) {
            return Ok(SelectedObjects::Unknown);
        }
        let services = || found.iter().filter_map(|place| self.services.at(*place).service());
        comparisons.take(services().map(|service| service.ports.len()).sum())?;
        let names = services().flat_map(|service| &service.ports).map(|port| port.name.as_str()).collect();
        Ok(with_ports(of.ports, &names))
    }

    fn no_services(
        &mut self,
        of: &ObjectSelector<'_>,
        manifests: &'a Manifests<'a>,
        elsewhere: Option<usize>,
    ) -> Result<SelectedObjects, NotCompared> {
        // A kustomization may give labels to those that it changes.
        let mut services = manifests.services.iter().take(MAX_LOOKED_AT);
        let is_open = services.any(|service| !self.namespaces.is_judged(service.document))
            || manifests.services.is_empty()
            || manifests.custom_resources.is_some();
        if is_open || of.namespace == "kube-system" || self.is_of_test(of.document) {
            return Ok(SelectedObjects::Unknown);
        }
        if let Some(other) = elsewhere.map(|place| self.services.at(place)) {
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

    fn is_of_test(&self, document: usize) -> bool {
        self.namespaces.in_tests.get(document).copied().unwrap_or_default()
    }

    /// The namespace of a selector, if something can be concluded.
    fn judged(&self, of: &ObjectSelector<'_>) -> Option<(&'a Text, &'a Manifests<'a>)> {
        let is_judged = self.namespaces.is_judged(of.document) && !of.labels.is_empty();
        let (namespace, manifests) = self.comparison.all.get_key_value(of.namespace).filter(|_| is_judged)?;
        Some((namespace, manifests))
    }
}

/// The names of the ports of what is selected.
fn port_names<'s>(selection: &'s Selection<'_>) -> impl Iterator<Item = &'s str> {
    let of_workloads = selection
        .workloads
        .iter()
        .flat_map(|(workload, _)| workload.template.ports.iter().chain(&workload.template.init_ports));
    let of_pods = selection.pods.iter().flat_map(|pod| pod.ports.iter());
    of_workloads.chain(of_pods).map(|port| port.name.as_str())
}

fn with_ports(ports: &[&str], names: &BTreeSet<&str>) -> SelectedObjects {
    let missing = (0..ports.len()).filter(|place| !names.contains(ports[*place])).collect();
    SelectedObjects::Found { missing, names: list(names.iter().copied().filter(|name| !name.is_empty())) }
}
