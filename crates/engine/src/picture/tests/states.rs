//! What each state of a Service looks like: its picture as a tree.

use serde_json::{Value, json};

use super::draw;
use crate::{
    model::{TargetPort, builders::*},
    picture::{Route, RouteFault},
    reason::Severity,
};

/// A ready pod with a port `http`.
fn web(name: &str, ip: &str) -> PodBuilder {
    pod(name).labels(json!({"app": "web"})).ip(ip).ready().node("n1").container_ports(&[("http", 8080)])
}

fn route(name: &str, port: i32, fault: Option<&str>) -> Route {
    let fault = fault.map(|message| RouteFault {
        code: "backend-port-missing",
        severity: Severity::Warning,
        message: message.to_owned(),
        fix: "",
    });
    Route {
        kind: "Ingress".into(),
        namespace: "ns".into(),
        name: name.into(),
        matches: "/".to_owned(),
        port: Some(TargetPort::Number(port)),
        fault,
    }
}

fn hand_made(ports: &Value) -> Value {
    json!([{
        "metadata": {"name": "s-1", "namespace": "ns", "labels": {"kubernetes.io/service-name": "s"}},
        "addressType": "IPv4", "ports": ports,
        "endpoints": [{"addresses": ["10.9.0.1"]}, {"addresses": ["10.9.0.2"], "conditions": {"ready": false}}],
    }])
}

/// The title of the picture of a request, and its tree.
fn tree(request: Value, routes: &[Route]) -> String {
    let (picture, _) = draw(&serde_json::from_value(request).unwrap(), routes);
    let line = |line: super::super::TreeLine| {
        format!("{}{} {} | {}", line.branch, line.state.sign(), line.label, line.detail)
            .trim_end_matches([' ', '|'])
            .to_owned()
    };
    let lines: Vec<String> = picture.lines(None).into_iter().map(line).collect();
    format!("{}\n{}\n", picture.title, lines.join("\n"))
}

#[test]
fn each_state_has_its_picture() {
    let http = || service("s").selector(json!({"app": "web"})).port("http", 80, "http");
    let mut trees = Vec::new();
    for (name, mut request, routes) in [
        ("served", json!({"service": http(), "pods": [web("a", "10.0.0.1")]}), vec![]),
        (
            "one pod is not ready, one has ended, one has no address, and one has another port",
            json!({"service": http(), "pods": [
                web("a", "10.0.0.1"), web("b", "10.0.0.2").not_ready(), web("c", "10.0.0.3").phase("Succeeded"),
                pod("d").labels(json!({"app": "web"})),
                web("e", "10.0.0.5").container_ports(&[("www", 8080)]),
            ]}),
            vec![],
        ),
        (
            "a label is missing",
            json!({"service": http(), "pods": [pod("a").labels(json!({"app": "wbe"})), pod("b").labels(json!({"app": "wbe"}))]}),
            vec![],
        ),
        ("no pods at all", json!({"service": http()}), vec![]),
        (
            "routes, one of which names another port",
            json!({"service": http(), "pods": [web("a", "10.0.0.1")]}),
            vec![route("good", 80, None), route("bad", 8080, Some("the Service s has no port 8080"))],
        ),
        (
            "zones and hints",
            json!({
                "service": http().with("/spec/trafficDistribution", json!("PreferClose")),
                "pods": [web("a", "10.0.0.1").node("n1"), web("b", "10.0.0.2").node("n2")],
                "nodes": [node("n1").zone("z1"), node("n2").zone("z2")],
            }),
            vec![],
        ),
        (
            "hand-made Endpoints, which are mirrored",
            json!({
                "service": service("s").selector(Value::Null).port("", 80, 80),
                "endpoints": {"metadata": {"name": "s", "namespace": "ns"},
                    "subsets": [{"addresses": [{"ip": "10.9.0.1"}], "ports": [{"port": 80, "protocol": "TCP"}]}]},
            }),
            vec![],
        ),
        (
            "slices of somebody else",
            json!({
                "service": service("s").selector(Value::Null).port("", 80, 80),
                "endpointSlices": hand_made(&json!([{"name": "", "port": 80, "protocol": "TCP"}])),
            }),
            vec![],
        ),
        (
            "slices of somebody else with another port",
            json!({
                "service": service("s").selector(Value::Null).port("", 80, 80),
                "endpointSlices": hand_made(&json!([{"name": "other", "port": 80, "protocol": "TCP"}])),
            }),
            vec![],
        ),
        (
            "without a selector and endpoints",
            json!({"service": service("s").selector(Value::Null).port("", 80, 80)}),
            vec![],
        ),
        ("another server", json!({"service": http().with("/spec/type", json!("ExternalName"))}), vec![]),
        (
            "headless, without ports",
            json!({"service": service("s").selector(json!({"app": "web"})).with("/spec/clusterIP", json!("None")), "pods": [web("a", "10.0.0.1")]}),
            vec![],
        ),
        ("the Service is gone", json!({"endpointSlices": hand_made(&json!([]))}), vec![]),
    ] {
        if request["nodes"].is_null() {
            request["nodes"] = json!([node("n1")]);
        }
        trees.push(format!("== {name}\n{}\n", tree(request, &routes)));
    }
    let got = trees.concat();
    assert_eq!(got, include_str!("states.txt"), "\n{got}");
}
