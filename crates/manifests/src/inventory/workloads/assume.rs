//! The pods of all workloads of an input.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, VecDeque},
    rc::Rc,
    sync::Arc,
};

use roster_engine::model::{Node, OwnerReference, Pod, Resource, Service, Text, defaults::ClusterFamilies};

use super::{
    addresses::Addresses,
    autoscaler::Autoscaler,
    nodes::{Placement, assumed_nodes},
    pods::{AssumedPod, Place, PodMaker},
    replicas::{NoPods, PodNumber},
    scheduling::{NodeKnowledge, PlacedBy, Scheduling},
    selecting_services::SelectingServices,
    workload::{Workload, WorkloadController},
};

/// Most pods that can be assumed: more would not have addresses of their own, and an input could ask for any number.
pub const MAX_PODS: usize = 100_000;

/// Most assumed pods that Services may have to choose from, counted for each Service: a few lines of a file can ask for
/// thousands of pods, and for thousands of Services that all select them.
const MAX_CANDIDATES: usize = 2_000_000;

/// Most labels of assumed pods: each pod has a copy of those of its template.
const MAX_LABELS: usize = 1 << 22;

/// Most comparisons of what workloads ask of their nodes with what nodes have.
const MAX_NODE_CHECKS: usize = 1 << 25;

/// The objects of an input that decide about assumed pods.
#[derive(Clone, Copy, Debug)]
pub struct KnownObjects<'a> {
    /// The workloads; of several with one name the last one counts.
    pub workloads: &'a [Workload],
    /// The Services, which may select their pods.
    pub services: &'a [Service],
    /// Their autoscalers.
    pub autoscalers: &'a [Autoscaler],
    /// The pods of the input.
    pub pods: &'a [Pod],
    /// The nodes of the input.
    pub nodes: &'a [Arc<Node>],
    /// The zones of the cluster, where the input has no nodes.
    pub zones: &'a [Text],
    /// The address families of the cluster.
    pub families: ClusterFamilies,
    /// Whether CronJobs have just started a run.
    pub due: bool,
    /// Most pods, up to [`MAX_PODS`].
    pub max_pods: usize,
}

/// The objects that are assumed.
#[derive(Clone, Debug, Default)]
pub struct AssumedObjects {
    /// The pods, in the order of their workloads.
    pub pods: Vec<AssumedPod>,
    /// The nodes, where the input has none and pods need one.
    pub nodes: Vec<Arc<Node>>,
    /// For each workload, by its place in the input, what became of it, sorted by namespace, kind and name.
    pub workloads: Vec<(usize, WorkloadPods)>,
}

/// The pods of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadPods {
    /// Its pods are in the input, or it comes from a cluster whose pods are.
    InInput,
    /// Another workload of the input makes it, or it makes other workloads of the input.
    OfAnother,
    /// This many pods are assumed.
    Assumed(u32),
    /// It makes none.
    None(NoPods),
    /// This many pods wait, because no node fits.
    Waiting(u32),
    /// This many pods wait until their scheduling gates are removed.
    Gated(u32),
    /// This many, which are more than are assumed.
    TooMany(u32),
}

impl WorkloadPods {
    /// Whether pods are assumed, which may wait.
    pub fn is_assumed(&self) -> bool {
        matches!(self, Self::Assumed(count) | Self::Waiting(count) | Self::Gated(count) if *count > 0)
    }

    /// Whether Helm runs the workload as a hook.
    pub fn is_hook(&self) -> bool {
        *self == Self::None(NoPods::Hook)
    }
}

/// The pods that controllers would make of the workloads of an input. Pods of the input replace those of their workload.
pub fn assume(known: &KnownObjects<'_>) -> AssumedObjects {
    let mut nodes = nodes_without_input(known);
    let mut pods = Vec::new();
    let mut maker = PodMaker {
        addresses: Addresses::new(known.families),
        numbers: HashMap::default(),
        names: known.pods.iter().map(|p| (p.namespace().clone(), p.name().clone())).collect(),
    };
    let workloads = outcomes_on(known, &nodes, |workload, places| maker.make(workload, places, &mut pods));
    if pods.is_empty() {
        nodes.clear();
    }
    AssumedObjects { pods, nodes, workloads }
}

