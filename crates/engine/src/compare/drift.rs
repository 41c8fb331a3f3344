//! How what clients are served differs from what they should be served, endpoint by endpoint.
//!
//! Addresses, ports, conditions and hints count. How they are packed into slices does not, nor do labels and other metadata:
//! no client reads them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::difference::{endpoints_ports, slice_ports, target};
use crate::{
    model::{Endpoint, EndpointSlice, Endpoints, HintName, Text, names},
    state::{Controller, EndpointsAction, Plan, State},
};

/// In what way something differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DriftClass {
    /// An address is served that should not be, or not in this state.
    StaleAddress,
    /// A pod is ready, and its address is not served as ready.
    ReadyPodMissing,
    /// The Endpoints hold as many addresses as they may, and do not follow their pods.
    FrozenAtLimit,
    /// An endpoint is in several slices of one controller.
    DuplicateSlices,
    /// An endpoint has other hints than it should.
    WrongHint,
    /// The object serves nothing that exists.
    Orphan,
}

/// The list that clients read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PublishedList {
    /// The Endpoints object.
    Endpoints,
    /// The slices of a controller, together.
    #[serde(rename = "EndpointSlice")]
    Slices,
}

/// One difference. Equal ones at two times are the same difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Drift {
    /// In what way.
    pub class: DriftClass,
    /// Where.
    pub list: PublishedList,
    /// The address; the name of the object, if the object is an orphan.
    pub what: Text,
    /// The name of the pod, if it has one.
    pub pod: Text,
    /// The ports, such as `http 8080/TCP`.
    pub ports: Text,
}

impl std::fmt::Display for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        if !self.pod.is_empty() {
            write!(f, " ({})", self.pod)?;
        }
        Ok(())
    }
}

