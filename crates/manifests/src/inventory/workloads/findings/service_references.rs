//! Services that objects of other kinds name.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Range,
};

use roster_engine::{
    label_values::LabelValues,
    model::{HashSeed, Resource, Service, Text, spelling},
};

use super::{
    Comparison,
    comparisons::Comparisons,
    manifests::{Located, Manifests},
    selection::MAX_VERSIONS,
    unmatched::Namespaces,
};

/// Most Services of a namespace of which one must be applied as it is written.
const MAX_LOOKED_AT: usize = 256;

/// The longest name of a Service.
const LONGEST_NAME: usize = 63;

/// A reference to a Service by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceReference {
    /// The document that has it.
    pub document: usize,
    /// The namespace of the Service.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
}

/// What a reference refers to.
#[derive(Clone, Debug)]
pub enum NamedService<'a> {
    /// The Services of this name that are nearest to the document: several are versions of one.
    Found(Vec<&'a Service>),
    /// Nothing that can be said: it may be elsewhere.
    Unknown,
    /// No Service of the namespace.
    Missing {
        /// The name that was probably meant.
        meant: Option<&'a Text>,
        /// Another namespace that has a Service of this name.
        elsewhere: Option<&'a Text>,
    },
}

/// The Services of an input, by their names.
pub struct ServiceReferences<'c, 'a> {
    namespaces: Namespaces<'c, 'a>,
    comparisons: &'c Comparisons,
    /// The namespaces that have a Service of each name.
    by_name: HashMap<&'a str, BTreeSet<&'a Text>, HashSeed>,
    /// The names of the Services that a kustomization may rename, or put into another namespace.
    unrendered: HashSet<&'a str, HashSeed>,
    /// The names of the Services of the namespaces in which one is missing.
    names: BTreeMap<Text, LabelValues<'a>>,
}

impl<'a> Comparison<'a> {
    /// The Services by their names.
    pub fn service_references(&self) -> ServiceReferences<'_, 'a> {
        let namespaces = self.namespaces();
        let mut by_name: HashMap<&str, BTreeSet<&Text>, HashSeed> = HashMap::default();
        let mut unrendered = HashSet::default();
        for (namespace, manifests) in &self.all {
            for Located { document, object } in &manifests.services {
                by_name.entry(&object.meta.name).or_default().insert(*namespace);
                if !namespaces.is_judged(*document) {
                    unrendered.insert(object.meta.name.as_str());
                }
            }
        }
        ServiceReferences { namespaces, comparisons: &self.comparisons, by_name, unrendered, names: BTreeMap::new() }
    }
}

