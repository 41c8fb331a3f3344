//! The objects of an input in the order in which they were read, and the findings about the others.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use roster_engine::{
    model::{
        EndpointSlice, Endpoints, HashSeed, HeapSize, Node, NodePool, ObjectKey, Pod, Resource, Service, Text,
        defaults::{Assumptions, Defaults},
    },
    phrase::counted,
    reason::{Finding, Reason},
};
use roster_validation::is_refusal;

use super::{
    assumed_counts::AssumedPodCounts,
    custom_resources::CustomResources,
    findings::Findings,
    intern::Targets,
    routes::ServiceRoutes,
    workloads::{Autoscaler, UnreadObjects, Workload},
};

/// An object of any kind that Roster reads.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the variants are Kubernetes' kinds")]
#[expect(clippy::large_enum_variant, reason = "an object is moved once, into the list of its kind")]
pub enum AnyObject {
    Service(Service),
    Pod(Pod),
    Node(Node),
    Endpoints(Endpoints),
    EndpointSlice(EndpointSlice),
    Workload(Box<Workload>),
    Autoscaler(Autoscaler),
    NodePool(NodePool),
}

impl AnyObject {
    /// Kind, namespace and name.
    pub fn key(&self) -> ObjectKey {
        match self {
            Self::Service(o) => o.key(),
            Self::Pod(o) => o.key(),
            Self::Node(o) => ObjectKey::new("Node", &Text::default(), &o.name),
            Self::Endpoints(o) => o.key(),
            Self::EndpointSlice(o) => o.key(),
            Self::Workload(o) => o.key(),
            Self::Autoscaler(o) => ObjectKey::new(Resource::HorizontalPodAutoscaler.kind(), &o.namespace, &o.name),
            Self::NodePool(o) => ObjectKey::new("NodePool", &Text::default(), &o.name),
        }
    }

    /// Fills in what an API server would.
    pub fn fill_in(&mut self, defaults: &Defaults<'_>, assumed: &mut Assumptions) {
        match self {
            Self::Service(o) => defaults.fill_service(o, assumed),
            Self::Pod(o) => defaults.fill_pod(o, assumed),
            Self::Endpoints(o) => defaults.fill_endpoints(o, assumed),
            Self::EndpointSlice(o) => defaults.fill_slice(o, assumed),
            Self::Workload(o) => defaults.place(&mut o.namespace, assumed),
            Self::Autoscaler(o) => defaults.place(&mut o.namespace, assumed),
            Self::Node(_) | Self::NodePool(_) => {}
        }
    }

    /// Notes whether it is a hook of Helm, as `is_hook` says of its manifest. What comes from a cluster exists.
    pub fn note_hook(&mut self, is_hook: impl FnOnce() -> bool) {
        match self {
            Self::Pod(o) if o.reference.uid.is_empty() => o.is_hook = is_hook(),
            Self::Workload(o) if o.uid.is_empty() => o.is_hook = is_hook(),
            _ => {}
        }
    }

    /// The memory in bytes that it takes in an [`Inventory`] and in its index; `None` for kinds of which an input has few,
    /// where what was charged while they were read is near enough.
    pub fn memory(&self) -> Option<usize> {
        /// References in sorted lists, and in lists of what a selector may select.
        const INDEX: usize = size_of::<[usize; 8]>();
        // The lists of the parts of an input are there until they are joined.
        const fn listed<T>() -> usize {
            2 * size_of::<T>() + INDEX
        }
        Some(match self {
            Self::Service(o) => listed::<Service>() + o.heap_size(),
            Self::Pod(o) => listed::<Pod>() + o.heap_size(),
            Self::Node(o) => listed::<Node>() + o.heap_size(),
            Self::Endpoints(o) => listed::<Endpoints>() + o.heap_size(),
            Self::EndpointSlice(o) => listed::<EndpointSlice>() + o.heap_size(),
            Self::Workload(_) | Self::Autoscaler(_) | Self::NodePool(_) => return None,
        })
    }
}

