//! `roster controller --shadow` beside kube-controller-manager: it names each planted fault and heals it, and says nothing of
//! what is well.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    RosterController, assets, changes,
    changes::{Changes, NAMESPACE, object},
    settled, until_at_work, versions,
};
use crate::{api::ApiServer, control_plane::ControlPlane, get, metric_in, parity::rng::Rng, roster, start, wait};

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";

/// What the shadow has found.
fn report(shadow: &RosterController) -> Value {
    let answer = get(&shadow.admin, "/v1/drift").unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).unwrap()
}

/// The classes in which a Service differs.
fn classes(report: &Value, service: &str) -> Vec<String> {
    let of_service = report["drift"].as_array().unwrap().iter().filter(|drift| drift["service"] == service);
    let mut classes: Vec<String> = of_service.map(|drift| drift["class"].as_str().unwrap().to_owned()).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// How many differences of a class were reported since the start.
fn named_so_far(shadow: &RosterController, class: &str) -> u64 {
    let metrics = get(&shadow.admin, "/metrics").unwrap();
    let name = format!("roster_endpoints_drift_total{{class=\"{class}\"}}");
    metric_in(&metrics, &name).unwrap().parse().unwrap()
}

/// A Service with pods in two zones, each with an address.
fn serve(api: &ApiServer, service: &str, number: usize) {
    let mut wanted = changes::probe(service);
    wanted["spec"]["trafficDistribution"] = json!("PreferClose");
    assert_eq!(api.create(&wanted, "", false).status, 201);
    for n in 0..3 {
        changes::create_running(api, &pod(service, n), &format!("10.1.{number}.{}", n + 1));
    }
}

fn pod(service: &str, n: usize) -> Value {
    changes::pod(&format!("{service}-{n}"), service)
}

fn flip(api: &ApiServer, service: &str, is_ready: bool) {
    let status = json!({ "status": { "conditions": [changes::ready(is_ready)] } });
    assert_eq!(api.patch_status(&pod(service, 0), &status).status, 200);
}

/// The slice of a Service.
fn slice(api: &ApiServer, service: &str) -> Value {
    let list = api.get(&format!("{SLICES}?labelSelector=kubernetes.io%2Fservice-name%3D{service}")).body;
    let mut slice = list["items"][0].clone();
    (slice["apiVersion"], slice["kind"]) = (json!("discovery.k8s.io/v1"), json!("EndpointSlice"));
    slice
}

fn endpoints(api: &ApiServer, service: &str) -> Value {
    let mut endpoints = api.get(&format!("/api/v1/namespaces/{NAMESPACE}/endpoints/{service}")).body;
    (endpoints["apiVersion"], endpoints["kind"]) = (json!("v1"), json!("Endpoints"));
    endpoints
}

/// What is planted, on a Service of the same name.
fn plant(api: &ApiServer, fault: &str) {
    let told = match fault {
        "stale-address" => {
            let mut slice = slice(api, fault);
            let mut stale = slice["endpoints"][0].clone();
            stale["addresses"] = json!(["10.9.9.9"]);
            stale["targetRef"]["name"] = json!("gone");
            slice["endpoints"].as_array_mut().unwrap().push(stale);
            api.replace(&slice, false)
        }
        "ready-pod-missing" => {
            let mut slice = slice(api, fault);
            slice["endpoints"].as_array_mut().unwrap().pop();
            api.replace(&slice, false)
        }
        "frozen-at-limit" => {
            let mut endpoints = endpoints(api, fault);
            endpoints["metadata"]["annotations"] = json!({ "endpoints.kubernetes.io/over-capacity": "truncated" });
            endpoints["subsets"][0]["addresses"].as_array_mut().unwrap().pop();
            api.replace(&endpoints, false)
        }
        "duplicate-slices" => {
            let mut copy = slice(api, fault);
            copy["metadata"] = json!({ "name": format!("{fault}-copy"), "namespace": NAMESPACE,
                "labels": copy["metadata"]["labels"], "ownerReferences": copy["metadata"]["ownerReferences"] });
            api.create(&copy, "", false)
        }
        "wrong-hint" => {
            let mut slice = slice(api, fault);
            slice["endpoints"][0]["hints"] = json!({ "forZones": [{ "name": "zone-far" }] });
            api.replace(&slice, false)
        }
        "orphan" => {
            let labels = json!({ "endpoints.kubernetes.io/managed-by": "endpoint-controller" });
            let subsets = json!([{ "addresses": [{ "ip": "10.9.9.8" }], "ports": [{ "port": 80 }] }]);
            let rest = json!({ "metadata": { "labels": labels }, "subsets": subsets });
            api.create(&object("v1", "Endpoints", fault, &rest), "", false)
        }
        "unsettled" => api.patch_status(&pod(fault, 0), &json!({ "status": { "phase": "Failed" } })),
        _ => {
            flip(api, fault, false);
            return;
        }
    };
    assert!(told.status < 300, "{fault}: {told:?}");
}

/// The faults, and whether kube-controller-manager must stand still so that it does not put them right itself.
const FAULTS: [(&str, bool); 8] = [
    ("stale-address", true),
    ("ready-pod-missing", true),
    ("frozen-at-limit", false),
    ("duplicate-slices", true),
    ("wrong-hint", true),
    ("orphan", false),
    ("stuck", true),
    ("unsettled", false),
];

/// What `roster drift` prints of a shadow, with this exit code.
fn drift_of(shadow: &RosterController, code: i32) -> String {
    let shown = roster().args(["drift", "--server", &format!("http://{}", shadow.admin)]).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(shown.status.code(), Some(code), "{text}");
    text
}

/// The shadow with these flags, as the account of its manifests.
fn shadow(plane: &ControlPlane, dir: &std::path::Path, flags: &[&str]) -> RosterController {
    let shadow = RosterController::start_as("roster-shadow", plane, dir, &[&["--shadow"], flags].concat());
    wait("the shadow works", || get(&shadow.admin, "/v1/drift").filter(|a| a.starts_with("HTTP/1.1 200")));
    shadow
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_shadow_names_and_heals_each_fault() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start(&assets(), dir.path());
    let api = std::rc::Rc::new(ApiServer::of(&plane));
    drop(Changes::begin(vec![api.clone()], 1));
    for (number, (fault, _)) in FAULTS.iter().enumerate() {
        if *fault != "orphan" {
            serve(&api, fault, number);
        }
    }
    until_at_work(&api, 0);
    settled(&api);
    let healing = shadow(&plane, dir.path(), &["--heal-after=1s", "--shadow-events"]);
    let watching = shadow(&plane, dir.path(), &[]);
    assert_eq!(report(&watching)["drifting"], 0, "{}", report(&watching));
    for (fault, stands_still) in FAULTS {
        let (before, count) = (versions(&api), named_so_far(&healing, fault));
        if stands_still {
            plane.signal_controllers("-STOP");
        }
        plant(&api, fault);
        let planted = Instant::now();
        wait(fault, || (named_so_far(&healing, fault) > count).then_some(()));
        let named = planted.elapsed();
        wait("it is healed", || report(&healing)["drift"].as_array().unwrap().is_empty().then_some(()));
        println!("{fault}: named after {named:?}, healed after {:?}", planted.elapsed());
        plane.signal_controllers("-CONT");
        let after = settled(&api);
        assert_eq!(after.len(), before.len(), "{fault}: as many objects as before");
    }
    let healed = report(&healing);
    assert!(healed["past"].as_array().unwrap().iter().all(|past| past["healed"] == true), "{healed}");
    let said = super::events(&api);
    assert!(said.iter().any(|event| event.contains("EndpointsDrift")), "{said:?}");
    assert!(said.iter().any(|event| event.contains("EndpointsHealed")), "{said:?}");
    let refused = std::fs::read_to_string(dir.path().join("controller.log")).unwrap();
    assert!(!refused.contains("forbidden"), "{refused}");
    drop(healing);

    plane.signal_controllers("-STOP");
    flip(&api, "stuck", true);
    wait("it is stuck", || classes(&report(&watching), "stuck").contains(&"stuck".to_owned()).then_some(()));
    let text = drift_of(&watching, 1);
    assert!(text.starts_with("the endpoints of 1 of ") && text.contains("shop/stuck  stuck "), "{text}");
    plane.signal_controllers("-CONT");
    wait("it was slow", || {
        let past = report(&watching)["past"].clone();
        past.as_array().unwrap().iter().any(|past| past["class"] == "slow").then_some(())
    });
    let metrics = get(&watching.admin, "/metrics").unwrap();
    assert!(metrics.contains("roster_endpoints_drift_total{class=\"slow\"} "), "{metrics}");
    assert_eq!(metric_in(&metrics, "roster_endpoints_drift_services{class=\"slow\"}"), Some("1.0"));
    let text = drift_of(&watching, 0);
    let is_slow = |line: &str| line.split_whitespace().take(2).eq(["shop/stuck", "slow"]);
    assert!(text.lines().any(is_slow), "{text}");
    // What is slow is not usual.
    assert!(text.contains("A difference counts after 0.8 s"), "{text}");
    drop(watching);

    let ended = json!({ "status": { "phase": "Failed" } });
    assert_eq!(api.patch_status(&pod("wrong-hint", 1), &ended).status, 200);
    let later = shadow(&plane, dir.path(), &[]);
    wait("it was there before", || (classes(&report(&later), "wrong-hint") == ["unsettled"]).then_some(()));
    let text = drift_of(&later, 0);
    assert!(text.contains(" Services are as they should be\n"), "{text}");
}

/// How long a healthy cluster is watched; a variable makes it longer.
fn churn_time() -> Duration {
    let seconds = std::env::var("ROSTER_CHURN_SECONDS").map_or(20, |text| text.parse().unwrap());
    Duration::from_secs(seconds)
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_shadow_says_nothing_of_what_is_well() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start(&assets(), dir.path());
    let api = std::rc::Rc::new(ApiServer::of(&plane));
    drop(Changes::begin(vec![api.clone()], 1));
    let services: Vec<String> = (0..20).map(|n| format!("web-{n}")).collect();
    for (number, service) in services.iter().enumerate() {
        serve(&api, service, number);
    }
    until_at_work(&api, 0);
    settled(&api);
    let watching = shadow(&plane, dir.path(), &[]);
    let (mut rng, begin, mut flips) = (Rng::new(1, 0), Instant::now(), 0);
    while begin.elapsed() < churn_time() {
        let service = &services[rng.below(services.len())];
        let pod = pod(service, rng.below(3));
        let is_ready = json!({ "status": { "conditions": [changes::ready(rng.percent(50))] } });
        match rng.below(20) {
            0 => {
                api.delete_now(&pod);
                changes::create_running(&api, &pod, &format!("10.2.{}.{}", rng.below(250), rng.below(250)));
            }
            _ => assert_eq!(api.patch_status(&pod, &is_ready).status, 200),
        }
        flips += 1;
        sleep(Duration::from_millis(30));
    }
    settled(&api);
    let report = report(&watching);
    println!("{flips} changes: {report}");
    assert_eq!(report["drift"], json!([]));
    // On a busy machine, the controller may really be slow.
    let false_alarms: Vec<&Value> =
        report["past"].as_array().unwrap().iter().filter(|past| past["class"] != "slow").collect();
    assert!(false_alarms.is_empty(), "{false_alarms:?}");
}