/// The differences between what is stored in `state` and what `plan`, the plan of `controllers` for it, makes of it: sorted, each
/// once.
pub fn drift(state: &State<'_>, plan: &Plan, controllers: &[Controller]) -> Vec<Drift> {
    let mut all = Vec::new();
    in_endpoints(state, plan, &mut all);
    for slice in orphaned_slices(state, controllers) {
        all.push(orphan(PublishedList::Slices, &slice.meta.name));
    }
    if state.service.is_some() && !plan.endpoint_slices.is_noop() {
        in_slices(state, plan, names::SLICE_CONTROLLER, &mut all);
        in_slices(state, plan, names::MIRROR_CONTROLLER, &mut all);
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn orphan(list: PublishedList, name: &Text) -> Drift {
    Drift { class: DriftClass::Orphan, list, what: name.clone(), pod: Text::default(), ports: Text::default() }
}

/// The slices of a controller whose Service is gone, or that mirror what is gone.
///
/// The reference leaves the first ones to the garbage collector.
pub fn orphaned_slices<'a>(
    state: &State<'a>,
    controllers: &[Controller],
) -> impl Iterator<Item = &'a EndpointSlice> + use<'a> {
    let [slices, mirroring] = [Controller::EndpointSlices, Controller::Mirroring].map(|c| controllers.contains(&c));
    let mirrors = is_mirrored(state);
    let has_service = state.service.is_some();
    state.slices.iter().copied().filter(|slice| !slice.meta.deleting()).filter(move |slice| {
        match slice.managed_by().map(Text::as_str) {
            Some(names::SLICE_CONTROLLER) => slices && !has_service,
            Some(names::MIRROR_CONTROLLER) => mirroring && !mirrors,
            _ => false,
        }
    })
}

fn is_mirrored(state: &State<'_>) -> bool {
    state.endpoints.is_some() && state.service.is_some_and(|service| service.selector.is_none())
}

fn in_endpoints(state: &State<'_>, plan: &Plan, all: &mut Vec<Drift>) {
    let none = Endpoints::default();
    let (stored, desired) = match (&plan.endpoints, state.endpoints) {
        (EndpointsAction::Delete, Some(stored)) => {
            return all.push(orphan(PublishedList::Endpoints, &stored.meta.name));
        }
        (EndpointsAction::None | EndpointsAction::Delete, _) => return,
        (EndpointsAction::Create(desired), _) => (&none, desired),
        (EndpointsAction::Update(desired), stored) => (stored.unwrap_or(&none), desired),
    };
    let ports = [endpoints_ports(stored), endpoints_ports(desired)];
    let [stored_entries, desired_entries] = [(stored, &ports[0]), (&**desired, &ports[1])].map(|(object, ports)| {
        let mut entries = Entries::default();
        for (subset, ports) in object.subsets.iter().zip(ports) {
            for (list, ready) in [(&subset.addresses, true), (&subset.not_ready_addresses, false)] {
                for address in list {
                    let who = (address.ip.as_str(), target(address.target_ref.as_deref()), ports.as_str());
                    entries.entry(who).or_default().push(Served { ready, ..Served::default() });
                }
            }
        }
        entries
    });
    let before = all.len();
    differences(PublishedList::Endpoints, stored_entries, &desired_entries, all);
    if stored.meta.annotations.contains_key(names::OVER_CAPACITY) {
        all[before..].iter_mut().for_each(|drift| drift.class = DriftClass::FrozenAtLimit);
    }
}

fn in_slices(state: &State<'_>, plan: &Plan, controller: &str, all: &mut Vec<Drift>) {
    // What mirrors nothing is an orphan.
    if controller == names::MIRROR_CONTROLLER && !is_mirrored(state) {
        return;
    }
    let is_its_own = |slice: &&EndpointSlice| slice.managed_by().is_some_and(|by| by == controller);
    let changes = &plan.endpoint_slices;
    let updated = changes.update.iter().map(|slice| &slice.meta.name);
    let mut planned: Vec<&Text> = updated.chain(&changes.delete).chain(&changes.unchanged).collect();
    planned.sort_unstable();
    let stored = state.slices.iter().copied().filter(is_its_own).filter(|slice| !slice.meta.deleting());
    let stored: Vec<&EndpointSlice> = stored.filter(|s| planned.binary_search(&&s.meta.name).is_ok()).collect();
    let desired: Vec<&EndpointSlice> = plan.desired_slices(state).into_iter().filter(is_its_own).collect();
    let ports = |slices: &[&EndpointSlice]| slices.iter().map(|slice| slice_ports(slice)).collect::<Vec<_>>();
    let (before, after) = (ports(&stored), ports(&desired));
    differences(PublishedList::Slices, slice_entries(&stored, &before), &slice_entries(&desired, &after), all);
}

/// An endpoint by its address, its pod and its ports, with each state in which it is listed.
type Entries<'a> = BTreeMap<(&'a str, &'a str, &'a str), Vec<Served<'a>>>;

/// How an endpoint is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Served<'a> {
    ready: bool,
    serving: bool,
    terminating: bool,
    zones: &'a [HintName],
    nodes: &'a [HintName],
}

impl<'a> Served<'a> {
    /// What consumers take unknown conditions for.
    fn of(endpoint: &'a Endpoint) -> Self {
        let hints = endpoint.hints.as_deref();
        Self {
            ready: endpoint.ready(),
            serving: endpoint.conditions.serving.unwrap_or(endpoint.ready()),
            terminating: endpoint.conditions.terminating == Some(true),
            zones: hints.map_or(&[], |hints| &hints.for_zones),
            nodes: hints.map_or(&[], |hints| &hints.for_nodes),
        }
    }

    fn conditions(&self) -> (bool, bool, bool) {
        (self.ready, self.serving, self.terminating)
    }
}

fn slice_entries<'a>(slices: &[&'a EndpointSlice], ports: &'a [String]) -> Entries<'a> {
    let mut all = Entries::default();
    for (slice, ports) in slices.iter().zip(ports) {
        for endpoint in &slice.endpoints {
            for address in &endpoint.addresses {
                let who = (address.as_str(), target(endpoint.target_ref.as_deref()), ports.as_str());
                all.entry(who).or_default().push(Served::of(endpoint));
            }
        }
    }
    all
}