/// Objects in the order in which they were read, and the findings about the others.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' kinds")]
pub struct Inventory {
    pub services: Vec<Service>,
    pub pods: Vec<Pod>,
    pub nodes: Vec<Arc<Node>>,
    pub endpoints: Vec<Endpoints>,
    pub slices: Vec<EndpointSlice>,
    pub workloads: Vec<Workload>,
    pub autoscalers: Vec<Autoscaler>,
    pub node_pools: Vec<NodePool>,
    /// Objects of other kinds of which a controller may make pods.
    pub custom_resources: CustomResources,
    /// What sends requests to Services.
    pub routes: ServiceRoutes,
    /// Objects that cannot be read.
    pub unread: UnreadObjects,
    /// The findings about the input.
    pub problems: Findings,
    /// Why an API server would refuse objects that were never in a cluster, though they can be read.
    pub refused: Findings,
    /// What was filled in.
    pub assumed: Assumptions,
    /// How many pods are assumed.
    pub assumed_pods: AssumedPodCounts,
    /// How many of the first objects a kustomization changes before they are applied.
    pub(super) unrendered: UnrenderedCounts,
    /// The places of the workloads whose pods are not assumed because there are too many.
    pub(super) unassumed: Vec<usize>,
    /// The references in the objects that were read, for those read later to share.
    targets: Arc<Targets>,
    /// The number of objects of each other kind.
    ignored: BTreeMap<Text, u64>,
    /// Namespaces and names of Services of which an object cannot be read.
    pub(super) unreadable: BTreeSet<(Text, Text)>,
}

/// How many objects of each kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnrenderedCounts {
    pub(super) services: usize,
    pub(super) pods: usize,
    pub(super) workloads: usize,
    pub(super) autoscalers: usize,
}

/// Most kinds that are counted by name; all others are counted together.
const MAX_IGNORED_KINDS: usize = 100;

impl Inventory {
    /// Adds an object.
    pub fn add(&mut self, object: AnyObject) {
        match object {
            AnyObject::Service(o) => self.services.push(o),
            AnyObject::Pod(o) => self.pods.push(o),
            AnyObject::Node(o) => self.nodes.push(o.into()),
            AnyObject::Endpoints(o) => self.endpoints.push(o),
            AnyObject::EndpointSlice(o) => self.slices.push(o),
            AnyObject::Workload(o) => self.workloads.push(*o),
            AnyObject::Autoscaler(o) => self.autoscalers.push(o),
            AnyObject::NodePool(o) => self.node_pools.push(o),
        }
    }

    /// The pods that were read; the assumed ones follow them.
    pub fn pods_of_input(&self) -> &[Pod] {
        &self.pods[..self.pods.len().saturating_sub(self.assumed_pods.pods)]
    }

    /// The nodes that were read; the assumed ones follow them.
    pub fn nodes_of_input(&self) -> &[Arc<Node>] {
        &self.nodes[..self.nodes.len().saturating_sub(self.assumed_pods.nodes)]
    }

    /// Notes that a kustomization changes all objects so far before they are applied: how they fit together is not known, nor
    /// what it gives them.
    pub fn set_unrendered(&mut self) {
        self.problems.retain(|f| !is_given_by_kustomize(f.code));
        self.refused.retain(|f| !is_given_by_kustomize(f.code));
        self.unrendered = UnrenderedCounts {
            services: self.services.len(),
            pods: self.pods.len(),
            workloads: self.workloads.len(),
            autoscalers: self.autoscalers.len(),
        };
    }

    /// Whether a kustomization changes one of the Services before it is applied.
    pub(super) fn is_unrendered(&self, service: &Service) -> bool {
        self.services[..self.unrendered.services.min(self.services.len())]
            .as_ptr_range()
            .contains(&std::ptr::from_ref(service))
    }

    /// Whether a kustomization changes any of them.
    pub(super) fn has_unrendered(&self) -> bool {
        self.unrendered.services > 0
    }

