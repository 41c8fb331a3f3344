//! What the controllers would do to one Service: decide first, act last.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

use crate::{
    compat::{Minor, Profile},
    endpoints, endpointslice, mirror,
    model::{EndpointSlice, Endpoints, Nodes, ObjectKey, ObjectMeta, Pod, Service, Text, Time, names},
    reason::{Problem, Silent, Trace},
    select,
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

/// How to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// Which release to act like.
    pub compat: Minor,
    /// `--max-endpoints-per-slice` of kube-controller-manager, 1 to 1000; default 100.
    pub max_endpoints_per_slice: Option<Limit>,
    /// `--mirroring-max-endpoints-per-subset`, 1 to 1000. Default: as `maxEndpointsPerSlice` where that
    /// is given, else 1000, as kube-controller-manager has it.
    pub max_endpoints_per_subset: Option<Limit>,
}

impl Default for Options {
    fn default() -> Self {
        Self { compat: Minor::NEWEST, max_endpoints_per_slice: None, max_endpoints_per_subset: None }
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

/// All that is known of one Service. Borrowed: planning copies nothing it does not write.
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

/// What one sync needs beside the objects.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The release to act like.
    pub profile: &'static Profile,
    /// Which release that is.
    pub minor: Minor,
    /// Limit of a slice.
    pub per_slice: usize,
    /// Limit of a mirrored subset.
    pub per_subset: usize,
    /// When the change happened that leads to this sync; goes into the trigger-time annotation.
    pub trigger: Option<Time>,
}

impl Context {
    /// Sets the trigger-time annotation of what is written, or takes it away (`addTriggerTimeAnnotation`).
    pub(crate) fn set_trigger_time(&self, meta: &mut ObjectMeta) {
        match self.trigger {
            Some(time) => meta.annotations.insert(names::TRIGGER_TIME, time.rfc3339_nano()),
            None => {
                meta.annotations.remove(names::TRIGGER_TIME);
            }
        }
    }
}

/// What a controller did to the Endpoints object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EndpointsAction {
    /// Nothing.
    #[default]
    None,
    /// It creates this object.
    Create(Box<Endpoints>),
    /// It replaces the stored object.
    Update(Box<Endpoints>),
    /// It deletes the stored object.
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

/// What the controllers do to the slices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SliceChanges {
    /// New slices; they have a `generateName` and no name.
    pub create: Vec<EndpointSlice>,
    /// Slices as they replace the stored ones.
    pub update: Vec<EndpointSlice>,
    /// Names of slices that go.
    pub delete: Vec<Text>,
    /// Names of slices that stay as they are.
    pub unchanged: Vec<Text>,
}

impl SliceChanges {
    /// Whether nothing is written.
    pub fn is_noop(&self) -> bool {
        self.create.is_empty() && self.update.is_empty() && self.delete.is_empty()
    }

    fn append(&mut self, mut other: Self) {
        self.create.append(&mut other.create);
        self.update.append(&mut other.update);
        self.delete.append(&mut other.delete);
        self.unchanged.append(&mut other.unchanged);
    }
}

/// `Normal` or `Warning`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum EventType {
    /// All is well.
    Normal,
    /// Something is not.
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

/// What a sync says beside its writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Events, in order.
    pub events: Vec<Event>,
    /// What the reference controller would return, and retry.
    pub errors: Vec<String>,
    /// What a user should know.
    pub problems: Vec<Problem>,
}

/// What the controllers would do.
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
    /// What a user should know.
    pub problems: Vec<Problem>,
}

impl Plan {
    /// Whether nothing is written.
    pub fn is_noop(&self) -> bool {
        self.endpoints == EndpointsAction::None && self.endpoint_slices.is_noop()
    }

    /// The Endpoints object as it is once this plan for `state` is carried out; `None` if there is none then.
    pub fn desired_endpoints<'a>(&'a self, state: &State<'a>) -> Option<&'a Endpoints> {
        match &self.endpoints {
            EndpointsAction::None => state.endpoints,
            EndpointsAction::Create(written) | EndpointsAction::Update(written) => Some(written),
            EndpointsAction::Delete => None,
        }
    }

    /// The controllers' slices as they are once this plan for `state` is carried out: created, updated, and
    /// unchanged ones.
    pub fn desired_slices<'a>(&'a self, state: &State<'a>) -> Vec<&'a EndpointSlice> {
        let SliceChanges { create, update, unchanged, .. } = &self.endpoint_slices;
        // Sorted, because both lists may be long.
        let mut names: Vec<&Text> = unchanged.iter().collect();
        names.sort_unstable();
        // Names are unique in one namespace only.
        let namespace = state.service.map(|s| &s.meta.namespace).or(state.endpoints.map(|e| &e.meta.namespace));
        let stays = |s: &&&'a EndpointSlice| {
            namespace.is_none_or(|n| *n == s.meta.namespace) && names.binary_search(&&s.meta.name).is_ok()
        };
        create.iter().chain(update).chain(state.slices.iter().filter(stays).copied()).collect()
    }
}

