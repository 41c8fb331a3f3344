//! The references between namespaces that `ReferenceGrants` allow.

use std::collections::BTreeSet;

use roster_engine::model::{Text, wire::nullable};
use serde::Deserialize;

use super::{Backend, GATEWAY, ReferringObject};

/// What may be referred to from other namespaces.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    all: BTreeSet<Grant>,
    /// The namespaces of which not all grants are known.
    open: BTreeSet<Text>,
    /// Whether a grant may be of any namespace.
    is_open: bool,
}

/// The reference that a grant allows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Grant {
    /// The namespace of the Service.
    namespace: Text,
    /// The kind of the route, of the Gateway API, and its namespace.
    from: (Text, Text),
    /// The name of the Service; `None` for all.
    name: Option<Text>,
}

#[derive(Deserialize)]
struct ReferenceGrant {
    spec: GrantSpec,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct GrantSpec {
    #[serde(deserialize_with = "nullable")]
    from: Vec<GrantFrom>,
    #[serde(deserialize_with = "nullable")]
    to: Vec<GrantTo>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GrantFrom {
    #[serde(deserialize_with = "nullable")]
    group: Text,
    #[serde(deserialize_with = "nullable")]
    kind: Text,
    #[serde(deserialize_with = "nullable")]
    namespace: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GrantTo {
    #[serde(deserialize_with = "nullable")]
    group: Text,
    #[serde(deserialize_with = "nullable")]
    kind: Text,
    name: Option<Text>,
}

/// Most references of a grant: a namespace with a larger one counts as not known.
const MAX_PAIRS: usize = 1024;

impl Grants {
    /// Adds a grant. `is_anywhere`: its namespace may be another one.
    pub(super) fn add(&mut self, object: ReferringObject<'_>, is_anywhere: bool) {
        self.is_open |= is_anywhere;
        let namespace = Text::new(object.namespace);
        let spec = object.read().map(|ReferenceGrant { spec }| spec);
        let Some(GrantSpec { from, to }) = spec.filter(|spec| spec.from.len() * spec.to.len() <= MAX_PAIRS) else {
            self.open.insert(namespace);
            return;
        };
        let to: Vec<GrantTo> = to.into_iter().filter(|to| to.group.is_empty() && to.kind == "Service").collect();
        for from in from.iter().filter(|from| from.group == GATEWAY) {
            for to in &to {
                let name = to.name.clone().filter(|name| !name.is_empty());
                let from = (from.kind.clone(), from.namespace.clone());
                self.all.insert(Grant { namespace: namespace.clone(), from, name });
            }
        }
    }

    /// Adds the namespaces of references of which a grant may be unread.
    pub(super) fn add_unread<'b>(
        &mut self,
        backends: impl Iterator<Item = &'b Backend>,
        may_be_unread: impl Fn(&Text) -> bool,
    ) {
        let crossing = backends.filter(|backend| backend.granted_to.is_some());
        let namespaces: BTreeSet<&Text> = crossing.map(|backend| &backend.service.namespace).collect();
        self.open.extend(namespaces.into_iter().filter(|namespace| may_be_unread(namespace)).cloned());
    }

    /// Whether a reference needs no grant, or may have one.
    pub(crate) fn may_allow(&self, backend: &Backend) -> bool {
        let Some(from) = &backend.granted_to else { return true };
        let namespace = &backend.service.namespace;
        let has = |name: Option<&Text>| {
            let from = (backend.kind.clone(), from.clone());
            self.all.contains(&Grant { namespace: namespace.clone(), from, name: name.cloned() })
        };
        self.is_open || self.open.contains(namespace) || has(None) || has(Some(&backend.service.name))
    }
}