    /// Gives pods the labels that come from their nodes: when all objects are read, because a node may follow its pods.
    pub fn label_pods(&mut self, defaults: &Defaults<'_>) {
        let places: BTreeMap<&str, usize> = self.nodes.iter().map(|n| n.name.as_str()).zip(0..).collect();
        let node = |name: &str| places.get(name).map(|place| &*self.nodes[*place]);
        for pod in &mut self.pods {
            defaults.label_pod(pod, node, &mut self.assumed);
        }
    }

    /// Counts an object of a kind that Roster does not read.
    pub fn ignore(&mut self, kind: Text) {
        self.ignore_many(kind, 1);
    }

    /// Marks a Service of which an object cannot be read: itself, its Endpoints or a slice. What the controllers would do
    /// to it is unknown; above all, it was not deleted.
    pub fn cannot_read(&mut self, namespace: Text, service: Text) {
        self.unreadable.insert((namespace, service));
    }

    fn ignore_many(&mut self, kind: Text, count: u64) {
        let room = self.ignored.len() < MAX_IGNORED_KINDS || self.ignored.contains_key(&kind);
        *self.ignored.entry(if room { kind } else { Text::new_static("other kinds") }).or_default() += count;
    }

    /// Adds to the findings about the input which fields an API server does not have, and which values it does not store. What
    /// is missing of a Service is among them unless somebody who asks may have posted parts of objects.
    pub fn report_wrong_fields(&mut self, are_parts: bool) {
        let mut wrong = self.take_refused();
        let is_service = |f: &Finding| f.object.kind == Resource::Service.kind();
        wrong.retain(|f| f.code != Reason::MissingField || !are_parts && is_service(f));
        self.problems.merge(wrong);
    }

    /// Takes the findings about what an API server refuses, without those that there are already, which become errors.
    fn take_refused(&mut self) -> Findings {
        let mut refused = std::mem::take(&mut self.refused);
        let fields: HashSet<(&ObjectKey, &str), HashSeed> = refused.iter().map(|f| (&f.object, f.at())).collect();
        if fields.is_empty() {
            return refused;
        }
        self.problems.set_errors(|f| fields.contains(&(&f.object, f.at())));
        let known: HashSet<(&ObjectKey, &str), HashSeed> = self.problems.iter().map(|f| (&f.object, f.at())).collect();
        refused.retain(|f| !known.contains(&(&f.object, f.at())));
        refused
    }

    /// Adds to the findings about the input why an API server would refuse Services, whose answers must not look as if all were
    /// well, and how many other objects. Objects about which there is a finding already are not among them.
    pub fn report_refused_objects(&mut self) {
        let refused = self.take_refused();
        let known = self.problems.iter().filter(|f| is_refusal(f)).map(|f| &f.object);
        let mut seen: HashSet<&ObjectKey, HashSeed> = known.collect();
        let (services, others): (Vec<_>, Vec<_>) =
            refused.iter().partition(|f| f.object.kind == Resource::Service.kind());
        let others: Vec<&Finding> = others.into_iter().filter(|f| seen.insert(&f.object)).collect();
        let of_others = others.first().map(|first| {
            let objects = match others.len() {
                1 => first.object.to_string(),
                n => format!("{}; the first is {}", counted(n, "object"), first.object),
            };
            let at = first.pointer.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
            let message = format!("an API server would refuse {objects}: {at}{}", first.message);
            Finding::new(Reason::RefusedObjects, ObjectKey::default(), message)
        });
        let found: Vec<Finding> = services.into_iter().cloned().chain(of_others).collect();
        self.problems.extend(found);
    }

    /// Appends everything of `other`, for readers that read parts of one input.
    pub fn merge(&mut self, mut other: Self) {
        self.services.append(&mut other.services);
        self.pods.append(&mut other.pods);
        self.nodes.append(&mut other.nodes);
        self.endpoints.append(&mut other.endpoints);
        self.slices.append(&mut other.slices);
        self.workloads.append(&mut other.workloads);
        self.autoscalers.append(&mut other.autoscalers);
        self.node_pools.append(&mut other.node_pools);
        self.custom_resources.merge(other.custom_resources);
        self.routes.merge(other.routes);
        self.unread.merge(other.unread);
        self.problems.merge(other.problems);
        self.refused.merge(other.refused);
        self.assumed.merge(&other.assumed);
        for (kind, count) in other.ignored {
            self.ignore_many(kind, count);
        }
        // `append` would go through all of them, for each object that is read.
        self.unreadable.extend(other.unreadable);
    }

