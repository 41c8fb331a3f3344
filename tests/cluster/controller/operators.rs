//! What operators see of `roster controller`, and the engine in the controller of `examples/`.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use kube::{Client, Config, config::Kubeconfig};
use serde_json::{Value, json};

use super::{
    RosterController,
    changes::{self, Changes, NAMESPACE},
    ready_addresses, versions,
};
use crate::{api::ApiServer, assets, get, start, start_without_controllers, wait};

#[expect(dead_code, reason = "main is for cargo run")]
#[path = "../../../examples/controller.rs"]
mod machines;

/// What the controller says about a Service.
fn debug(controller: &RosterController, service: &str) -> Value {
    let answer = get(&controller.admin, &format!("/debug/services/{NAMESPACE}/{service}")).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).unwrap()
}

/// A pod that is ready, and published.
fn running(api: &ApiServer, name: &str, app: &str, ip: &str) {
    let pod = changes::pod(name, app);
    assert_eq!(api.create(&pod, "", false).status, 201);
    let status =
        json!({ "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }], "conditions": [changes::ready(true)] });
    assert_eq!(api.patch_status(&pod, &json!({ "status": status })).status, 200);
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn operators_see_what_it_does() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets(), dir.path());
    let api = std::rc::Rc::new(ApiServer::of(&plane));
    drop(Changes::begin(vec![api.clone()], super::SEED));
    let controller = RosterController::start(&plane, dir.path(), &["--kube-api-qps=5", "--kube-api-burst=1"]);
    assert!(get(&controller.admin, "/healthz").unwrap().starts_with("HTTP/1.1 200"));

    let began = Instant::now();
    for n in 0..5 {
        assert_eq!(api.create(&changes::probe(&format!("web-{n}")), "", false).status, 201);
    }
    running(&api, "web-0-pod", "web-0", "10.0.0.1");
    wait("the pod is published", || (ready_addresses(&api, "web-0").0 == ["10.0.0.1"]).then_some(()));
    wait("each Service has a slice", || {
        (0..5).all(|n| ready_addresses(&api, &format!("web-{n}")).1 == 1).then_some(())
    });
    // Ten objects are created and two are updated, five a second.
    assert!(began.elapsed() >= Duration::from_millis(1800), "{:?}", began.elapsed());

    wait("the write is counted", || {
        controller.metric("endpoint_slice_controller_changes{operation=\"update\"}").filter(|n| *n >= 1.0)
    });
    let counted = |name: &str| controller.metric(name).unwrap_or_else(|| panic!("no {name}"));
    assert!(counted("endpoint_slice_controller_changes{operation=\"create\"}") >= 5.0);
    assert!(counted("endpoint_slice_controller_num_endpoint_slices") >= 5.0);
    assert!(counted("endpoint_slice_controller_endpoints_desired") >= 1.0);
    assert!(counted("workqueue_adds_total{name=\"endpoint_slice\"}") >= 5.0);
    let metrics = get(&controller.admin, "/metrics").unwrap();
    assert!(metrics.contains("rest_client_requests_total{code=\"201\",method=\"POST\",host=\"127.0.0.1:"), "{metrics}");

    // A watch that shows a write before its answer comes wakes the Service once more.
    let told =
        wait("nothing is left to be done", || Some(debug(&controller, "web-0")).filter(|told| told["queue"].is_null()));
    assert_eq!((&told["leads"], &told["lastSync"]["lastError"]), (&json!(true), &Value::Null));
    assert_eq!(told["lastSync"]["plan"]["wanted"]["slices"], json!({ "endpoints": 1, "slices": 1 }));
    assert!(told["lastSync"]["lastWriteAgo"].as_f64().is_some());
    let rows = told["explanation"]["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["state"] == "ready"), "{rows:?}");
    // Nothing else has changed of the Service meanwhile.
    let unready = json!({ "status": { "conditions": [changes::ready(false)] } });
    assert_eq!(api.patch_status(&changes::pod("web-0-pod", "web-0"), &unready).status, 200);
    wait("the time of a change of a pod is counted", || {
        controller.metric("roster_controller_programming_duration_seconds_count{origin=\"pods\"}").filter(|n| *n >= 1.0)
    });
    let nobody = get(&controller.admin, "/debug/services/shop/nobody").unwrap();
    assert!(nobody.starts_with("HTTP/1.1 404"), "{nobody}");

    for n in 0..5 {
        api.delete(&changes::probe(&format!("web-{n}")));
    }
    // Its slices wait for the garbage collector, which does not run here.
    wait("nothing is wanted of what is gone", || {
        let told = debug(&controller, "web-0");
        (told["lastSync"].is_null() && told["queue"].is_null()).then_some(())
    });
}

/// A machine of a Service.
fn machine(name: &str, service: &str, ip: &str, ready: bool) -> Value {
    let labels = json!({ "example.com/service": service });
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": labels },
        "data": { "ip": ip, "ready": ready.to_string() },
    })
}

/// The built-in controllers run as well: they and the example leave each other alone.
#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn the_example_serves_machines() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start(&assets(), dir.path());
    let api = std::rc::Rc::new(ApiServer::of(&plane));
    drop(Changes::begin(vec![api.clone()], super::SEED));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let file = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    runtime.spawn(async {
        let config = Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default()).await.unwrap();
        machines::run(Client::try_from(config).unwrap()).await;
    });
    for service in ["machines", "untouched"] {
        let mut service = changes::probe(service);
        service["spec"].as_object_mut().unwrap().remove("selector");
        assert_eq!(api.create(&service, "", false).status, 201);
    }
    let serves = |ips: &[&str]| {
        wait("the slices follow the machines", || (ready_addresses(&api, "machines") == (words(ips), 1)).then_some(()));
    };
    let a = machine("a", "machines", "192.0.2.7", true);
    assert_eq!(api.create(&a, "", false).status, 201);
    serves(&["192.0.2.7"]);
    assert_eq!(api.create(&machine("b", "machines", "192.0.2.8", true), "", false).status, 201);
    serves(&["192.0.2.7", "192.0.2.8"]);
    assert_eq!(api.patch(&a, &json!({ "data": { "ready": "false" } })).status, 200);
    serves(&["192.0.2.8"]);
    api.delete(&a);
    let endpoints = || {
        let slices = versions(&api).into_values().map(|(_, object)| object);
        let of_machines = slices.filter(|s| s["metadata"]["labels"]["kubernetes.io/service-name"] == "machines");
        of_machines.flat_map(|slice| slice["endpoints"].as_array().cloned().unwrap_or_default()).collect::<Vec<_>>()
    };
    wait("the machine that is gone is not listed", || (endpoints().len() == 1).then_some(()));
    assert_eq!(endpoints()[0]["targetRef"]["kind"], "ConfigMap");
    assert_eq!(ready_addresses(&api, "untouched").1, 0);
    let before = versions(&api);
    sleep(Duration::from_secs(3));
    assert_eq!(versions(&api), before, "nothing is written without a change");
}

fn words(ips: &[&str]) -> Vec<String> {
    ips.iter().map(ToString::to_string).collect()
}
