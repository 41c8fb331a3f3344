//! What is known of the API server's objects, and what the clients of one node see of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use roster_engine::{
    model::{Labels, Pod, Resource, Service, Text},
    view::KeyOrder,
};

use super::{
    endpoint_selection::EndpointSelection,
    held_objects::{HeldNode, HeldObjects, HeldPart, PartChange, service_of_slice},
    label_readers::LabelReaders,
    overlay::{Overlay, OverlayPhase},
    raw_object::{ObjectName, RawObject},
    scheme::{EdgeScheme, NodeHealth, OwnNode, Surroundings},
    served_object::ServedObject,
};
use crate::servers::edge::{
    disk::state_record::StateRecord,
    permissions,
    permissions::WITH_ENDPOINTS,
    upstream::upstream_event::{HeldChange, UpstreamEvent, UpstreamObject},
};

/// What clients see of an object from now on.
#[derive(Debug)]
pub(crate) struct ServedChange {
    pub(crate) resource: Resource,
    pub(crate) name: ObjectName,
    /// `None`: clients do not see it.
    pub(crate) object: Option<ServedObject>,
}

/// What events change.
#[derive(Debug, Default)]
pub(crate) struct NodeChanges {
    /// What is held differently from now on.
    pub(crate) held: Vec<HeldChange>,
    /// What clients see from now on.
    pub(crate) served: Vec<ServedChange>,
}

/// The objects of the API server, and the decision about each. It takes what changes there, and returns what changes for
/// clients: an event touches the Services that it can affect, and no others.
#[derive(Debug)]
pub(crate) struct NodeState {
    scheme: EdgeScheme,
    own: OwnNode,
    objects: HeldObjects,
    readers: LabelReaders,
    overlay: Overlay,
    /// The resources that were not listed yet.
    awaited: BTreeSet<Resource>,
}

/// What events affect.
#[derive(Debug, Default)]
struct Affected {
    /// Services whose endpoints are decided about again.
    services: BTreeSet<ObjectName>,
    /// Services of which only these slices are, where that is enough.
    slices: BTreeMap<ObjectName, BTreeSet<ObjectName>>,
    /// Objects that are decided about by themselves.
    objects: BTreeSet<(Resource, ObjectName)>,
    /// Other nodes whose labels changed.
    nodes: BTreeSet<Text>,
    /// The keys of these labels.
    node_labels: BTreeSet<Text>,
    /// What is held differently.
    held: Vec<HeldChange>,
}

impl Affected {
    /// An object changes, and with it the endpoints of a Service.
    fn touch(&mut self, resource: Resource, name: &ObjectName) {
        self.objects.insert((resource, name.clone()));
        // Endpoints have the name of their Service.
        if [Resource::Service, Resource::Endpoints].contains(&resource) {
            self.services.insert(name.clone());
        }
    }

    /// A slice changes, and with it the endpoints of the Services that it belonged to and belongs to.
    fn touch_slice(&mut self, PartChange { name, before, after, .. }: &PartChange) {
        if let Some(service) = before.as_ref().and_then(HeldPart::service_of_slice) {
            self.slices.entry(service).or_default();
        }
        if let Some(service) = after.as_ref().and_then(HeldPart::service_of_slice) {
            self.slices.entry(service).or_default().insert(name.clone());
        }
    }
}

impl NodeState {
    /// The state of a node about which nothing is known yet.
    pub(crate) fn new(node: Text, scheme: EdgeScheme, order: KeyOrder) -> Self {
        Self {
            scheme,
            own: OwnNode { name: node, order, health: None },
            objects: HeldObjects::new(),
            readers: LabelReaders::default(),
            overlay: Overlay::default(),
            awaited: Self::watched(scheme).collect(),
        }
    }

    /// The resources of the API server that a scheme needs.
    pub(crate) fn watched(scheme: EdgeScheme) -> impl Iterator<Item = Resource> {
        permissions::watched(scheme)
    }