    /// An empty inventory, to be merged into this one. Objects of both share their references.
    #[must_use]
    pub fn sibling(&self) -> Self {
        Self { targets: self.targets(), ..Self::default() }
    }

    /// The references read so far, for an [`Interner`](super::Interner).
    pub fn targets(&self) -> Arc<Targets> {
        Arc::clone(&self.targets)
    }

    /// Moves everything into lists of the exact size. The capacity stays here.
    #[must_use]
    pub fn take_exact(&mut self) -> Self {
        Self {
            services: self.services.drain(..).collect(),
            pods: self.pods.drain(..).collect(),
            nodes: self.nodes.drain(..).collect(),
            endpoints: self.endpoints.drain(..).collect(),
            slices: self.slices.drain(..).collect(),
            workloads: self.workloads.drain(..).collect(),
            autoscalers: self.autoscalers.drain(..).collect(),
            node_pools: self.node_pools.drain(..).collect(),
            custom_resources: std::mem::take(&mut self.custom_resources),
            routes: std::mem::take(&mut self.routes),
            assumed_pods: std::mem::take(&mut self.assumed_pods),
            unrendered: std::mem::take(&mut self.unrendered),
            unassumed: std::mem::take(&mut self.unassumed),
            unread: std::mem::take(&mut self.unread),
            problems: std::mem::take(&mut self.problems),
            refused: std::mem::take(&mut self.refused),
            assumed: std::mem::take(&mut self.assumed),
            targets: Arc::clone(&self.targets),
            ignored: std::mem::take(&mut self.ignored),
            unreadable: std::mem::take(&mut self.unreadable),
        }
    }

    /// Reserves capacity for all objects of `parts`.
    pub fn reserve<'a>(&mut self, parts: impl Iterator<Item = &'a Self> + Clone) {
        self.services.reserve_exact(parts.clone().map(|p| p.services.len()).sum());
        self.pods.reserve_exact(parts.clone().map(|p| p.pods.len()).sum());
        self.nodes.reserve_exact(parts.clone().map(|p| p.nodes.len()).sum());
        self.endpoints.reserve_exact(parts.clone().map(|p| p.endpoints.len()).sum());
        self.slices.reserve_exact(parts.clone().map(|p| p.slices.len()).sum());
        self.workloads.reserve_exact(parts.map(|p| p.workloads.len()).sum());
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        let of_services = self.services.len() + self.endpoints.len() + self.slices.len();
        let of_workloads = self.workloads.len() + self.autoscalers.len();
        of_services + self.pods.len() + self.nodes.len() + of_workloads + self.node_pools.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A finding for each kind of default that was filled in, and one for all pods that are assumed.
    pub fn assumptions(&self) -> impl Iterator<Item = Finding> + '_ {
        let of_pods = self.assumed_pods.sentence();
        self.assumed.sentences().chain(of_pods).map(|(key, sentence)| Finding::new(Reason::Assumed, key, sentence))
    }

    /// A finding for each kind that is not read.
    pub(super) fn ignored_problems(&self) -> impl Iterator<Item = Finding> + '_ {
        self.ignored.iter().map(|(kind, &count)| {
            let (s, are) = if count == 1 { ("", "is") } else { ("s", "are") };
            let key = ObjectKey { kind: kind.clone(), ..ObjectKey::default() };
            Finding::new(Reason::IgnoredObject, key, format!("{count} object{s} of kind {kind} {are} not read"))
        })
    }
}

/// Whether a kustomization may give an object what it lacks: it adds fields and names.
pub fn is_given_by_kustomize(code: Reason) -> bool {
    matches!(code, Reason::MissingField | Reason::InvalidName)
}
