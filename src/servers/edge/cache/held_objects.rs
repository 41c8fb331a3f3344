//! What is held of the objects of the API server: a table for each resource.

use std::{
    convert::Infallible,
    sync::{Arc, OnceLock},
};

use roster_admission::Unknown;
use roster_engine::model::{Labels, Node, NodePool, Nodes, ObjectMeta, Resource, Service, Text, names};
use roster_manifests::inventory::{
    Change, Live, LiveRows, LiveTable, Lookup, Row, SelectingService, ServiceSlice, ServicesBySelector, SlicesByService,
};

use super::raw_object::{ObjectName, RawObject};
use crate::servers::edge::upstream::upstream_event::{UpstreamEvent, UpstreamObject};

/// What is held of an object.
#[derive(Clone, Debug)]
pub(crate) enum HeldPart {
    /// A Service: its text, and what a scheme reads of it.
    Service(Arc<HeldService>),
    /// The text of an object of another resource.
    Text(Arc<RawObject>),
    /// A node.
    Node(HeldNode),
    /// A pool of nodes.
    Pool(HeldPool),
}

/// A Service.
#[derive(Debug)]
pub(crate) struct HeldService {
    pub(crate) text: Arc<RawObject>,
    /// Read once the Service is held: a list has all Services again, most of them as they are.
    service: OnceLock<Service>,
}

/// A node: its labels, and all of it where it is the own node.
#[derive(Clone, Debug)]
pub(crate) struct HeldNode {
    pub(crate) node: Arc<Node>,
    pub(crate) text: Option<Arc<RawObject>>,
}

/// A pool of nodes.
#[derive(Clone, Debug)]
pub(crate) struct HeldPool(pub(crate) Arc<NodePool>);

/// A change of what is held of an object.
#[derive(Debug)]
pub(super) struct PartChange {
    pub(super) resource: Resource,
    pub(super) name: ObjectName,
    pub(super) before: Option<HeldPart>,
    pub(super) after: Option<HeldPart>,
}

/// The objects of the API server.
#[derive(Debug)]
pub(super) struct HeldObjects {
    live: Live<HeldRows>,
    pools: LiveTable<HeldPool>,
}

/// What a node proxy holds.
#[derive(Debug)]
struct HeldRows;

impl LiveRows for HeldRows {
    /// The kubelet knows the pods of the own node, and no others count.
    type Pod = Infallible;
    type Pods = ();
    type Service = Arc<HeldService>;
    type Services = ServicesBySelector<Arc<HeldService>>;
    type Node = HeldNode;
    type Nodes = Nodes;
    type Endpoints = Arc<RawObject>;
    type Slice = Arc<RawObject>;
    type Slices = SlicesByService<Arc<RawObject>>;
    type Namespace = Arc<RawObject>;
}

impl HeldObjects {
    /// Nothing: no resource was listed.
    pub(super) fn new() -> Self {
        let why = Unknown("the resource was not listed yet");
        Self { live: Live::empty(why), pools: LiveTable::empty(why) }
    }

    /// Takes an event, and returns what it changes.
    pub(super) fn take(&mut self, event: UpstreamEvent) -> Vec<PartChange> {
        let resource = event.resource();
        let table: &mut dyn HeldTable = match resource {
            Resource::Service => &mut self.live.services,
            Resource::Endpoints => &mut self.live.endpoints,
            Resource::EndpointSlice => &mut self.live.slices,
            Resource::Node => &mut self.live.nodes,
            Resource::Namespace => &mut self.live.namespaces,
            Resource::NodePool => &mut self.pools,
            // Nobody watches them.
            _ => return Vec::new(),
        };
        table.take(event)
    }

    fn table(&self, resource: Resource) -> Option<&dyn HeldTable> {
        Some(match resource {
            Resource::Service => &self.live.services,
            Resource::Endpoints => &self.live.endpoints,
            Resource::EndpointSlice => &self.live.slices,
            Resource::Node => &self.live.nodes,
            Resource::Namespace => &self.live.namespaces,
            Resource::NodePool => &self.pools,
            _ => return None,
        })
    }

    /// What is held of an object.
    pub(super) fn get(&self, resource: Resource, name: &ObjectName) -> Option<HeldPart> {
        self.table(resource)?.get(name)
    }

    /// The text of an object.
    pub(super) fn text(&self, resource: Resource, name: &ObjectName) -> Option<Arc<RawObject>> {
        self.get(resource, name)?.text().cloned()
    }

    /// The names of all objects of a resource, in their order.
    pub(super) fn names(&self, resource: Resource) -> Vec<ObjectName> {
        self.table(resource).map(HeldTable::names).unwrap_or_default()
    }

