//! The input and the output of a plan: the state of one Service, the options, and what is written.
//!
//! Only types, so that the controllers, the dispatcher above them and all readers of a plan can share them.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

use crate::{
    model::{EndpointSlice, Endpoints, Nodes, ObjectKey, ObjectMeta, Pod, Service, Text, Time, names},
    profile::{Minor, Profile},
    reason::Finding,
};

/// One of the three controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// `endpoint-controller`: v1 Endpoints.
    Endpoints,
    /// `endpoint-slice-controller`: slices of Services with a selector.
    EndpointSlices,
    /// `endpoint-slice-mirroring-controller`: slices of hand-made Endpoints.
    Mirroring,
}

impl Controller {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Endpoints, Self::EndpointSlices, Self::Mirroring];
}

/// The options of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// The release to act like.
    pub compat: Minor,
    /// `--max-endpoints-per-slice` of kube-controller-manager, 1 to 1000; default 100.
    pub max_endpoints_per_slice: Option<Limit>,
    /// `--mirroring-max-endpoints-per-subset`, 1 to 1000. Default: as `maxEndpointsPerSlice` where that
    /// is given, else 1000, as kube-controller-manager has it.
    pub max_endpoints_per_subset: Option<Limit>,
    /// The change that leads to the sync. A request does not set it.
    #[serde(skip)]
    pub trigger: Trigger,
}

/// The change that leads to a sync, for the annotation `last-change-trigger-time` (upstream: `TriggerTimeTracker`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// The Service is new to the controller: its creation.
    #[default]
    Creation,
    /// A change at this time.
    At(Time),
    /// None that has a time: what is written has no annotation.
    Unknown,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            compat: Minor::NEWEST,
            max_endpoints_per_slice: None,
            max_endpoints_per_subset: None,
            trigger: Trigger::Creation,
        }
    }
}

impl Options {
    /// The limit of a slice.
    pub fn per_slice(&self) -> usize {
        self.max_endpoints_per_slice.map_or(100, |l| usize::from(l.0))
    }

    /// The limit of a mirrored subset.
    pub fn per_subset(&self) -> usize {
        self.max_endpoints_per_subset.or(self.max_endpoints_per_slice).map_or(1000, |l| usize::from(l.0))
    }
}

/// A number of endpoints from 1 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limit(u16);

impl Limit {
    /// `n`, if it is from 1 to 1000.
    pub fn new(n: i64) -> Option<Self> {
        u16::try_from(n).ok().filter(|n| (1..=1000).contains(n)).map(Self)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let n = i64::deserialize(d)?;
        Self::new(n).ok_or_else(|| serde::de::Error::custom(format_args!("{n} is not from 1 to 1000")))
    }
}

/// The state of one Service, borrowed: planning copies only what it writes.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// The Service; `None` if it was deleted.
    pub service: Option<&'a Service>,
    /// Pods; at least those that the Service may select.
    pub pods: &'a [&'a Pod],
    /// All nodes of the cluster.
    pub nodes: &'a Nodes,
    /// The Endpoints object of the Service's name.
    pub endpoints: Option<&'a Endpoints>,
    /// Slices; at least those of the Service.
    pub slices: &'a [&'a EndpointSlice],
}

/// What one sync needs besides the objects.
#[derive(Clone, Copy, Debug)]
pub struct SyncContext {
    /// The release to act like.
    pub profile: &'static Profile,
    /// The name of that release.
    pub minor: Minor,
    /// Limit of a slice.
    pub per_slice: usize,
    /// Limit of a mirrored subset.
    pub per_subset: usize,
    /// The time of the change that leads to this sync, for the trigger-time annotation.
    pub trigger: Option<Time>,
}

/// The input of one sync of a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncInput<'a> {
    /// The state of the Service.
    pub(crate) state: &'a State<'a>,
    /// The pods that the Service selects.
    pub(crate) pods: &'a [&'a Pod],
    /// Release, limits and trigger time.
    pub(crate) context: &'a SyncContext,
}

impl SyncContext {
    /// Sets the trigger-time annotation, or removes it (`addTriggerTimeAnnotation`).
    pub(crate) fn set_trigger_time(&self, meta: &mut ObjectMeta) {
        match self.trigger {
            Some(time) => meta.annotations.insert(names::TRIGGER_TIME, time.rfc3339_nano()),
            None => {
                meta.annotations.remove(names::TRIGGER_TIME);
            }
        }
    }
}

