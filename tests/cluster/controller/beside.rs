//! `roster controller --beside` next to kube-controller-manager: it serves Services that name their pods in an annotation, and nothing
//! is published twice.

use serde_json::{Value, json};

use super::{
    RosterController, assets, changes,
    changes::{Changes, NAMESPACE, object},
    ready_addresses, settled, until_at_work, versions,
};
use crate::{api::ApiServer, get, start, wait};

const SELECTOR: &str = "roster.dev/selector";

/// A Service without a selector.
fn annotated(name: &str, selector: &str) -> Value {
    let rest = json!({ "metadata": { "annotations": { SELECTOR: selector } }, "spec": { "ports": [{ "port": 80 }] } });
    object("v1", "Service", name, &rest)
}

fn add_pod(api: &ApiServer, name: &str, tier: &str, ip: &str) {
    let mut pod = changes::pod(name, "web");
    pod["metadata"]["labels"]["tier"] = json!(tier);
    changes::create_running(api, &pod, ip);
}

/// The names of the objects of a Service, and who manages them.
fn managers(api: &ApiServer, service: &str) -> Vec<String> {
    let all = versions(api).into_values().map(|(_, object)| object);
    let labels = |object: &Value, label: &str| object["metadata"]["labels"][label].as_str().unwrap_or("-").to_owned();
    let of = all.filter(|o| o["metadata"]["name"] == service || labels(o, "kubernetes.io/service-name") == service);
    let mut found: Vec<String> = of
        .map(|object| match object["addressType"].as_str() {
            Some(_) => format!("slice {}", labels(&object, "endpointslice.kubernetes.io/managed-by")),
            None => format!("endpoints {}", labels(&object, "endpoints.kubernetes.io/managed-by")),
        })
        .collect();
    found.sort_unstable();
    found
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn services_without_a_selector_are_served_beside_the_built_in_controllers() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start(&assets(), dir.path());
    let api = std::rc::Rc::new(ApiServer::of(&plane));
    drop(Changes::begin(vec![api.clone()], 1));
    until_at_work(&api, 0);
    let ours = RosterController::start(&plane, dir.path(), &["--beside", "--namespace", NAMESPACE]);
    for (name, tier, ip) in [("a", "front", "10.0.0.1"), ("b", "edge", "10.0.0.2"), ("c", "back", "10.0.0.3")] {
        add_pod(&api, name, tier, ip);
    }
    let service = annotated("web", "app=web,tier in (front,edge)");
    assert_eq!(api.create(&service, "", false).status, 201);
    let serves = |want: &[&str]| {
        let want: Vec<String> = want.iter().map(ToString::to_string).collect();
        wait("it serves the pods", || (ready_addresses(&api, "web") == (want.clone(), 1)).then_some(()));
    };
    serves(&["10.0.0.1", "10.0.0.2"]);
    assert_eq!(
        api.patch(&changes::pod("c", "web"), &json!({ "metadata": { "labels": { "tier": "edge" } } })).status,
        200
    );
    serves(&["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    settled(&api);
    assert_eq!(managers(&api, "web"), ["endpoints roster.dev", "slice roster.dev"], "nothing is published twice");

    let elsewhere = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "elsewhere" } });
    assert_eq!(api.create(&elsewhere, "", false).status, 201);
    let mut other = annotated("web", "app=web");
    other["metadata"]["namespace"] = json!("elsewhere");
    assert_eq!(api.create(&other, "", false).status, 201);
    settled(&api);
    let slices = api.get("/apis/discovery.k8s.io/v1/namespaces/elsewhere/endpointslices").body;
    assert_eq!(slices["items"], json!([]), "another namespace is not served");

    let contested = || {
        let metrics = get(&ours.admin, "/metrics").unwrap();
        metrics.lines().any(|line| line == "roster_controller_contested_services 1")
    };
    for _ in 0..2 {
        assert!(!contested());
        let list = api.get(&format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices")).body;
        let slice = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == "web");
        let name = slice.unwrap()["metadata"]["name"].as_str().unwrap();
        let named = object("discovery.k8s.io/v1", "EndpointSlice", name, &json!({}));
        assert_eq!(api.patch(&named, &json!({ "endpoints": [] })).status, 200);
        wait("it is put right, or left alone", || {
            (contested() || ready_addresses(&api, "web").0.len() == 3).then_some(())
        });
    }
    assert!(contested());
    assert!(ready_addresses(&api, "web").0.is_empty(), "it is left alone");

    let second = annotated("second", "app=web");
    assert_eq!(api.create(&second, "", false).status, 201);
    wait("the second Service is served", || (ready_addresses(&api, "second").0.len() == 3).then_some(()));
    let removed = json!({ "metadata": { "annotations": { SELECTOR: null } } });
    assert_eq!(api.patch(&second, &removed).status, 200);
    wait("its objects go with the annotation", || managers(&api, "second").is_empty().then_some(()));
}
