//! The overlay `ha` while no replica runs: writes of users are refused, and the cluster goes on.

use std::{path::Path, process::Command};

use roster_engine::model::installed::NAMESPACE;
use serde_json::{Value, json};

use super::{
    assets,
    control_plane::{ControlPlane, Setup},
    kubectl, wait,
};

/// The groups of a service account of kube-system, and of an administrator, so that RBAC does not matter.
const OF_KUBE_SYSTEM: &str = "--as=system:serviceaccount:kube-system:network-plugin --as-group=system:masters \
    --as-group=system:serviceaccounts --as-group=system:serviceaccounts:kube-system";
const OF_ANOTHER: &str = "--as=system:serviceaccount:shop:operator --as-group=system:masters \
    --as-group=system:serviceaccounts --as-group=system:serviceaccounts:shop";

fn apply_overlay(plane: &ControlPlane) {
    let overlay = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/overlays/ha");
    let rendered = Command::new("kubectl").arg("kustomize").arg(&overlay).output().unwrap();
    assert!(rendered.status.success(), "{}", String::from_utf8_lossy(&rendered.stderr));
    let (well, output) = kubectl(plane, "apply -f -", &String::from_utf8(rendered.stdout).unwrap());
    assert!(well, "{output}");
}

fn slice(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": name, "namespace": namespace, "labels": { "kubernetes.io/service-name": "by-hand" } },
        "addressType": "IPv4", "endpoints": [{ "addresses": ["10.9.9.9"] }], "ports": [{ "port": 80 }],
    })
}

fn endpoints(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": name, "namespace": namespace },
        "subsets": [{ "addresses": [{ "ip": "10.9.9.9" }], "ports": [{ "port": 80 }] }],
    })
}

fn service(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": namespace },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] },
    })
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_dead_webhook_refuses_users_and_does_not_stop_the_cluster() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    // The Service of the webhook has no endpoints, which the API server then knows at once.
    let flags = ["--enable-aggregator-routing=true".to_owned()];
    let mut plane =
        ControlPlane::start(&Setup { assets: &assets, dir: dir.path(), api_server: &flags, controllers: true })
            .unwrap();
    assert!(kubectl(&plane, "create namespace shop", "").0);
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" } });
    for object in [node, service("web", "shop"), slice("before", "shop"), endpoints("before", "shop")] {
        let (well, output) = kubectl(&plane, "create -f -", &object.to_string());
        assert!(well, "{output}");
    }
    apply_overlay(&plane);
    let refused = |line: &str, object: &Value| {
        let (well, output) = kubectl(&plane, line, &object.to_string());
        (!well).then_some(()).ok_or(output)
    };
    wait("the configuration is in force", || refused("create --dry-run=server -f -", &slice("a", "shop")).ok());

    let moved = |mut object: Value, path: &str| {
        *object.pointer_mut(path).unwrap() = "10.9.9.8".into();
        object
    };
    for (name, line, object, well) in [
        ("a slice of a user", "create -f -".to_owned(), slice("a", "shop"), false),
        ("Endpoints of a user", "create -f -".to_owned(), endpoints("a", "shop"), false),
        ("a Service of a user", "create -f -".to_owned(), service("a", "shop"), false),
        (
            "a slice that changes",
            "replace -f -".to_owned(),
            moved(slice("before", "shop"), "/endpoints/0/addresses/0"),
            false,
        ),
        (
            "Endpoints that change",
            "replace -f -".to_owned(),
            moved(endpoints("before", "shop"), "/subsets/0/addresses/0/ip"),
            false,
        ),
        ("a slice of an operator", format!("create -f - {OF_ANOTHER}"), slice("b", "shop"), false),
        ("a slice of a network plugin", format!("create -f - {OF_KUBE_SYSTEM}"), slice("c", "shop"), true),
        ("Endpoints of a network plugin", format!("create -f - {OF_KUBE_SYSTEM}"), endpoints("c", "shop"), true),
        ("a Service in kube-system", "create -f -".to_owned(), service("d", "kube-system"), true),
        ("a slice in kube-system", "create -f -".to_owned(), slice("d", "kube-system"), true),
        ("a Service beside Roster", "create -f -".to_owned(), service("d", NAMESPACE), true),
        ("Endpoints beside Roster", "create -f -".to_owned(), endpoints("e", NAMESPACE), true),
    ] {
        let (done, output) = kubectl(&plane, &line, &object.to_string());
        assert_eq!(done, well, "{name}: {output}");
        assert!(well || output.contains("failed calling webhook"), "{name}: {output}");
    }
    for (name, line) in [
        (
            "metadata that no rule reads",
            r#"patch endpointslice before -n shop --type=merge -p {"metadata":{"finalizers":[]}}"#,
        ),
        ("a deletion", "delete endpointslice before -n shop"),
        ("a deletion of Endpoints", "delete endpoints before -n shop"),
    ] {
        let (done, output) = kubectl(&plane, line, "");
        assert!(done, "{name}: {output}");
    }

    // The controllers go on, also after a start.
    publish(&plane, "web-0", "10.244.0.7");
    plane.stop_controllers();
    plane.start_controllers().unwrap();
    publish(&plane, "web-1", "10.244.0.8");
}

/// A pod becomes ready, and the controllers publish it.
fn publish(plane: &ControlPlane, name: &str, ip: &str) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": { "app": "web" } },
        "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] },
    });
    let status = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": { "app": "web" } },
        "status": { "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
            "conditions": [{ "type": "Ready", "status": "True" }] },
    });
    for (line, object) in [("create -n shop -f -", &pod), ("replace -n shop --subresource=status -f -", &status)] {
        let (well, output) = kubectl(plane, line, &object.to_string());
        assert!(well, "{output}");
    }
    for line in [
        "get endpointslices -n shop -l kubernetes.io/service-name=web -o jsonpath={.items[*].endpoints[*].addresses}",
        "get endpoints web -n shop -o jsonpath={.subsets[*].addresses[*].ip}",
    ] {
        wait("the controllers publish the pod", || kubectl(plane, line, "").1.contains(ip).then_some(()));
    }
}