impl<'a> ServiceReferences<'_, 'a> {
    /// The Service of a reference.
    pub fn find(&mut self, reference: &ServiceReference) -> NamedService<'a> {
        let ServiceReference { document, namespace, name } = reference;
        let Some(manifests) = self.namespaces.all.get(namespace).filter(|_| self.namespaces.is_judged(*document))
        else {
            return NamedService::Unknown;
        };
        let places = manifests.services_named(name, *document, self.namespaces.units);
        if let Some(first) = places.first() {
            // A test may apply a file with any other.
            let unit = self.namespaces.units.unit(*document);
            if self.namespaces.is_in_test(*document) && !unit.contains(&manifests.services[*first].document) {
                return NamedService::Unknown;
            }
            let found = places.iter().take(MAX_VERSIONS).map(|place| manifests.services[*place]);
            // A kustomization may give it other ports.
            let judged = found.map(|at| self.namespaces.is_judged(at.document).then_some(at.object));
            return judged.collect::<Option<Vec<_>>>().map_or(NamedService::Unknown, NamedService::Found);
        }
        if !self.is_known(reference, manifests) {
            return NamedService::Unknown;
        }
        let elsewhere = self.by_name.get(name.as_str());
        let elsewhere = elsewhere.and_then(|namespaces| namespaces.first().copied());
        let meant = self.meant(namespace, name, manifests);
        // What looks like a typo is one, whatever an operator makes.
        if manifests.custom_resources.is_some() && !meant.is_some_and(|meant| is_mistyped(name, meant)) {
            return NamedService::Unknown;
        }
        NamedService::Missing { meant, elsewhere }
    }

    /// Whether a namespace would have the Service of a reference among its manifests, if it existed.
    fn is_known(&self, ServiceReference { document, namespace, name }: &ServiceReference, of: &Manifests<'a>) -> bool {
        let is_of_cluster = namespace == "kube-system" || (namespace == "default" && name == "kubernetes");
        let has_services = || of.services.iter().take(MAX_LOOKED_AT).any(|s| self.namespaces.is_judged(s.document));
        !is_of_cluster
            && name.len() <= LONGEST_NAME
            && has_services()
            && !of.unread.may_be_named(Resource::Service.kind(), name, *document)
            && !self.may_be_elsewhere(namespace, name)
            && !self.is_renamed(name)
            && !self.namespaces.is_made_by_test(*document, |file| of.has_service(file))
    }

    /// Whether a Service of this name may be applied to the namespace, because one of both is not written.
    fn may_be_elsewhere(&self, namespace: &Text, name: &Text) -> bool {
        let is_assumed = |namespace: &Text| namespace == self.namespaces.assumed;
        let others = self.by_name.get(name.as_str());
        others.is_some_and(|others| is_assumed(namespace) || others.iter().any(|other| is_assumed(other)))
    }

    /// Whether a kustomization may give a Service this name, by what it puts before and behind it.
    fn is_renamed(&self, name: &str) -> bool {
        if self.unrendered.is_empty() {
            return false;
        }
        let dashes = || name.match_indices('-').map(|(at, _)| at);
        let starts = || std::iter::once(0).chain(dashes().map(|at| at + 1));
        let ends = || dashes().chain(std::iter::once(name.len()));
        let parts = starts().flat_map(|start| ends().filter(move |end| *end > start).map(move |end| start..end));
        parts.into_iter().any(|part: Range<usize>| self.unrendered.contains(&name[part]))
    }

    /// The name that was probably meant.
    fn meant(&mut self, namespace: &Text, name: &Text, of: &Manifests<'a>) -> Option<&'a Text> {
        let names = self.names.entry(namespace.clone()).or_insert_with(|| {
            let mut names = LabelValues::default();
            of.services.iter().enumerate().for_each(|(place, service)| names.push(&service.object.meta.name, place));
            names.sort();
            names
        });
        let close: BTreeSet<usize> = names.neighbours(name).collect();
        self.comparisons.take_letters(name.len(), close.len()).ok()?;
        let names = close.into_iter().map(|place| &of.services[place].object.meta.name);
        // One word is part of many long names.
        let names = names.filter(|other| other.len() <= 2 * name.len());
        spelling::nearest(name, names, |name| name.as_str())
    }

    /// Whether an object of this kind may be in the namespace though it cannot be read.
    pub fn may_be_unread(&self, kind: &str, namespace: &Text) -> bool {
        self.namespaces.all.get(namespace).is_none_or(|of| of.unread.may_have_kind(kind))
    }
}

/// Whether a name is probably another one, mistyped. Operators make Services with numbers and short suffixes: `db-1`, `db-rw`.
fn is_mistyped(name: &str, meant: &str) -> bool {
    let letters = |part: &str| part.replace(|c: char| c.is_ascii_digit(), "");
    let mut differing = name.split('-').zip(meant.split('-')).filter(|(a, b)| a != b);
    spelling::typo(name, meant).is_some()
        && differing.all(|(a, b)| a.len().max(b.len()) > 2 && letters(a) != letters(b))
        && name.matches('-').count() == meant.matches('-').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_not_a_sibling() {
        for (name, meant, want) in [
            ("wbe", "web", true),
            ("webb", "web", true),
            ("shop-frontnd", "shop-frontend", true),
            ("web-1", "web-2", false),
            ("web2", "web1", false),
            ("db-rw", "db-ro", false),
            ("db-r", "db-rw", false),
            ("db-a", "dba", false),
            ("web", "shop", false),
        ] {
            assert_eq!(is_mistyped(name, meant), want, "{name} {meant}");
        }
    }
}
