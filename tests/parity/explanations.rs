//! `explain` beside `plan`: each row says what the objects contain once the plan is executed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use roster_engine::explain::{PodState, explain};
use roster_engine::model::{AddressType, Family, ObjectRef, Pod, Text, names};
use roster_engine::{
    plan::{PlanRequest, plan, selected_pods},
    state::{Controller, Plan, State},
};
use roster_engine::{reason::Reason, record::Scope};
use serde_json::{Value, json};

use crate::engine::Engine;

/// One case of this many is checked.
const STEP: usize = 8;

/// One release of each kind of behaviour.
const RELEASES: [&str; 5] = ["1.22", "1.25", "1.30", "1.32", "1.37"];

/// Codes that some row must have: without them the sample checks too little.
pub(crate) const SEEN: [&str; 6] = [
    "missing-node-freezes-slices",
    "service-deleting",
    "duplicate-address",
    "truncated",
    "hint-given",
    "sidecar-port-ignored",
];

/// The result of the check.
#[derive(Default)]
pub(crate) struct ExplanationCheck {
    /// Rows that hold.
    pub(crate) rows: usize,
    pub(crate) differences: Vec<String>,
    /// Every code that a row gave.
    pub(crate) seen: BTreeSet<&'static str>,
}

/// Checks some of these cases, each in several states.
pub(crate) fn check(rows: &[String]) -> ExplanationCheck {
    let next = AtomicUsize::new(0);
    let total = Mutex::new(ExplanationCheck::default());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut part = ExplanationCheck::default();
                while let Some(row) = rows.get(STEP * next.fetch_add(1, Ordering::Relaxed)) {
                    part.case(row);
                }
                let mut total = total.lock().unwrap();
                total.rows += part.rows;
                total.differences.extend(part.differences);
                total.seen.extend(part.seen);
            });
        }
    });
    total.into_inner().unwrap()
}

