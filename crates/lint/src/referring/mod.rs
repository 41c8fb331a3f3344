//! The objects that refer to Services and pods: routes, webhooks, monitors, budgets. The decoder does not read them.

mod backends;
mod foreign_scalers;
mod grants;
mod selectors;
mod webhooks;

use roster_manifests::inventory::{
    GATEWAY,
    workloads::{Comparison, NamedService, SelectedObjects},
};
use serde::Deserialize;

pub use self::webhooks::{RequiredService, required_services};
pub(crate) use self::{
    backends::Backend,
    grants::Grants,
    selectors::{Selecting, SelectingKind},
    webhooks::{ClosedWebhook, closed as closed_webhooks, find_unserved},
};
use crate::reviewed_object::ReviewedObject;

/// What objects of an input refer to.
#[derive(Default)]
pub(crate) struct ReferringObjects<'a> {
    /// The references to Services, each with what it refers to.
    pub(crate) backends: Vec<(Backend, NamedService<'a>)>,
    /// What may refer to Services of other namespaces.
    pub(crate) grants: Grants,
    /// The selectors of monitors and budgets, each with what it selects in each of its namespaces; with nothing if it is not known.
    pub(crate) selecting: Vec<(Selecting, Vec<SelectedObjects>)>,
    /// The admission webhooks that fail closed.
    pub(crate) webhooks: Vec<ClosedWebhook>,
}

/// An object that is read.
#[derive(Clone, Copy)]
pub(crate) struct ReferringObject<'i> {
    /// The number of its document.
    document: usize,
    kind: &'i str,
    group: &'i str,
    namespace: &'i str,
    text: &'i str,
}

impl<'i> ReferringObject<'i> {
    /// The object as one of a type; `None` if it is none. What an API server refuses of it is found elsewhere.
    fn read<T: Deserialize<'i>>(self) -> Option<T> {
        serde_json::from_str(self.text).ok()
    }
}

/// The kinds that are read, each with its group.
const KINDS: [(&str, &str); 15] = [
    ("Ingress", "networking.k8s.io"),
    ("HTTPRoute", GATEWAY),
    ("GRPCRoute", GATEWAY),
    ("TCPRoute", GATEWAY),
    ("TLSRoute", GATEWAY),
    ("UDPRoute", GATEWAY),
    ("ReferenceGrant", GATEWAY),
    ("ReferencePolicy", GATEWAY),
    ("ValidatingWebhookConfiguration", "admissionregistration.k8s.io"),
    ("MutatingWebhookConfiguration", "admissionregistration.k8s.io"),
    ("APIService", "apiregistration.k8s.io"),
    ("CustomResourceDefinition", "apiextensions.k8s.io"),
    ("ServiceMonitor", MONITORING),
    ("PodMonitor", MONITORING),
    ("PodDisruptionBudget", "policy"),
];

/// The group of the Prometheus operator.
const MONITORING: &str = "monitoring.coreos.com";

/// Whether an object is of a kind that is read. Another group may have a kind of the same name.
pub(crate) fn is_read(item: &ReviewedObject<'_>) -> bool {
    group_of(item).is_some()
}

/// The group of an object of a kind that is read.
fn group_of(item: &ReviewedObject<'_>) -> Option<&'static str> {
    let (_, group) = KINDS.iter().find(|(kind, _)| *kind == item.key.kind)?;
    Some(*group).filter(|group| *group == item.api_group())
}

/// Reads the objects of an input that refer to others, but for those after `most` references. `namespace` is that of objects
/// without one.
pub(crate) fn read<'a>(
    items: &[ReviewedObject<'_>],
    namespace: &str,
    most: usize,
    comparison: &'a Comparison<'a>,
) -> ReferringObjects<'a> {
    let (mut backends, mut selecting) = (Vec::new(), Vec::new());
    let mut grants = Grants::default();
    for (document, item) in items.iter().enumerate() {
        let Some(group) = group_of(item).filter(|_| !item.is_mixture()) else { continue };
        let key = item.key.clone().placed(namespace);
        let object = ReferringObject {
            document,
            kind: &key.kind,
            group,
            namespace: &key.namespace,
            text: item.document.raw.get(),
        };
        match object.group {
            GATEWAY if object.kind.starts_with("Reference") => {
                grants.add(object, item.is_listed || item.key.namespace.is_empty());
            }
            MONITORING | "policy" if selecting.len() < most => selecting.extend(selectors::of(object)),
            _ if backends.len() < most => {
                backends.extend(backends::of(object));
                backends.truncate(most);
            }
            _ => {}
        }
    }
    if backends.is_empty() && selecting.is_empty() {
        return ReferringObjects::default();
    }
    let mut services = comparison.service_references();
    grants.add_unread(backends.iter(), |namespace| {
        ["ReferenceGrant", "ReferencePolicy"].iter().any(|kind| services.may_be_unread(kind, namespace))
    });
    let named = backends.into_iter().map(|backend: Backend| {
        let found = services.find(&backend.service);
        (backend, found)
    });
    let selecting = selectors::selected(selecting, comparison);
    ReferringObjects { backends: named.collect(), grants, selecting, webhooks: Vec::new() }
}