    /// What a scheme reads of a Service.
    pub(super) fn service(&self, name: &ObjectName) -> Option<&Service> {
        self.live.services.last_known().get(&name.namespace, &name.name).map(|held| held.service())
    }

    /// The names of all Services.
    pub(super) fn services(&self) -> impl Iterator<Item = &ObjectName> {
        self.live.services.last_known().rows().iter().map(|held| &held.text.name)
    }

    /// The names of the Services that select a pod with these labels.
    pub(super) fn selecting<'a>(&'a self, namespace: &str, labels: &'a Labels) -> impl Iterator<Item = &'a ObjectName> {
        self.live.services.last_known().lookup().selecting(namespace, labels).map(|held| &held.text.name)
    }

    /// The Endpoints or the slices of a Service.
    pub(super) fn of_service(&self, resource: Resource, service: &ObjectName) -> &[Arc<RawObject>] {
        let ObjectName { namespace, name } = service;
        match resource {
            // They have the name of their Service.
            Resource::Endpoints => {
                self.live.endpoints.last_known().get(namespace, name).map_or(&[], std::slice::from_ref)
            }
            Resource::EndpointSlice => self.live.slices.last_known().lookup().of(namespace, name),
            _ => &[],
        }
    }

    /// The names of the Services that have slices.
    pub(super) fn services_with_slices(&self) -> impl Iterator<Item = ObjectName> {
        let services = self.live.slices.last_known().lookup().services();
        services.map(|(namespace, name)| ObjectName::new(namespace.clone(), name.clone()))
    }

    /// How many slices a Service has, and endpoints in them.
    pub(super) fn weight_of_slices(&self, service: &ObjectName) -> usize {
        self.live.slices.last_known().lookup().weight(&service.namespace, &service.name)
    }

    /// All nodes, of which only the labels are known.
    pub(super) fn nodes(&self) -> &Nodes {
        self.live.nodes.last_known().lookup()
    }

    /// A pool of nodes.
    pub(super) fn pool(&self, name: &str) -> Option<&NodePool> {
        self.pools.last_known().get("", name).map(|HeldPool(pool)| &**pool)
    }
}

/// The table of a resource, whatever it holds.
trait HeldTable {
    /// Takes an event, and returns what it changes.
    fn take(&mut self, event: UpstreamEvent) -> Vec<PartChange>;

    fn get(&self, name: &ObjectName) -> Option<HeldPart>;

    fn names(&self) -> Vec<ObjectName>;
}

impl<R, L> HeldTable for LiveTable<R, L>
where
    R: Row + Named + Clone + Into<HeldPart> + TryFrom<HeldPart>,
    L: Lookup<R>,
{
    fn take(&mut self, event: UpstreamEvent) -> Vec<PartChange> {
        let resource = event.resource();
        let row = |object: UpstreamObject| R::try_from(object.held).ok();
        let mut changes = Vec::new();
        let mut changed = |change: Change<'_, R>| changes.push(PartChange::of(resource, change));
        match event {
            UpstreamEvent::Apply(object) => {
                row(object).and_then(|row| self.insert(row)).into_iter().for_each(changed);
            }
            UpstreamEvent::Delete(_, name) => {
                self.remove(&name.namespace, &name.name).into_iter().for_each(changed);
            }
            UpstreamEvent::Replace(_, objects) => {
                self.replace_all(objects.into_iter().filter_map(row).collect(), &mut changed);
            }
        }
        changes
    }

    fn get(&self, name: &ObjectName) -> Option<HeldPart> {
        self.last_known().get(&name.namespace, &name.name).cloned().map(Into::into)
    }

    fn names(&self) -> Vec<ObjectName> {
        self.last_known().rows().iter().map(Named::object_name).collect()
    }
}

/// A row whose name is shared, not copied.
trait Named {
    fn object_name(&self) -> ObjectName;
}

impl Named for Arc<RawObject> {
    fn object_name(&self) -> ObjectName {
        self.name.clone()
    }
}

impl Named for Arc<HeldService> {
    fn object_name(&self) -> ObjectName {
        self.text.name.clone()
    }
}

impl Named for HeldNode {
    fn object_name(&self) -> ObjectName {
        ObjectName::new("", self.node.name.clone())
    }
}

impl Named for HeldPool {
    fn object_name(&self) -> ObjectName {
        ObjectName::new("", self.0.name.clone())
    }
}

