//! The objects that refer to Services and pods: routes, webhooks, monitors, budgets. The decoder does not read them.

mod backends;
mod grants;
mod selectors;

use roster_engine::model::json::raw::api_group;
use roster_manifests::inventory::workloads::{Comparison, NamedService, SelectedObjects, ServiceReference};
use serde::de::DeserializeOwned;

pub(crate) use self::{
    backends::{Backend, BackendPort},
    grants::Grants,
    selectors::{Selecting, SelectingKind},
};
use crate::reviewed_object::{ReviewedObject, placed};

/// What objects of an input refer to.
#[derive(Default)]
pub(crate) struct ReferringObjects<'a> {
    /// The references to Services, each with what it refers to.
    pub(crate) backends: Vec<(Backend, NamedService<'a>)>,
    /// What may refer to Services of other namespaces.
    pub(crate) grants: Grants,
    /// The selectors of monitors and budgets, each with what it selects in each of its namespaces; with nothing if it is not known.
    pub(crate) selecting: Vec<(Selecting, Vec<SelectedObjects>)>,
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

impl ReferringObject<'_> {
    /// The object as one of a type; `None` if it is none. What an API server refuses of it is found elsewhere.
    fn read<T: DeserializeOwned>(self) -> Option<T> {
        serde_json::from_str(self.text).ok()
    }
}

/// Whether objects of a kind are read.
pub(crate) fn is_read(kind: &str, group: &str) -> bool {
    const GROUPS: [&str; 8] = [
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "extensions",
        "gateway.networking.k8s.io",
        "monitoring.coreos.com",
        "networking.k8s.io",
        "policy",
    ];
    KINDS.contains(&kind) && GROUPS.contains(&group)
}

/// The kinds that are read.
const KINDS: [&str; 15] = [
    "Ingress",
    "HTTPRoute",
    "GRPCRoute",
    "TCPRoute",
    "TLSRoute",
    "UDPRoute",
    "ReferenceGrant",
    "ReferencePolicy",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "CustomResourceDefinition",
    "ServiceMonitor",
    "PodMonitor",
    "PodDisruptionBudget",
];

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
    let is_read = |item: &ReviewedObject<'_>| KINDS.contains(&item.key.kind.as_str()) && !item.is_mixture();
    for (document, item) in items.iter().enumerate().filter(|(_, item)| is_read(item)) {
        let (key, group) = (placed(&item.key, namespace), api_group(&item.document.raw));
        let object = ReferringObject {
            document,
            kind: &key.kind,
            group: &group,
            namespace: &key.namespace,
            text: item.document.raw.get(),
        };
        match object.group {
            "gateway.networking.k8s.io" if object.kind.starts_with("Reference") => {
                grants.add(object, item.is_listed || item.key.namespace.is_empty());
            }
            "monitoring.coreos.com" | "policy" if selecting.len() < most => selecting.extend(selectors::of(object)),
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
    ReferringObjects { backends: named.collect(), grants, selecting: selectors::selected(selecting, comparison) }
}

/// A reference of a document.
fn reference(of: ReferringObject<'_>, namespace: &str, name: &str) -> ServiceReference {
    ServiceReference { document: of.document, namespace: namespace.into(), name: name.into() }
}