    /// The resources that were not listed yet. Until there are none, clients see nothing: Services without their endpoints,
    /// or endpoints before the Service whose keys decide about them, would be wrong.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Resource> {
        self.awaited.iter().copied()
    }

    /// Whether events may take long. Nothing is wrong if they do not.
    pub(super) fn are_large(&self, events: &[UpstreamEvent]) -> bool {
        const MANY_ENDPOINTS: usize = 2000;
        let weights = events.iter().map(|event| self.weight(event));
        weights.fold(0, usize::saturating_add) > MANY_ENDPOINTS
    }

    /// The number of endpoints and slices that an event may decide about. Those that may concern many Services have the most.
    fn weight(&self, event: &UpstreamEvent) -> usize {
        const LONG_TEXT: usize = 256 << 10;
        let of_service = |service: &ObjectName| {
            let endpoints =
                self.objects.of_service(Resource::Endpoints, service).iter().map(|raw| raw.endpoint_count());
            1 + self.objects.weight_of_slices(service) + endpoints.sum::<usize>()
        };
        let of_object = |resource: Resource, name: &ObjectName| match resource {
            Resource::Service | Resource::Endpoints => of_service(name),
            Resource::EndpointSlice => {
                let before = self.objects.get(resource, name);
                let service = before.and_then(|before| before.service_of_slice());
                service.map_or(1, |service| of_service(&service))
            }
            _ => usize::MAX,
        };
        match event {
            UpstreamEvent::Replace(..) => usize::MAX,
            UpstreamEvent::Delete(resource, name) => of_object(*resource, name),
            UpstreamEvent::Apply(UpstreamObject { held, .. })
                if held.text().is_some_and(|raw| raw.text.len() > LONG_TEXT) =>
            {
                usize::MAX
            }
            UpstreamEvent::Apply(UpstreamObject { resource, name, held }) => match held {
                HeldPart::Service(_) => of_service(name),
                HeldPart::Text(raw) => {
                    let of_slice = (*resource == Resource::EndpointSlice).then(|| service_of_slice(raw)).flatten();
                    of_slice.map_or(0, |service| of_service(&service)).saturating_add(of_object(*resource, name))
                }
                HeldPart::Node(HeldNode { node, .. }) => match self.objects.nodes().get(&node.name) {
                    Some(before) if before.labels == node.labels => 1,
                    _ => usize::MAX,
                },
                HeldPart::Pool(_) => usize::MAX,
            },
        }
    }

    /// Takes events, and returns what changes. What they affect is decided about once, however many of them do. It may name
    /// objects that clients see as they did before.
    pub(crate) fn apply(&mut self, events: Vec<UpstreamEvent>) -> NodeChanges {
        let mut affected = Affected::default();
        let mut is_first_state = false;
        for event in events {
            let listed = if let UpstreamEvent::Replace(resource, _) = event { Some(resource) } else { None };
            for change in self.objects.take(event) {
                self.changed(change, &mut affected);
            }
            if let Some(resource) = listed
                && self.awaited.remove(&resource)
            {
                affected.held.push(HeldChange::Listed(resource));
                is_first_state = self.awaited.is_empty();
            }
        }
        let held = HeldChange::last_of_each(std::mem::take(&mut affected.held));
        if !self.awaited.is_empty() {
            return NodeChanges { held, served: Vec::new() };
        }
        if is_first_state {
            affected = self.everything();
        }
        self.add_readers(&mut affected);
        NodeChanges { held, served: self.decide(affected) }
    }

    /// Takes the pods of the own node, as its kubelet knows them, and returns what clients see from now on.
    pub(crate) fn set_local_pods(&mut self, mut pods: Vec<Pod>) -> Vec<ServedChange> {
        // Stable: those of one namespace stay in their order.
        pods.sort_by(|a, b| a.namespace().cmp(b.namespace()));
        let before = std::mem::replace(&mut self.overlay.pods, pods);
        if self.overlay.phase == OverlayPhase::Off {
            return Vec::new();
        }
        self.decide_local(&before)
    }

    /// Says when the pods of the own node count, and returns what clients see from now on.
    pub(crate) fn set_overlay(&mut self, phase: OverlayPhase) -> Vec<ServedChange> {
        if std::mem::replace(&mut self.overlay.phase, phase) == phase {
            return Vec::new();
        }
        self.decide_local(&[])
    }

    /// Takes the health of nodes; `None`: it is not known. Returns what clients see from now on.
    pub(crate) fn set_node_health(&mut self, health: Option<NodeHealth>) -> Vec<ServedChange> {
        let before = std::mem::replace(&mut self.own.health, health);
        if !self.awaited.is_empty() || self.scheme != EdgeScheme::SuperEdge {
            return Vec::new();
        }
        let unhealthy = |health: &Option<NodeHealth>| -> BTreeSet<Text> {
            let all = health.iter().flatten().filter(|(_, is_healthy)| !**is_healthy);
            all.map(|(node, _)| node.clone()).collect()
        };
        let (before, after) = (unhealthy(&before), unhealthy(&self.own.health));
        let changed: BTreeSet<Text> = before.symmetric_difference(&after).cloned().collect();
        let services = self.objects.services().filter(|service| self.has_endpoint_in(service, &changed)).cloned();
        let services = services.collect();
        self.decide(Affected { services, ..Affected::default() })
    }

    /// The number of Services whose endpoints on the own node differ from what the API server last had.
    pub(crate) fn differing(&self) -> usize {
        self.overlay.differing().count()
    }

    /// Decides about the Services that have endpoints on the own node, or select one of its pods, or one of these.
    fn decide_local(&mut self, before: &[Pod]) -> Vec<ServedChange> {
        if !self.awaited.is_empty() {
            return Vec::new();
        }
        let pods = before.iter().chain(&self.overlay.pods);
        // Replicas have the same labels.
        let labels: BTreeSet<(&Text, &Labels)> = pods.map(|pod| (pod.namespace(), &*pod.labels)).collect();
        let local = self.objects.services().filter(|service| self.has_endpoint_on(service, &self.own.name));
        let mut services: BTreeSet<&ObjectName> = local.chain(self.overlay.differing()).collect();
        for (namespace, labels) in labels {
            // Into the set one by one: labels times Services may be many, and mostly they are the same Services.
            services.extend(self.objects.selecting(namespace, labels));
        }
        let services = services.into_iter().cloned().collect();
        self.decide(Affected { services, ..Affected::default() })
    }

    /// All that is held, as records from which the same state is built again.
    pub(crate) fn records(&self) -> Vec<StateRecord> {
        let objects = Self::watched(self.scheme).flat_map(|resource| {
            self.objects.names(resource).into_iter().filter_map(move |name| self.held(resource, &name))
        });
        let listed = Self::watched(self.scheme).filter(|resource| !self.awaited.contains(resource));
        objects.map(StateRecord::Put).chain(listed.map(StateRecord::Listed)).collect()
    }

    /// The records of changes that were returned last.
    pub(crate) fn records_of(&self, changes: &[HeldChange]) -> Vec<StateRecord> {
        let record = |change: &HeldChange| match change {
            HeldChange::Put(resource, name) => self.held(*resource, name).map(StateRecord::Put),
            HeldChange::Delete(resource, name) => Some(StateRecord::Delete(*resource, name.clone())),
            HeldChange::Listed(resource) => Some(StateRecord::Listed(*resource)),
        };
        changes.iter().filter_map(record).collect()
    }

    /// An object, as far as it is held.
    pub(crate) fn held(&self, resource: Resource, name: &ObjectName) -> Option<UpstreamObject> {
        Some(UpstreamObject { resource, name: name.clone(), held: self.objects.get(resource, name)? })
    }

    /// The object with the text that is held already, if it is the same.
    pub(crate) fn share(&self, mut object: UpstreamObject) -> UpstreamObject {
        if let Some(held) = self.objects.get(object.resource, &object.name)
            && let (Some(text), Some(new)) = (held.text(), object.held.text())
            && text.text == new.text
        {
            object.held = held;
        }
        object
    }

    /// Notes what a change of what is held affects.
    fn changed(&mut self, change: PartChange, affected: &mut Affected) {
        let PartChange { resource, name, before, after } = &change;
        match resource {
            Resource::NodePool => self.pool_changed(&name.name, affected),
            Resource::Node => self.node_changed(&change, affected),
            Resource::EndpointSlice => affected.touch_slice(&change),
            Resource::Service => {
                let read = match after {
                    Some(HeldPart::Service(held)) => self.scheme.node_labels(held.service()),
                    _ => Vec::new(),
                };
                self.readers.set(name, read);
            }
            _ => {}
        }
        let has_text = |part: &Option<HeldPart>| part.as_ref().is_some_and(|part| part.text().is_some());
        if has_text(before) || has_text(after) {
            affected.touch(*resource, name);
        }
        let is_held = after.is_some();
        let PartChange { resource, name, .. } = change;
        affected.held.push(if is_held { HeldChange::Put(resource, name) } else { HeldChange::Delete(resource, name) });
    }

    /// The labels of a node change, or it comes or goes.
    fn node_changed(&self, PartChange { name, before, after, .. }: &PartChange, affected: &mut Affected) {
        if !self.awaited.is_empty() {
            // With the last list, everything is decided about.
            return;
        }
        let [before, after] = [before, after].map(|part| part.as_ref().and_then(HeldPart::node_labels));
        let node = &name.name;
        let is_own = *node == self.own.name;
        if is_own && (before.is_none() || after.is_none()) {
            affected.services.extend(self.readers.all().into_iter().cloned());
            return;
        }
        if !is_own && !self.scheme.reads_other_nodes() {
            return;
        }
        let none = Labels::default();
        let labels = self.readers.difference(before.unwrap_or(&none), after.unwrap_or(&none));
        if is_own {
            affected.services.extend(self.readers.of_any(labels).into_iter().cloned());
        } else if !labels.is_empty() {
            affected.nodes.insert(node.clone());
            affected.node_labels.extend(labels.into_iter().cloned());
        }
    }

    /// Adds the Services that depend on the changed labels of other nodes and have an endpoint there. The endpoints of each are
    /// looked at once, whatever the number of nodes.
    fn add_readers(&self, affected: &mut Affected) {
        let readers = self.readers.of_any(&affected.node_labels).into_iter();
        let readers = readers.filter(|service| !affected.services.contains(service));
        let readers: Vec<_> =
            readers.filter(|service| self.has_endpoint_in(service, &affected.nodes)).cloned().collect();
        affected.services.extend(readers);
    }

    /// The nodes of a pool change.
    fn pool_changed(&self, pool: &Text, affected: &mut Affected) {
        if self.around().pool() == Some(pool) {
            affected.services.extend(self.readers.of(roster_engine::view::POOL_OF_NODE).cloned());
        }
    }

    fn has_endpoint_on(&self, service: &ObjectName, node: &Text) -> bool {
        self.has_endpoint(service, |on| on == node)
    }

    fn has_endpoint_in(&self, service: &ObjectName, nodes: &BTreeSet<Text>) -> bool {
        self.has_endpoint(service, |on| nodes.contains(on))
    }

    /// Whether a Service has an endpoint on one of these nodes.
    fn has_endpoint(&self, service: &ObjectName, of: impl Fn(&Text) -> bool) -> bool {
        let is_on = |raw: &Arc<RawObject>| {
            let endpoints = raw.endpoints.iter().flat_map(|lists| &lists.endpoints);
            endpoints.into_iter().any(|endpoint| endpoint.node.as_ref().is_some_and(&of))
        };
        WITH_ENDPOINTS.iter().any(|resource| self.objects.of_service(*resource, service).iter().any(is_on))
    }

    fn everything(&self) -> Affected {
        let named =
            [Resource::Service, Resource::Endpoints].into_iter().flat_map(|resource| self.objects.names(resource));
        let services = named.chain(self.objects.services_with_slices()).collect();
        let with_text = |resource| {
            let names = self.objects.names(resource).into_iter();
            names.filter(move |name| self.objects.text(resource, name).is_some()).map(move |name| (resource, name))
        };
        let objects = Self::watched(self.scheme).flat_map(with_text).collect();
        Affected { services, objects, ..Affected::default() }
    }

    fn around(&self) -> Surroundings<'_> {
        Surroundings { own: &self.own, held: &self.objects }
    }

    /// Decides about all that is affected.
    fn decide(&mut self, affected: Affected) -> Vec<ServedChange> {
        let Affected { mut services, slices, objects, .. } = affected;
        let mut changes = Vec::new();
        for (service, slices) in slices {
            if services.contains(&service) {
                continue;
            }
            if !self.scheme.decides_each_alone(self.around()) || self.overlay.concerns(&service) {
                services.insert(service);
                continue;
            }
            let resource = Resource::EndpointSlice;
            let held = |name: &ObjectName| self.objects.text(resource, name);
            let is_its_own = |raw: &Arc<RawObject>| service_of_slice(raw).as_ref() == Some(&service);
            let of_service = slices.iter().filter_map(held).filter(is_its_own);
            self.decide_endpoints(resource, of_service, self.objects.service(&service), &mut changes);
        }
        for service in services {
            if self.scheme.prunes(Resource::Service) {
                changes.push(self.served_service(&service));
            }
            let text = self.objects.text(Resource::Service, &service);
            let around = Surroundings { own: &self.own, held: &self.objects };
            for resource in WITH_ENDPOINTS {
                let all = self.objects.of_service(resource, &service).to_vec();
                let overlaid = self.overlay.lay(&service, text.as_deref(), resource, all, around);
                let gone = overlaid.gone.into_iter();
                changes.extend(gone.map(|name| ServedChange { resource, name, object: None }));
                self.decide_endpoints(resource, overlaid.objects, self.objects.service(&service), &mut changes);
            }
        }
        for (resource, name) in objects {
            match self.objects.text(resource, &name) {
                None => changes.push(ServedChange { resource, name, object: None }),
                Some(_) if resource == Resource::Service => changes.push(self.served_service(&name)),
                Some(raw) if WITH_ENDPOINTS.contains(&resource) => {
                    // With its Service it was decided about above.
                    if resource == Resource::EndpointSlice && service_of_slice(&raw).is_none() {
                        self.decide_endpoints(resource, [raw], None, &mut changes);
                    }
                }
                Some(raw) => {
                    let object = Some(ServedObject::whole(resource, raw));
                    changes.push(ServedChange { resource, name, object });
                }
            }
        }
        changes
    }

    /// Decides about the Endpoints or the slices of a Service.
    fn decide_endpoints(
        &self,
        resource: Resource,
        objects: impl IntoIterator<Item = Arc<RawObject>>,
        service: Option<&Service>,
        changes: &mut Vec<ServedChange>,
    ) {
        let all: Vec<_> = objects.into_iter().map(|raw| EndpointSelection::all(resource, raw)).collect();
        if all.is_empty() {
            return;
        }
        changes.extend(self.scheme.prune(service, all, self.around()).into_iter().map(|left| {
            let object = ServedObject::of(left);
            ServedChange { resource, name: object.name(), object: Some(object) }
        }));
    }

    /// What clients see of a Service.
    fn served_service(&self, name: &ObjectName) -> ServedChange {
        let resource = Resource::Service;
        let is_hidden = |service: &Service| self.scheme.hides(service, self.around());
        let seen = self.objects.text(resource, name).filter(|_| !self.objects.service(name).is_some_and(is_hidden));
        let object = seen.map(|raw| ServedObject::whole(resource, raw));
        ServedChange { resource, name: name.clone(), object }
    }
}