/// What `controllers` would do to one Service.
pub fn plan(state: &State<'_>, controllers: &[Controller], options: &Options) -> Plan {
    plan_traced(state, controllers, options, &mut Silent)
}

/// [`plan`], with every decision written down. The index of a pod in a note is its place among
/// [`selected_pods`].
pub fn plan_traced(state: &State<'_>, controllers: &[Controller], options: &Options, trace: &mut impl Trace) -> Plan {
    let context = Context {
        profile: options.compat.profile(),
        minor: options.compat,
        per_slice: options.per_slice(),
        per_subset: options.per_subset(),
        // A controller that has not seen a Service before takes its creation for the change.
        trigger: state.service.and_then(|s| s.meta.creation_timestamp),
    };
    let pods = selected_pods(state);
    let mut report = Report::default();
    let mut plan = Plan::default();
    let wanted = |c| controllers.contains(&c);
    if wanted(Controller::Endpoints) {
        plan.endpoints = endpoints::sync(state, &pods, &context, &mut report, trace);
    }
    if wanted(Controller::EndpointSlices) {
        plan.endpoint_slices = endpointslice::sync(state, &pods, &context, &mut report, trace);
    }
    if wanted(Controller::Mirroring) {
        plan.endpoint_slices.append(mirror::sync(state, &context, &mut report));
    }
    Plan { events: report.events, errors: report.errors, problems: report.problems, ..plan }
}

/// The pods that the Service of `state` selects, in the order given.
pub fn selected_pods<'a>(state: &State<'a>) -> Vec<&'a Pod> {
    state.service.map(|s| select::selected(s, state.pods)).unwrap_or_default()
}

/// The state of one Service, and how to plan it: the body of `/v1/plan`, which `decode::request` reads.
#[derive(Clone, Debug, Default)]
// The tests of the core build without that reader.
#[cfg_attr(test, derive(Deserialize), serde(rename_all = "camelCase", default))]
pub struct PlanRequest {
    /// The Service; missing if it was deleted.
    pub service: Option<Service>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// Nodes.
    pub nodes: Nodes,
    /// The Endpoints that the cluster holds.
    pub endpoints: Option<Endpoints>,
    /// The slices that the cluster holds.
    pub endpoint_slices: Vec<EndpointSlice>,
    /// Whose work to plan; all three if not given.
    pub controllers: Option<Vec<Controller>>,
    /// How to decide.
    pub options: Options,
}

impl PlanRequest {
    /// What the controllers would do.
    pub fn plan(&self) -> Plan {
        self.with_state(|state, controllers| plan(state, controllers, &self.options))
    }

    /// Runs `f` on the state, borrowed.
    pub fn with_state<T>(&self, f: impl FnOnce(&State<'_>, &[Controller]) -> T) -> T {
        let pods: Vec<&Pod> = self.pods.iter().collect();
        let slices: Vec<&EndpointSlice> = self.endpoint_slices.iter().collect();
        let state = State {
            service: self.service.as_ref(),
            pods: &pods,
            nodes: &self.nodes,
            endpoints: self.endpoints.as_ref(),
            slices: &slices,
        };
        f(&state, self.controllers.as_deref().unwrap_or(&Controller::ALL))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_desired_is_what_is_stored_afterwards() {
        let meta = |name: &str, namespace: &str| json!({ "metadata": { "name": name, "namespace": namespace } });
        let state = json!({
            "service": meta("web", "shop"),
            "endpoints": meta("web", "shop"),
            "endpointSlices": [meta("web-1", "shop"), meta("web-2", "shop"), meta("web-3", "shop"), meta("web-1", "other")],
        });
        let request: PlanRequest = serde_json::from_value(state).unwrap();
        let written = |name: &str| Endpoints {
            meta: crate::model::ObjectMeta { name: name.into(), ..Default::default() },
            ..Default::default()
        };
        let slice = |name: &str| EndpointSlice {
            meta: crate::model::ObjectMeta { name: name.into(), ..Default::default() },
            ..Default::default()
        };
        for (action, want) in [
            (EndpointsAction::None, Some("web")),
            (EndpointsAction::Create(Box::new(written("new"))), Some("new")),
            (EndpointsAction::Update(Box::new(written("newer"))), Some("newer")),
            (EndpointsAction::Delete, None),
        ] {
            let endpoint_slices = SliceChanges {
                create: vec![slice("")],
                update: vec![slice("web-3")],
                delete: vec!["web-2".into()],
                unchanged: vec!["web-1".into()],
            };
            let plan = Plan { endpoints: action, endpoint_slices, ..Plan::default() };
            request.with_state(|state, _| {
                assert_eq!(plan.desired_endpoints(state).map(|e| e.meta.name.as_str()), want);
                let slices: Vec<_> = plan.desired_slices(state).into_iter().map(|s| s.meta.name.as_str()).collect();
                assert_eq!(slices, ["", "web-3", "web-1"]);
            });
        }
    }
}