impl PartChange {
    fn of<R: Named + Clone + Into<HeldPart>>(resource: Resource, change: Change<'_, R>) -> Self {
        let Change { before, after } = change;
        let name = before.as_ref().or(after).map(Named::object_name).unwrap_or_default();
        Self { resource, name, before: before.map(Into::into), after: after.cloned().map(Into::into) }
    }
}

impl HeldPart {
    /// The text; `None`: only a part of the object is held.
    pub(crate) fn text(&self) -> Option<&Arc<RawObject>> {
        match self {
            Self::Service(service) => Some(&service.text),
            Self::Text(text) => Some(text),
            Self::Node(node) => node.text.as_ref(),
            Self::Pool(_) => None,
        }
    }

    /// The labels of a node.
    pub(super) fn node_labels(&self) -> Option<&Labels> {
        if let Self::Node(held) = self { Some(&held.node.labels) } else { None }
    }

    /// The Service that a slice names.
    pub(super) fn service_of_slice(&self) -> Option<ObjectName> {
        let Self::Text(text) = self else { return None };
        service_of_slice(text)
    }
}

/// The Service of a slice, by its label.
pub(super) fn service_of_slice(slice: &RawObject) -> Option<ObjectName> {
    slice.service_key().map(|(namespace, service)| ObjectName::new(namespace, service))
}

impl HeldService {
    /// The Service with this text.
    pub(crate) fn new(text: RawObject) -> Self {
        Self { text: Arc::new(text), service: OnceLock::new() }
    }

    /// What a scheme reads of it. A Service that cannot be read has its annotations only.
    pub(super) fn service(&self) -> &Service {
        self.service.get_or_init(|| {
            let Service { kind, selector, .. } = serde_json::from_str(&self.text.text).unwrap_or_default();
            let ObjectName { namespace, name } = self.text.name.clone();
            let annotations = self.text.annotations.clone();
            let meta = ObjectMeta { name, namespace, annotations, ..ObjectMeta::default() };
            Service { meta, kind, selector, ..Service::default() }
        })
    }
}

/// The parts of the rows, and the rows of the parts.
macro_rules! parts {
    ($($row:ty: $part:ident;)*) => {$(
        impl From<$row> for HeldPart {
            fn from(row: $row) -> Self {
                Self::$part(row)
            }
        }

        impl TryFrom<HeldPart> for $row {
            type Error = HeldPart;

            fn try_from(part: HeldPart) -> Result<Self, HeldPart> {
                if let HeldPart::$part(row) = part { Ok(row) } else { Err(part) }
            }
        }
    )*};
}

parts! {
    Arc<HeldService>: Service;
    Arc<RawObject>: Text;
    HeldNode: Node;
    HeldPool: Pool;
}

impl Row for RawObject {
    fn namespace(&self) -> &str {
        &self.name.namespace
    }

    fn name(&self) -> &str {
        &self.name.name
    }

    /// The version is not a part of the text. The text that is held already is the one that clients are served.
    fn differs(&self, before: &Self) -> bool {
        self.text != before.text
    }
}

impl Row for HeldService {
    fn namespace(&self) -> &str {
        Row::namespace(&self.text)
    }

    fn name(&self) -> &str {
        Row::name(&self.text)
    }

    fn differs(&self, before: &Self) -> bool {
        self.text.differs(&before.text)
    }
}

impl Row for HeldNode {
    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.node.name
    }

    fn differs(&self, before: &Self) -> bool {
        let is_text_equal = match (&self.text, &before.text) {
            (Some(text), Some(before)) => !text.differs(before),
            (text, before) => text.is_none() && before.is_none(),
        };
        !is_text_equal || self.node.labels != before.node.labels
    }
}

impl Row for HeldPool {
    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.0.name
    }

    fn differs(&self, before: &Self) -> bool {
        self.0 != before.0
    }
}

impl SelectingService for HeldService {
    fn key(&self) -> (&Text, &Text) {
        (&self.text.name.namespace, &self.text.name.name)
    }

    fn selector(&self) -> Option<&Labels> {
        self.service().selector.as_ref()
    }
}

impl ServiceSlice for RawObject {
    fn service(&self) -> Option<(&Text, &Text)> {
        Some((&self.name.namespace, self.labels.get(names::SERVICE_NAME)?))
    }

    fn endpoint_count(&self) -> usize {
        RawObject::endpoint_count(self)
    }
}

impl Lookup<HeldNode> for Nodes {
    fn add(&mut self, held: &HeldNode) {
        self.insert(held.node.clone());
    }

    fn remove(&mut self, held: &HeldNode) {
        Self::remove(self, &held.node.name);
    }
}