fn differences(list: PublishedList, stored: Entries<'_>, desired: &Entries<'_>, all: &mut Vec<Drift>) {
    let mut add = |class, (what, pod, ports): &(&str, &str, &str)| {
        all.push(Drift { class, list, what: (*what).into(), pod: (*pod).into(), ports: (*ports).into() });
    };
    for (who, wanted) in desired {
        // Nobody misses an endpoint that is not ready.
        if !stored.contains_key(who) && wanted.iter().any(|served| served.ready) {
            add(DriftClass::ReadyPodMissing, who);
        }
    }
    for (who, mut served) in stored {
        let Some(wanted) = desired.get(&who) else {
            add(DriftClass::StaleAddress, &who);
            continue;
        };
        let mut wanted = wanted.clone();
        served.sort_unstable();
        wanted.sort_unstable();
        if served == wanted {
            continue;
        }
        let ready = |all: &[Served<'_>]| all.iter().any(|served| served.ready);
        if !ready(&served) && ready(&wanted) {
            add(DriftClass::ReadyPodMissing, &who);
        } else if served.len() > wanted.len() {
            add(DriftClass::DuplicateSlices, &who);
        } else if served.iter().map(Served::conditions).ne(wanted.iter().map(Served::conditions)) {
            add(DriftClass::StaleAddress, &who);
        } else {
            add(DriftClass::WrongHint, &who);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{model::builders, plan::PlanRequest};

    /// A name, a state, what is changed in it, and what is found.
    type Case<'a> = (&'a str, Value, Vec<(String, Value)>, &'a [&'a str]);

    /// Two ready pods, one pod that is not ready, and what the controllers have stored for them.
    fn stored() -> Value {
        let pod = |i: usize| {
            let pod = builders::pod(&format!("web-{i}")).labels(json!({ "app": "web" })).node("n");
            let pod = pod.ip(&format!("10.0.0.{i}"));
            json!(if i < 3 { pod.ready() } else { pod.not_ready() })
        };
        let mut state = json!({
            "service": builders::service("web").selector(json!({ "app": "web" })).port("http", 80, 8080),
            "pods": [pod(1), pod(2), pod(3)],
            "nodes": [builders::node("n")],
        });
        store(&mut state);
        state
    }

    /// What the plan writes is stored.
    fn store(state: &mut Value) {
        let plan = serde_json::from_value::<PlanRequest>(state.clone()).unwrap().plan();
        if let Some(endpoints) = plan.endpoints.object() {
            state["endpoints"] = json!(endpoints);
            state["endpoints"]["metadata"]["resourceVersion"] = json!("7");
        }
        state["endpointSlices"] = json!(plan.endpoint_slices.create);
        state["endpointSlices"][0]["metadata"]["name"] = json!("web-1");
    }

    fn mirrored() -> Value {
        let mut state = stored();
        state["service"]["spec"]["selector"] = Value::Null;
        state["endpoints"]["metadata"]["labels"] = Value::Null;
        state["endpoints"]["metadata"]["uid"] = json!("e");
        store(&mut state);
        state
    }

    fn found(state: &Value) -> Vec<String> {
        let request: PlanRequest = serde_json::from_value(state.clone()).unwrap();
        let plan = request.plan();
        let found = request.with_state(|state, controllers| drift(state, &plan, controllers));
        found.iter().map(|drift| format!("{:?} {:?} {drift} {}", drift.class, drift.list, drift.ports)).collect()
    }

    #[test]
    fn each_difference_has_its_class() {
        let limit = json!({ names::OVER_CAPACITY: "truncated" });
        let mut copy = stored()["endpointSlices"][0].clone();
        copy["metadata"]["name"] = json!("web-2");
        let slice = |field: &str| format!("/endpointSlices/0/endpoints/{field}");
        let cases: Vec<Case<'_>> = vec![
            ("nothing differs", stored(), vec![], &[]),
            ("labels do not count", stored(), vec![("/endpointSlices/0/metadata/labels/x".into(), json!("y"))], &[]),
            (
                "a pod has ended",
                stored(),
                vec![("/pods/0/status/phase".into(), json!("Failed"))],
                &[
                    "StaleAddress Endpoints 10.0.0.1 (web-1) http 8080/TCP",
                    "StaleAddress Slices 10.0.0.1 (web-1) http 8080/TCP",
                ],
            ),
            (
                "a pod is not ready any more",
                stored(),
                vec![("/pods/0/status/conditions/0/status".into(), json!("False"))],
                &[
                    "StaleAddress Endpoints 10.0.0.1 (web-1) http 8080/TCP",
                    "StaleAddress Slices 10.0.0.1 (web-1) http 8080/TCP",
                ],
            ),
            (
                "a pod became ready",
                stored(),
                vec![("/pods/2/status/conditions/0/status".into(), json!("True"))],
                &[
                    "ReadyPodMissing Endpoints 10.0.0.3 (web-3) http 8080/TCP",
                    "ReadyPodMissing Slices 10.0.0.3 (web-3) http 8080/TCP",
                ],
            ),
            (
                "at the limit",
                stored(),
                vec![
                    ("/pods/2/status/conditions/0/status".into(), json!("True")),
                    ("/endpoints/metadata/annotations".into(), limit),
                ],
                &[
                    "ReadyPodMissing Slices 10.0.0.3 (web-3) http 8080/TCP",
                    "FrozenAtLimit Endpoints 10.0.0.3 (web-3) http 8080/TCP",
                ],
            ),
            (
                "a hint",
                stored(),
                vec![(slice("1/hints"), json!({ "forZones": [{ "name": "z" }] }))],
                &["WrongHint Slices 10.0.0.2 (web-2) http 8080/TCP"],
            ),
            (
                "the pod that is not ready is not listed",
                stored(),
                vec![(slice("2"), Value::Null), ("/pods/2/status/conditions/0/status".into(), json!("False"))],
                &[],
            ),
            (
                "two slices",
                stored(),
                vec![("/endpointSlices/1".into(), copy)],
                &[
                    "DuplicateSlices Slices 10.0.0.1 (web-1) http 8080/TCP",
                    "DuplicateSlices Slices 10.0.0.2 (web-2) http 8080/TCP",
                    "DuplicateSlices Slices 10.0.0.3 (web-3) http 8080/TCP",
                ],
            ),
            (
                "no Service",
                stored(),
                vec![("/service".into(), Value::Null)],
                &["Orphan Endpoints web ", "Orphan Slices web-1 "],
            ),
            ("mirrored", mirrored(), vec![], &[]),
            (
                "not mirrored",
                mirrored(),
                vec![("/endpoints/subsets/0/addresses/0/ip".into(), json!("10.0.0.9"))],
                &[
                    "StaleAddress Slices 10.0.0.1 (web-1) http 8080/TCP",
                    "ReadyPodMissing Slices 10.0.0.9 (web-1) http 8080/TCP",
                ],
            ),
            ("mirrors what is gone", mirrored(), vec![("/endpoints".into(), Value::Null)], &["Orphan Slices web-1 "]),
        ];
        for (name, mut state, edits, want) in cases {
            for (pointer, value) in edits {
                set(&mut state, &pointer, value);
            }
            assert_eq!(found(&state), want, "{name}");
        }
    }

    /// Sets a field that may not be there, appends an element, or takes an element away.
    fn set(state: &mut Value, pointer: &str, value: Value) {
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        match state.pointer_mut(parent).unwrap() {
            Value::Array(list) => {
                let at: usize = last.parse().unwrap();
                if value.is_null() {
                    list.remove(at);
                } else if at == list.len() {
                    list.push(value);
                } else {
                    list[at] = value;
                }
            }
            fields => fields[last] = value,
        }
    }
}