/// What happens to the Endpoints object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EndpointsAction {
    /// Nothing.
    #[default]
    None,
    /// It is created.
    Create(Box<Endpoints>),
    /// It replaces the stored one.
    Update(Box<Endpoints>),
    /// It is deleted.
    Delete,
}

impl EndpointsAction {
    /// `create`, `update`, `delete` or `none`.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Create(_) => "create",
            Self::Update(_) => "update",
            Self::Delete => "delete",
        }
    }

    /// The object that is written.
    pub fn object(&self) -> Option<&Endpoints> {
        match self {
            Self::Create(e) | Self::Update(e) => Some(e),
            Self::None | Self::Delete => None,
        }
    }
}

impl Serialize for EndpointsAction {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("EndpointsAction", 2)?;
        out.serialize_field("action", self.verb())?;
        out.serialize_field("object", &self.object())?;
        out.end()
    }
}

/// What happens to the slices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SliceChanges {
    /// New slices; they have a `generateName` and no name.
    pub create: Vec<EndpointSlice>,
    /// Slices that replace the stored ones.
    pub update: Vec<EndpointSlice>,
    /// Names of slices that are deleted.
    pub delete: Vec<Text>,
    /// Names of slices that stay as they are.
    pub unchanged: Vec<Text>,
}

impl SliceChanges {
    /// Whether nothing is written.
    pub fn is_noop(&self) -> bool {
        self.create.is_empty() && self.update.is_empty() && self.delete.is_empty()
    }

    /// Adds the changes of another controller.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.create.append(&mut other.create);
        self.update.append(&mut other.update);
        self.delete.append(&mut other.delete);
        self.unchanged.append(&mut other.unchanged);
    }
}

/// `Normal` or `Warning`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum EventType {
    /// For information.
    Normal,
    /// Something failed.
    Warning,
}

/// An event that a controller emits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Type.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// Reason, such as `TopologyAwareHintsEnabled`.
    pub reason: &'static str,
    /// Text.
    pub message: String,
    /// The object it is about.
    pub object: ObjectKey,
}

/// What a sync reports besides its writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Events, in order.
    pub events: Vec<Event>,
    /// Errors that the controller would return, and retry.
    pub errors: Vec<String>,
    /// Findings.
    pub problems: Vec<Finding>,
}

/// A plan: what the controllers would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The v1 Endpoints object.
    pub endpoints: EndpointsAction,
    /// The slices.
    pub endpoint_slices: SliceChanges,
    /// Events.
    pub events: Vec<Event>,
    /// Errors that a controller would return, and retry.
    pub errors: Vec<String>,
    /// Findings.
    pub problems: Vec<Finding>,
}

impl Plan {
    /// Whether nothing is written.
    pub fn is_noop(&self) -> bool {
        self.endpoints == EndpointsAction::None && self.endpoint_slices.is_noop()
    }

    /// The Endpoints object after this plan for `state` is carried out; `None` if there is none.
    pub fn desired_endpoints<'a>(&'a self, state: &State<'a>) -> Option<&'a Endpoints> {
        match &self.endpoints {
            EndpointsAction::None => state.endpoints,
            EndpointsAction::Create(written) | EndpointsAction::Update(written) => Some(written),
            EndpointsAction::Delete => None,
        }
    }

    /// The slices of the controllers after this plan for `state` is carried out: created, updated and unchanged ones.
    pub fn desired_slices<'a>(&'a self, state: &State<'a>) -> Vec<&'a EndpointSlice> {
        let SliceChanges { create, update, unchanged, .. } = &self.endpoint_slices;
        // Sorted, because both lists may be long.
        let mut names: Vec<&Text> = unchanged.iter().collect();
        names.sort_unstable();
        // Names are unique within a namespace only.
        let namespace = state.service.map(|s| &s.meta.namespace).or(state.endpoints.map(|e| &e.meta.namespace));
        let stays = |s: &&&'a EndpointSlice| {
            namespace.is_none_or(|n| *n == s.meta.namespace) && names.binary_search(&&s.meta.name).is_ok()
        };
        create.iter().chain(update).chain(state.slices.iter().filter(stays).copied()).collect()
    }
}
