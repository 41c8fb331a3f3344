//! Which endpoints of an object a scheme leaves: what the view of the node decides about.

use std::{collections::BTreeMap, sync::Arc};

use roster_engine::{
    model::{Labels, ObjectKey, Resource, Text, names},
    reason::Reason,
    view::{EndpointObject, EndpointPlace, PrunedObject},
};

use super::{endpoint_lists::RawEndpoint, raw_object::RawObject};

/// An Endpoints object or an EndpointSlice, and which of its endpoints are left. It has endpoints, or it is empty.
#[derive(Clone, Debug)]
pub(crate) struct EndpointSelection {
    pub(crate) resource: Resource,
    pub(crate) raw: Arc<RawObject>,
    /// Whether each endpoint is left; empty: all are.
    removed: Vec<bool>,
    /// The endpoint that replaces all of them.
    replacement: Option<(Text, i32)>,
    removals: Removals,
}

/// How many endpoints were removed for each reason, in the order of the reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removals(Box<[(Reason, usize)]>);

impl Removals {
    /// Counts reasons.
    pub(crate) fn of(reasons: impl Iterator<Item = Reason>) -> Self {
        let mut counts = BTreeMap::<Reason, usize>::new();
        reasons.for_each(|reason| *counts.entry(reason).or_default() += 1);
        Self(counts.into_iter().collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Reason, usize)> {
        self.0.iter().copied()
    }
}

/// Which endpoints of an object are served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ServedEndpoints {
    /// All of it.
    #[default]
    All,
    /// All but the endpoints with these indexes, which are in order.
    Without(Box<[usize]>),
    /// Another endpoint instead of its own.
    Replaced(Box<(Text, i32)>),
    /// Another endpoint was put in place of its own, and removed.
    Nothing(Box<(Text, i32)>),
}

impl EndpointSelection {
    /// All endpoints of an object.
    pub(crate) fn all(resource: Resource, raw: Arc<RawObject>) -> Self {
        Self { resource, raw, removed: Vec::new(), replacement: None, removals: Removals::default() }
    }

    /// What a scheme left of an object.
    pub(super) fn left_of(pruned: PrunedObject<Self>) -> Self {
        let removals = Removals::of(pruned.removed.iter().map(|endpoint| endpoint.reason));
        Self { removals, ..pruned.object }
    }

    /// Why endpoints were removed.
    pub(super) fn take_removals(&mut self) -> Removals {
        std::mem::take(&mut self.removals)
    }

    /// The endpoints that are served.
    pub(crate) fn served(self) -> ServedEndpoints {
        match self.replacement {
            Some(endpoint) if self.removed.first() == Some(&true) => ServedEndpoints::Nothing(Box::new(endpoint)),
            Some(endpoint) => ServedEndpoints::Replaced(Box::new(endpoint)),
            None => {
                let removed: Box<[usize]> = (0..self.removed.len()).filter(|i| self.removed[*i]).collect();
                if removed.is_empty() { ServedEndpoints::All } else { ServedEndpoints::Without(removed) }
            }
        }
    }

    /// Whether no endpoint is left.
    pub(crate) fn is_empty(&self) -> bool {
        match self.replacement {
            Some(_) => self.is_removed(0),
            None => (0..self.endpoints().len()).all(|index| self.is_removed(index)),
        }
    }

    fn endpoints(&self) -> &[RawEndpoint] {
        self.raw.endpoints.as_ref().map_or(&[], |lists| &lists.endpoints)
    }

    fn is_removed(&self, index: usize) -> bool {
        self.removed.get(index).is_some_and(|removed| *removed)
    }
}

fn place(endpoint: &RawEndpoint) -> EndpointPlace<'_> {
    EndpointPlace { address: &endpoint.address, node: endpoint.node.as_ref(), ready: endpoint.ready }
}

impl EndpointObject for EndpointSelection {
    fn namespace(&self) -> &Text {
        &self.raw.name.namespace
    }

    fn name(&self) -> &Text {
        &self.raw.name.name
    }

    fn annotations(&self) -> &Labels {
        &self.raw.annotations
    }

    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.resource.kind(), self.namespace(), self.name())
    }

    fn service_name(&self) -> Option<&Text> {
        match self.resource {
            Resource::Endpoints => Some(self.name()),
            _ => self.raw.labels.get(names::SERVICE_NAME).filter(|name| !name.is_empty()),
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(EndpointPlace<'_>) -> bool) {
        if let Some((address, _)) = &self.replacement {
            let is_kept = self.is_removed(0) || keep(EndpointPlace { address, node: None, ready: true });
            self.removed = vec![self.is_removed(0) || !is_kept];
            return;
        }
        let raw = self.raw.clone();
        let endpoints = raw.endpoints.as_ref().map_or(&[][..], |lists| &lists.endpoints);
        self.removed.resize(endpoints.len(), false);
        for (endpoint, removed) in endpoints.iter().zip(&mut self.removed) {
            *removed = *removed || !keep(place(endpoint));
        }
    }

    fn replace(&mut self, address: Text, port: i32) {
        (self.replacement, self.removed) = (Some((address, port)), Vec::new());
    }

    fn each(&self, mut see: impl FnMut(EndpointPlace<'_>)) {
        if let Some((address, _)) = &self.replacement {
            if !self.is_removed(0) {
                see(EndpointPlace { address, node: None, ready: true });
            }
            return;
        }
        let left = self.endpoints().iter().enumerate().filter(|(i, _)| !self.is_removed(*i));
        left.for_each(|(_, endpoint)| see(place(endpoint)));
    }
}
