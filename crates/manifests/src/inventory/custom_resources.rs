//! Objects of unknown kinds of which a controller may make pods.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
};

use roster_engine::model::{HeapSize, ObjectKey, Text};

/// Objects of which a controller that Roster does not know may make pods, by the namespace of the pods. Of each namespace
/// the first is kept, and the number of the others.
#[derive(Clone, Debug, Default)]
pub struct CustomResources {
    by_namespace: BTreeMap<Text, CustomResourcesOfNamespace>,
}

/// The custom resources whose pods would be in one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomResourcesOfNamespace {
    first: ObjectKey,
    more: usize,
}

impl CustomResources {
    /// Adds an object that may have pods in `namespace`. Returns the memory in bytes that it takes.
    pub fn add(&mut self, namespace: Text, object: ObjectKey) -> usize {
        match self.by_namespace.entry(namespace) {
            Entry::Occupied(mut known) => {
                known.get_mut().more += 1;
                0
            }
            Entry::Vacant(place) => {
                let of_names: usize =
                    [place.key(), &object.kind, &object.namespace, &object.name].map(HeapSize::heap_size).iter().sum();
                place.insert(CustomResourcesOfNamespace { first: object, more: 0 });
                // A node of the map is half full.
                of_names + 2 * size_of::<(Text, CustomResourcesOfNamespace)>()
            }
        }
    }

    /// Appends those of `other`.
    pub fn merge(&mut self, other: Self) {
        for (namespace, CustomResourcesOfNamespace { first, more }) in other.by_namespace {
            self.add(namespace.clone(), first);
            if let Some(known) = self.by_namespace.get_mut(&namespace) {
                known.more += more;
            }
        }
    }

    /// Those whose pods would be in `namespace`.
    pub fn of(&self, namespace: &Text) -> Option<&CustomResourcesOfNamespace> {
        self.by_namespace.get(namespace)
    }
}

impl fmt::Display for CustomResourcesOfNamespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        match self.more {
            0 => Ok(()),
            1 => f.write_str(" or of another custom resource"),
            more => write!(f, " or of {more} other custom resources"),
        }
    }
}
