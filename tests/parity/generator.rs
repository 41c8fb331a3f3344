//! Random states: a Service, its pods and nodes, and what the cluster holds already.
//!
//! A state is a JSON case of the same shape as the recorded ones. About half of them hold objects that
//! the controller itself wrote for an earlier state, most of those edited by a foreign hand; a `Story`
//! is such a state on its way: ask the reference what it writes now, `advance` with its answer, repeat.

mod change;
mod endpoints;
mod pods;
mod service;
mod stored;

use serde_json::{Value, json};

use super::rng::Rng;

pub(crate) const NAMESPACE: &str = "ns";

/// What kind of state this is going to be. A state in which everything is odd at once exercises little:
/// the odd branch that comes first hides the others.
#[derive(Clone, Copy)]
pub(crate) struct Mood {
    /// How often, in percent, each single thing takes an odd form.
    pub(crate) odd: u32,
    /// Every node has a zone and CPUs, most Services ask for hints, most pods are ready.
    pub(crate) zones: bool,
    /// Many pods of few port sets over small slices.
    pub(crate) packing: bool,
    /// Container ports have the same numbers in every pod, hence one port set.
    pub(crate) uniform: bool,
    pub(crate) pods: (usize, usize),
}

const PLAIN: Mood = Mood { odd: 1, zones: false, packing: false, uniform: true, pods: (0, 8) };
const ODD: Mood = Mood { odd: 14, zones: false, packing: false, uniform: false, pods: (0, 12) };
const MIXED: Mood = Mood { odd: 5, zones: false, packing: false, uniform: false, pods: (1, 25) };
const ZONES: Mood = Mood { odd: 1, zones: true, packing: false, uniform: true, pods: (1, 22) };
const PACKING: Mood = Mood { odd: 1, zones: false, packing: true, uniform: true, pods: (3, 40) };
const BIG: Mood = Mood { odd: 0, zones: false, packing: false, uniform: false, pods: (999, 2300) };

/// A state in the making.
pub(crate) struct Story {
    pub(crate) case: Value,
    /// How many times the reference is still to write before the state is the one to compare.
    pub(crate) rounds: usize,
    /// The order in which the reference goes through maps when it writes next.
    order: u64,
    rng: Rng,
    mood: Mood,
}

impl Story {
    pub(crate) fn start(seed: u64, index: u64) -> Self {
        let mut r = Rng::new(seed, index);
        let controller = r.weighted(&[(30, "endpoints"), (48, "endpointslices"), (22, "mirroring")]);
        let mut mood = r.weighted(&[(25, PLAIN), (25, ODD), (20, MIXED), (14, ZONES), (16, PACKING)]);
        if r.per_mille(2) {
            mood = BIG;
        }
        let rounds = r.weighted(&[(42, 0), (42, 1), (16, 2)]);
        let mut case = state(&mut r, &mood, controller);
        case["id"] = format!("{seed}-{index}").into();
        // Another one for each state and round; 0 would be the sorted one.
        let order = 1 + 4 * index;
        let mut story = Self { case, rounds, order, rng: r, mood };
        if rounds == 0 {
            story.settle();
        }
        story
    }

    /// The case as text, with a request to go through maps in an order of its own: what is stored then is not always
    /// sorted, as in a cluster.
    pub(crate) fn in_some_order(&self) -> String {
        let mut case = self.case.clone();
        case["order"] = self.order.into();
        case.to_string()
    }

    /// Puts what the reference wrote into the cluster, and lets time pass: pods come and go, the
    /// Service is edited, someone edits the written objects.
    pub(crate) fn advance(&mut self, answer: &Value) {
        stored::apply(&mut self.rng, &mut self.case, answer);
        self.rounds -= 1;
        self.order += 1;
        let r = &mut self.rng;
        if !r.percent(15) {
            change::state(r, &self.mood, &mut self.case);
        }
        if self.rounds == 0 {
            self.settle();
        }
    }

    /// The last touches before the state is compared.
    fn settle(&mut self) {
        let r = &mut self.rng;
        set(&mut self.case, "generation", Value::Null); // how many pods came so far; no part of a state
        if r.percent(9) {
            stored::invent(r, &self.mood, &mut self.case);
        }
        let holds = self.case.get("endpoints").is_some() || self.case.get("endpointSlices").is_some();
        if holds && r.percent(55) {
            stored::edit(r, &mut self.case);
        }
        // A Service that is gone is known by what it left behind.
        let known = if self.case["controller"] == "mirroring" { r.percent(5) } else { holds && r.percent(3) };
        if known && (self.case.get("endpoints").is_some() || self.case["endpointSlices"][0].is_object()) {
            self.case.as_object_mut().unwrap().remove("service");
        }
    }
}

fn state(r: &mut Rng, m: &Mood, controller: &str) -> Value {
    let service = service::service(r, m, controller);
    let mut case = json!({ "controller": controller });
    match controller {
        "endpoints" => case["pods"] = pods::pods(r, m, &service).into(),
        "endpointslices" => {
            let nodes = pods::nodes(r, m);
            case["pods"] = pods::pods(r, m, &service).into();
            case["nodes"] = nodes.into();
            case["maxEndpointsPerSlice"] = max_per_slice(r, m).into();
        }
        _ => {
            case["endpoints"] = endpoints::unmanaged(r, m, &service);
            case["maxEndpointsPerSlice"] =
                r.weighted(&[(20, 1000), (20, 100), (15, 1), (15, 2), (15, 3), (15, 6)]).into();
        }
    }
    case["service"] = service;
    case
}

pub(crate) fn max_per_slice(r: &mut Rng, m: &Mood) -> usize {
    if m.packing {
        return r.between(2, 9);
    }
    r.weighted(&[(25, 100), (15, 3), (12, 2), (10, 1), (10, 4), (10, 5), (10, 10), (8, 1000)])
}

/// Sets a field and forgets it when the value is null, as an API server would print it.
pub(crate) fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    let value = value.into();
    if value.is_null() {
        if let Some(map) = object.as_object_mut() {
            map.remove(key);
        }
    } else {
        object[key] = value;
    }
}

/// The list under a key, made if it is not there.
pub(crate) fn list<'a>(object: &'a mut Value, key: &str) -> &'a mut Vec<Value> {
    if !object[key].is_array() {
        object[key] = json!([]);
    }
    object[key].as_array_mut().unwrap()
}