/// What becomes of the workloads of an input, as [`assume`] says, without their pods.
pub fn outcomes(known: &KnownObjects<'_>) -> Vec<(usize, WorkloadPods)> {
    outcomes_on(known, &nodes_without_input(known), |_, _| {})
}

/// The nodes of an input that has none.
fn nodes_without_input(known: &KnownObjects<'_>) -> Vec<Arc<Node>> {
    if known.nodes.is_empty() { assumed_nodes(known.zones) } else { Vec::new() }
}

/// The places of the pods of one workload.
type Places<'p> = dyn Iterator<Item = Place<'p>> + 'p;

/// What becomes of each workload. `make` makes its pods.
fn outcomes_on(
    known: &KnownObjects<'_>,
    assumed_nodes: &[Arc<Node>],
    mut make: impl FnMut(&Workload, &mut Places<'_>),
) -> Vec<(usize, WorkloadPods)> {
    let given = GivenPods::of(known);
    let mut autoscalers: Vec<&Autoscaler> = known.autoscalers.iter().collect();
    // Stable: of several for one workload the last one counts.
    autoscalers.sort_by_key(|a| target_key(a));
    let placement = match known.nodes {
        [] => Placement::new(assumed_nodes, NodeKnowledge::Assumed),
        nodes => Placement::new(nodes, NodeKnowledge::Complete),
    };
    let (mut room, mut fitting) = (PodRoom::new(known), FittingNodes::new(&placement));
    let outcome = |place: usize| {
        let workload = &known.workloads[place];
        if given.replaces(workload) {
            return (place, WorkloadPods::InInput);
        }
        if given.makes_or_is_made(workload) {
            return (place, WorkloadPods::OfAnother);
        }
        let end = autoscalers.partition_point(|a| target_key(a) <= own_key(workload));
        let autoscaler = autoscalers[..end].last().copied().filter(|a| a.scales(workload));
        let number = workload.pod_number(autoscaler, known.due);
        (place, pods_of(workload, number, &mut fitting, &mut room, &mut make))
    };
    distinct(known.workloads).into_iter().map(outcome).collect()
}

/// How many pods may still be assumed.
struct PodRoom<'a> {
    pods: usize,
    /// The same, where a pod counts for each Service that may select it.
    candidates: usize,
    labels: usize,
    services: SelectingServices<'a>,
}

impl<'a> PodRoom<'a> {
    fn new(known: &KnownObjects<'a>) -> Self {
        let services = SelectingServices::new(known.services, known.workloads);
        Self { pods: known.max_pods.min(MAX_PODS), candidates: MAX_CANDIDATES, labels: MAX_LABELS, services }
    }

    /// Takes the room for a number of pods of a workload, if there is so much.
    fn take(&mut self, workload: &'a Workload, pods: usize) -> Option<()> {
        let candidates = pods.checked_mul(self.services.of(workload))?;
        let labels = pods.checked_mul(workload.template.labels.len())?;
        let left =
            (self.pods.checked_sub(pods)?, self.candidates.checked_sub(candidates)?, self.labels.checked_sub(labels)?);
        (self.pods, self.candidates, self.labels) = left;
        Some(())
    }
}

/// The nodes that fit each of the workloads. Many ask for the same, and any number of them may ask something of any number of
/// nodes.
struct FittingNodes<'p, 'a> {
    placement: &'p Placement<'a>,
    /// The last answers.
    known: VecDeque<(&'a Scheduling, PlacedBy, Rc<[&'a Node]>)>,
    /// The checks that are left.
    checks: usize,
}

impl<'p, 'a> FittingNodes<'p, 'a> {
    /// How many answers are kept.
    const KEPT: usize = 8;

    fn new(placement: &'p Placement<'a>) -> Self {
        Self { placement, known: VecDeque::new(), checks: MAX_NODE_CHECKS }
    }