/// The case, and what may become of it.
fn states(case: &Value) -> Vec<(&'static str, Value)> {
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut case = case.clone();
        edit(&mut case);
        case
    };
    let pods = |case: &mut Value, edit: &dyn Fn(&mut Vec<Value>)| case["pods"].as_array_mut().map(edit);
    vec![
        ("", case.clone()),
        ("deleting", edited(&|c| c["service"]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"))),
        ("without nodes", edited(&|c| c["nodes"] = json!([]))),
        // Where all nodes are there nothing is frozen, and Endpoints cases have none.
        (
            "on known nodes",
            edited(&|c| {
                let pods = c["pods"].as_array().into_iter().flatten();
                let nodes = pods.map(|p| json!({"metadata": {"name": p["spec"]["nodeName"], "labels": {"topology.kubernetes.io/zone": "z"}}}));
                c["nodes"] = nodes.filter(|n| n["metadata"]["name"].is_string()).collect();
            }),
        ),
        // Two by two they have one address, and no uid that would tell them apart.
        (
            "twins",
            edited(&|c| {
                pods(c, &|pods| {
                    let status: Vec<Value> = pods.iter().map(|p| p["status"].clone()).collect();
                    for (i, pod) in pods.iter_mut().enumerate() {
                        pod["metadata"]["uid"] = json!("");
                        for field in ["podIP", "podIPs"] {
                            pod["status"][field] = status[i & !1][field].clone();
                        }
                    }
                });
            }),
        ),
    ]
}

/// How a pod is published under a port, whether as ready, and whether with hints.
type Published = (PodState, bool, bool);

impl ExplanationCheck {
    fn case(&mut self, row: &str) {
        let case: Value = serde_json::from_str::<Value>(row).unwrap()["case"].take();
        let ports: Vec<&Value> = case["service"]["spec"]["ports"].as_array().into_iter().flatten().collect();
        let names: BTreeSet<&str> = ports.iter().map(|p| p["name"].as_str().unwrap_or_default()).collect();
        // Ports of one name, which the API refuses, cannot be distinguished in what is published.
        if names.len() < ports.len() || case["service"]["spec"]["selector"].is_null() {
            return;
        }
        for (what, state) in states(&case) {
            let Ok(mut engine) = Engine::new(&state, &state.to_string()) else { continue };
            for release in RELEASES {
                engine.request.options.compat = release.parse().unwrap();
                self.compare(&format!("{} {what} as {release}", case["id"]), &engine.request);
            }
        }
    }

    fn compare(&mut self, name: &str, request: &PlanRequest) {
        request.with_state(|state, _| {
            let planned = plan(state, &Controller::ALL, &request.options);
            let explanation = explain(state, &request.options);
            let pods = selected_pods(state);
            let published = published(state, &planned, &pods);
            let index: BTreeMap<&Text, usize> = pods.iter().enumerate().map(|(i, p)| (p.name(), i)).collect();
            let rows = || explanation.rows.iter().flat_map(|row| row.ports.each().map(move |port| (row, port)));
            for (row, port) in rows() {
                let port = port.map(|p| &p.name);
                let key = (row.scope, index[&row.pod], port);
                let want = published.get(&key).copied().unwrap_or((PodState::Absent, false, false));
                let hinted = row.reasons.iter().any(|r| r.code == Reason::HintGiven);
                let codes: Vec<&str> = row.reasons.iter().map(|r| r.code.code()).collect();
                self.seen.extend(&codes);
                // kube-proxy reads slices only.
                let want = (want.0, want.1 && row.scope != Scope::Endpoints, want.2);
                if (row.state, row.served, hinted) == want {
                    self.rows += 1;
                } else {
                    let got = (row.state, row.served, hinted);
                    let (pod, scope) = (&row.pod, row.scope);
                    self.differences.push(format!("{name}: {pod} {port:?} {scope}: {got:?} {codes:?}, not {want:?}"));
                }
            }
            let want =
                pods.len() * state.service.map_or(0, |s| s.ports.len().max(1)) * explanation.summary.scopes.len();
            if want != rows().count() {
                self.differences.push(format!("{name}: {} rows, not {want}", rows().count()));
            }
        });
    }
}

/// What the objects hold of the selected pods, by list, pod and port, once the plan is carried out. Of several entries
/// the one counts that gives clients most.
fn published<'a>(
    state: &State<'a>,
    plan: &'a Plan,
    pods: &[&Pod],
) -> BTreeMap<(Scope, usize, Option<&'a Text>), Published> {
    static UNNAMED: Text = Text::new_static("");
    let portless = state.service.is_some_and(|s| s.ports.is_empty());
    let same = |p: &ObjectRef| (p.namespace.clone(), p.name.clone(), p.uid.clone());
    let index: BTreeMap<_, usize> = pods.iter().enumerate().map(|(i, p)| (same(&p.reference), i)).collect();
    let pod_of = |target: Option<&ObjectRef>| index.get(&same(target?)).copied();
    let mut out: BTreeMap<_, Published> = BTreeMap::new();
    let mut add = |scope, pod: Option<usize>, ports: &[&'a Text], entry: Published| {
        let Some(pod) = pod else { return };
        let none = [None].into_iter().filter(|_| portless && ports.is_empty());
        for port in ports.iter().map(|p| Some(*p)).chain(none) {
            let known = out.entry((scope, pod, port)).or_insert(entry);
            // Ready, then what is not being deleted.
            if (!entry.1, entry.0 == PodState::Terminating) < (!known.1, known.0 == PodState::Terminating) {
                *known = entry;
            }
        }
    };
    for subset in plan.desired_endpoints(state).into_iter().flat_map(|e| &e.subsets) {
        let ports: Vec<&Text> = subset.ports.iter().map(|p| &p.name).collect();
        for address in &subset.addresses {
            add(Scope::Endpoints, pod_of(address.target_ref.as_deref()), &ports, (PodState::Ready, true, false));
        }
        for address in &subset.not_ready_addresses {
            add(Scope::Endpoints, pod_of(address.target_ref.as_deref()), &ports, (PodState::NotReady, false, false));
        }
    }
    for slice in plan.desired_slices(state) {
        let family = [Family::V4, Family::V6].into_iter().find(|f| slice.address_type == AddressType::from(*f));
        let Some(family) = family.filter(|_| slice.managed_by().is_some_and(|by| by == names::SLICE_CONTROLLER)) else {
            continue;
        };
        let ports: Vec<&Text> = slice.ports.iter().flatten().map(|p| p.name.as_ref().unwrap_or(&UNNAMED)).collect();
        for endpoint in &slice.endpoints {
            let how = match (endpoint.conditions.terminating, endpoint.ready()) {
                (Some(true), _) => PodState::Terminating,
                (_, true) => PodState::Ready,
                (_, false) => PodState::NotReady,
            };
            let entry = (how, endpoint.ready(), endpoint.hints.is_some());
            add(Scope::Slices(family), pod_of(endpoint.target_ref.as_deref()), &ports, entry);
        }
    }
    out
}