    /// The nodes that fit; `None` if too many were compared before.
    fn of(&mut self, scheduling: &'a Scheduling, placed_by: PlacedBy) -> Option<Rc<[&'a Node]>> {
        let is_same = |(other, by, _): &&(&Scheduling, PlacedBy, _)| *by == placed_by && *other == scheduling;
        if let Some((.., nodes)) = self.known.iter().find(is_same) {
            return Some(nodes.clone());
        }
        self.checks = self.checks.checked_sub(self.placement.checks(scheduling))?;
        let nodes: Rc<[&Node]> = self.placement.fitting(scheduling, placed_by).into();
        self.known.truncate(Self::KEPT - 1);
        self.known.push_front((scheduling, placed_by, nodes.clone()));
        Some(nodes)
    }
}

/// What becomes of one workload.
fn pods_of<'a>(
    workload: &'a Workload,
    number: PodNumber,
    fitting: &mut FittingNodes<'_, 'a>,
    room: &mut PodRoom<'a>,
    make: &mut impl FnMut(&Workload, &mut Places<'_>),
) -> WorkloadPods {
    let scheduling = &workload.template.scheduling;
    let is_daemon = workload.controller == WorkloadController::DaemonSet;
    let placed_by = if is_daemon {
        PlacedBy::DaemonSet { host_network: workload.template.host_network }
    } else {
        PlacedBy::Scheduler
    };
    if let PodNumber::None(why) = number {
        return WorkloadPods::None(why);
    }
    let fitting = fitting.of(scheduling, placed_by);
    let count = fitting.as_ref().map_or(0, |nodes| nodes.len());
    let number = match number {
        PodNumber::Some(number) => number,
        _ => u32::try_from(count).unwrap_or(u32::MAX),
    };
    let Some(fitting) = fitting else { return WorkloadPods::TooMany(number) };
    let is_named = !is_daemon && !scheduling.node_name.is_empty();
    let is_gated = !scheduling.gates.is_empty();
    let is_never_ready = is_gated || workload.template.lost_probe.is_some() || (fitting.is_empty() && !is_named);
    let number = if workload.is_ordered() && is_never_ready { number.min(1) } else { number };
    let count = usize::try_from(number).unwrap_or(usize::MAX);
    if room.take(workload, count).is_none() {
        return WorkloadPods::TooMany(number);
    }
    let place = |i: usize| match &*fitting {
        _ if is_gated => Place::Unscheduled,
        [] if is_named => Place::Named(&scheduling.node_name),
        [] => Place::Unscheduled,
        nodes => Place::Node(nodes[i % nodes.len()]),
    };
    make(workload, &mut (0..count).map(place));
    if is_gated && number > 0 {
        return WorkloadPods::Gated(number);
    }
    let waits = number == 0 || matches!(place(0), Place::Unscheduled);
    if waits { WorkloadPods::Waiting(number) } else { WorkloadPods::Assumed(number) }
}

/// The places of the workloads, sorted by namespace, kind and name; of equal ones the last.
fn distinct(workloads: &[Workload]) -> Vec<usize> {
    let key = |place: usize| {
        let Workload { namespace, kind, name, api_version, .. } = &workloads[place];
        (namespace, kind, name, api_version)
    };
    let mut places: Vec<usize> = (0..workloads.len()).collect();
    places.sort_unstable_by_key(|place| (key(*place), Reverse(*place)));
    places.dedup_by_key(|place| key(*place));
    places
}

/// Namespace, and kind and name of an owner.
type OwnerKey<'a> = (&'a str, &'a str, &'a str);

/// Some keys, sorted.
struct OwnerKeys<'a>(Vec<OwnerKey<'a>>);

impl<'a> OwnerKeys<'a> {
    fn of(keys: impl Iterator<Item = OwnerKey<'a>>) -> Self {
        let mut this = Self(Vec::new());
        this.extend(keys.collect());
        this
    }

    fn extend(&mut self, mut more: Vec<OwnerKey<'a>>) {
        self.0.append(&mut more);
        self.0.sort_unstable();
        self.0.dedup();
    }

    fn contains(&self, key: &OwnerKey<'_>) -> bool {
        self.0.binary_search(key).is_ok()
    }
}

/// Which workloads have pods in the input, and which make each other.
struct GivenPods<'a> {
    /// The controllers of the pods, and the workloads of the input that made those.
    makers: OwnerKeys<'a>,
    /// The controllers of the pods with a hash in their names, without it.
    derived: OwnerKeys<'a>,
    /// Namespaces with pods that were in a cluster.
    namespaces: BTreeSet<&'a str>,
    /// All workloads.
    workloads: OwnerKeys<'a>,
    /// The controllers of the workloads.
    owners: OwnerKeys<'a>,
}

fn owner_key<'a>(namespace: &'a str, owner: &'a OwnerReference) -> OwnerKey<'a> {
    (namespace, &owner.kind, &owner.name)
}

fn target_key(autoscaler: &Autoscaler) -> OwnerKey<'_> {
    owner_key(&autoscaler.namespace, &autoscaler.target)
}

fn own_key(workload: &Workload) -> OwnerKey<'_> {
    (&workload.namespace, &workload.kind, &workload.name)
}

impl<'a> GivenPods<'a> {
    fn of(known: &KnownObjects<'a>) -> Self {
        let of_pod = |p: &'a Pod| Some(owner_key(p.namespace(), p.owner.as_deref()?));
        let of_workload = |w: &'a Workload| Some(owner_key(&w.namespace, w.owner.as_ref()?));
        let mut makers = OwnerKeys::of(known.pods.iter().filter_map(of_pod));
        let without_hash = |&(namespace, kind, name): &OwnerKey<'a>| {
            let (name, _) = name.rsplit_once('-')?;
            Some((namespace, kind, name))
        };
        let derived = OwnerKeys::of(makers.0.iter().filter_map(without_hash));
        // Of a pod, the ReplicaSet may be in the input, and of that the Deployment, and of that a custom resource.
        for _ in 0..2 {
            let made = known.workloads.iter().filter(|w| makers.contains(&own_key(w))).filter_map(of_workload);
            makers.extend(made.collect());
        }
        let was_in_cluster = known.pods.iter().filter(|p| !p.reference.uid.is_empty());
        Self {
            makers,
            derived,
            namespaces: was_in_cluster.map(|p| p.namespace().as_str()).collect(),
            workloads: OwnerKeys::of(known.workloads.iter().map(own_key)),
            owners: OwnerKeys::of(known.workloads.iter().filter_map(of_workload)),
        }
    }

    /// Whether the pods of the workload are in the input.
    fn replaces(&self, workload: &Workload) -> bool {
        let namespace = workload.namespace.as_str();
        // A workload of a cluster has no pods besides those that the cluster has.
        let is_of_cluster = !workload.uid.is_empty() && self.namespaces.contains(namespace);
        let derived = workload.derived_kind().map(|made| (namespace, made.kind(), workload.name.as_str()));
        is_of_cluster
            || self.makers.contains(&own_key(workload))
            || derived.is_some_and(|key| self.derived.contains(&key))
    }

    /// Whether another workload of the input makes the workload or its pods.
    fn makes_or_is_made(&self, workload: &Workload) -> bool {
        match workload.controller {
            // Nothing is known of how a custom resource makes other workloads; these have what it gave them.
            WorkloadController::Custom { .. } | WorkloadController::CronJob { .. } => {
                self.owners.contains(&own_key(workload))
            }
            // A Deployment says how many pods its ReplicaSets have together.
            WorkloadController::ReplicaSet { .. } => {
                let owner = workload.owner.as_ref().filter(|o| o.kind == Resource::Deployment.kind());
                owner.is_some_and(|o| self.workloads.contains(&owner_key(&workload.namespace, o)))
            }
            _ => false,
        }
    }
}

impl Workload {
    /// Whether its controller makes the pods of `owner`: this is the workload, or what it made under its name with a hash or a time.
    pub fn makes_pods_of(&self, owner: &OwnerReference) -> bool {
        let is_derived = |made: Resource| {
            let name = owner.name.rsplit_once('-').map(|(name, _)| name);
            made.kind() == owner.kind && name == Some(self.name.as_str())
        };
        self.is_owner(owner) || self.derived_kind().is_some_and(is_derived)
    }

    /// What its controller makes, to make pods in turn, with a name that ends with a hash or a time.
    fn derived_kind(&self) -> Option<Resource> {
        match self.controller {
            WorkloadController::Deployment { .. } | WorkloadController::Custom { .. } => Some(Resource::ReplicaSet),
            WorkloadController::CronJob { .. } => Some(Resource::Job),
            _ => None,
        }
    }
}
