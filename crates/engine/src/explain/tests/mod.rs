//! Verdicts made of records, and whole explanations, written as short texts.

mod missing_ports;
mod terminating;

use serde_json::{Value, json};

use super::*;
use crate::{
    model::{
        Family, Pod, PodReadiness, Service, ServicePort, builders,
        installed::{MANAGER, SELECTOR},
        names,
    },
    plan::PlanRequest,
    reason::Reason,
    record::Scope,
};

fn service(ports: &[&str]) -> Service {
    let web = builders::service("web").selector(json!({"app": "web"}));
    let web = ports.iter().zip(80..).fold(web, |service, (name, port)| service.port(name, port, 0));
    serde_json::from_value(json!(web)).unwrap()
}

fn pod(name: &str) -> Pod {
    serde_json::from_value(json!(builders::pod(name))).unwrap()
}

fn record(scope: Scope, pod: usize, port: Option<usize>, reason: Reason) -> Record {
    Record { scope, pod, ports: port.map(|port| port..port + 1), reason, detail: String::new() }
}

/// The verdicts that these records on pods `a`, `b`, … make, as short texts.
fn verdicts_of(service: &Service, pods: usize, records: Vec<Record>) -> (Vec<String>, verdicts::VerdictTable) {
    let pods: Vec<Pod> = ["a", "b", "c"][..pods].iter().map(|n| pod(n)).collect();
    let table = verdicts::table(Some(service), &pods.iter().collect::<Vec<_>>(), pods.len(), records);
    (table.verdicts.iter().flat_map(short).collect(), table)
}

/// A text for each port.
fn short(r: &PodVerdict) -> Vec<String> {
    let reasons: Vec<&str> = r.reasons.iter().map(|f| f.code.code()).collect();
    let served = if r.served { "served " } else { "" };
    let text = |port: Option<&PortName>| {
        let port = port.map_or("-", |p| &p.name);
        format!("{} {port} {}: {served}{:?}: {}", r.pod, r.scope, r.state, reasons.join(" "))
    };
    r.ports.each().map(text).collect()
}

#[test]
fn there_is_one_row_per_pod_list_and_port() {
    use Reason::{HintGiven, NamedPortMissing, NoHint, PodEnded, Ready, Terminating, Truncated};
    let (ep, v4) = (Scope::Endpoints, Scope::Slices(Family::V4));
    let (got, table) = verdicts_of(
        &service(&["http", "https"]),
        3,
        vec![
            record(ep, 0, Some(0), Ready),
            record(ep, 0, Some(1), Ready),
            record(ep, 1, None, Terminating),
            record(ep, 2, None, PodEnded),
            record(v4, 0, Some(1), NamedPortMissing),
            record(v4, 0, Some(0), Ready),
            record(v4, 1, Some(0), Terminating),
            record(v4, 1, Some(1), Terminating),
            record(v4, 2, None, PodEnded),
            record(v4, 0, None, HintGiven),
            record(v4, 1, None, NoHint),
            record(ep, 0, Some(1), Truncated),
        ],
    );
    assert_eq!(
        got,
        [
            "a http Endpoints: Ready: ready",
            "a https Endpoints: Absent: truncated",
            "a http EndpointSlice IPv4: served Ready: ready hint-given",
            "a https EndpointSlice IPv4: Absent: named-port-missing",
            "b http Endpoints: Absent: terminating",
            "b https Endpoints: Absent: terminating",
            "b http EndpointSlice IPv4: Terminating: terminating no-hint",
            "b https EndpointSlice IPv4: Terminating: terminating no-hint",
            "c http Endpoints: Absent: pod-ended",
            "c https Endpoints: Absent: pod-ended",
            "c http EndpointSlice IPv4: Absent: pod-ended",
            "c https EndpointSlice IPv4: Absent: pod-ended",
        ]
    );
    let counts = |scope, served, ready, terminating, absent| ScopeCounts {
        scope,
        served,
        ready,
        not_ready: 0,
        terminating,
        absent,
    };
    assert_eq!(table.counts, [counts(ep, 0, 1, 0, 5), counts(v4, 1, 1, 2, 3)]);
    assert_eq!((table.omitted, table.served), (0, 1));
    let served: Vec<bool> = table.ports.iter().map(|p| p.served).collect();
    assert_eq!(served, [true, false]);
}

#[test]
fn pods_without_records_are_counted() {
    let v4 = Scope::Slices(Family::V4);
    let records = vec![
        record(v4, 1, Some(0), Reason::Ready),
        record(v4, 7, None, Reason::Ready),
        record(v4, 0, Some(9), Reason::Ready),
    ];
    let (got, table) = verdicts_of(&service(&["http", "https"]), 2, records);
    assert_eq!(got, ["b http EndpointSlice IPv4: served Ready: ready"]);
    assert_eq!(table.omitted, 3);
}

#[test]
fn long_answers_are_truncated_and_counted() {
    let ports: Vec<ServicePort> = (0..i32::try_from(MAX_LISTED_VERDICTS).unwrap())
        .map(|port| ServicePort { port, ..ServicePort::default() })
        .collect();
    let service = Service { ports, ..service(&[]) };
    let records =
        vec![record(Scope::Endpoints, 0, None, Reason::PodEnded), record(Scope::Endpoints, 1, None, Reason::PodEnded)];
    let (got, table) = verdicts_of(&service, 2, records);
    assert_eq!((got.len(), table.omitted), (MAX_LISTED_VERDICTS, MAX_LISTED_VERDICTS));
    assert_eq!(table.counts[0].absent, 2 * MAX_LISTED_VERDICTS);
}

/// The causes that concern the Service in a request, as short texts.
fn service_causes(request: Value) -> Vec<String> {
    let request: PlanRequest = serde_json::from_value(request).unwrap();
    let explanation = request.with_state(|state, _| explain(state, &request.options));
    assert_eq!(explanation.summary.omitted_rows, 0);
    assert!(explanation.rows.iter().all(|r| !r.reasons.is_empty()));
    let object = |f: &Cause| f.object.as_ref().map(|o| format!(" ({o})")).unwrap_or_default();
    explanation.reasons.iter().map(|f| format!("{}{}: {}", f.code, object(f), f.detail)).collect()
}

#[test]
fn a_selector_that_matches_nothing_names_the_nearest_miss() {
    let pods = |labels: &[(&str, Value)]| -> Vec<Value> {
        let pods = labels.iter().enumerate();
        pods.map(|(i, (ns, l))| json!(builders::pod(&format!("p{i}")).namespace(ns).labels(l.clone()))).collect()
    };
    let request = |selector: Value, labels: &[(&str, Value)]| {
        json!({
            "service": {"metadata": {"namespace": "ns", "name": "web"}, "spec": {"selector": selector, "ipFamilies": ["IPv4"]}},
            "pods": pods(labels),
        })
    };
    let cases: &[(&str, Value, &[&str])] = &[
        (
            "a value that is mistyped, the likest first",
            request(
                json!({"app": "web"}),
                &[
                    ("ns", json!({"app": "db"})),
                    ("ns", json!({"app": "db"})),
                    ("ns", json!({"app": "wbe"})),
                    ("ns", json!({"tier": "x"})),
                ],
            ),
            &[
                "selector-matches-nothing: none of 4 pods in namespace ns",
                r#"label-differs (Pod ns/p2): pod p2: label app is "wbe", not "web""#,
                r#"label-differs (Pod ns/p0): pod p0 and 1 other pod: label app is "db", not "web""#,
            ],
        ),
        (
            "the pod with most pairs",
            request(
                json!({"app": "web", "tier": "front", "track": "stable"}),
                &[
                    ("ns", json!({"app": "web", "tier": "front"})),
                    ("ns", json!({"app": "web", "tier": "back", "track": "x"})),
                ],
            ),
            &[
                "selector-matches-nothing: none of 2 pods in namespace ns",
                r#"label-differs (Pod ns/p0): pod p0: label track is missing, "stable" is wanted"#,
            ],
        ),
        (
            "another namespace",
            request(
                json!({"app": "web"}),
                &[("staging", json!({"app": "web"})), ("prod", json!({"app": "web", "x": "y"}))],
            ),
            &[
                "selector-matches-nothing: no pod of namespace ns is known",
                "other-namespace: it would match pods: 1 in namespace prod, 1 in namespace staging",
            ],
        ),
        (
            "too many differences",
            request(
                json!({"app": "web"}),
                &[
                    ("ns", json!({"app": "k"})),
                    ("ns", json!({"app": "l"})),
                    ("ns", json!({"app": "m"})),
                    ("ns", json!({"app": "n"})),
                ],
            ),
            &[
                "selector-matches-nothing: none of 4 pods in namespace ns",
                r#"label-differs (Pod ns/p0): pod p0: label app is "k", not "web""#,
                r#"label-differs (Pod ns/p1): pod p1: label app is "l", not "web""#,
                r#"label-differs (Pod ns/p2): pod p2: label app is "m", not "web" (other pods differ in 1 other way)"#,
            ],
        ),
        (
            "nothing near",
            request(json!({"app": "web"}), &[("ns", json!({})), ("other", json!({"app": "db"}))]),
            &["selector-matches-nothing: the only pod in namespace ns does not match"],
        ),
    ];
    for (name, request, want) in cases {
        assert_eq!(service_causes(request.clone()), *want, "{name}");
    }
}

#[test]
fn a_typo_is_found_among_thousands_of_labels() {
    let pods: Vec<Value> = (0..5000)
        .map(|i| json!(builders::pod(&format!("p{i}")).labels(json!({ "tier": "web", "app": format!("app-{i}") }))))
        .collect();
    for (wanted, want) in [
        ("xapp-4711", "pod p4711: label app is \"app-4711\", not \"xapp-4711\""),
        ("app-471l", "pod p471: label app is \"app-471\", not \"app-471l\""),
    ] {
        let service = builders::service("s").selector(json!({ "tier": "web", "app": wanted }));
        let causes = service_causes(json!({ "service": service, "pods": pods }));
        assert!(causes.iter().any(|cause| cause.contains(want)), "{causes:?}");
    }
}

#[test]
fn the_service_as_a_whole() {
    let service = |spec: Value| json!({"metadata": {"namespace": "ns", "name": "web"}, "spec": spec});
    let pod = json!({"metadata": {"namespace": "ns", "name": "a"}, "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}});
    let endpoints =
        json!({"metadata": {"namespace": "ns", "name": "web"}, "subsets": [{"addresses": [{"ip": "10.0.0.1"}]}]});
    let slice = json!({"metadata": {"namespace": "ns", "name": "s", "labels": {"kubernetes.io/service-name": "web"}}, "addressType": "IPv4"});
    let annotated =
        json!({"metadata": {"namespace": "ns", "name": "web", "annotations": {SELECTOR: "app=web"}}, "spec": {}});
    let mut own_endpoints = endpoints.clone();
    own_endpoints["metadata"]["labels"] = json!({names::ENDPOINTS_MANAGED_BY: MANAGER, names::SKIP_MIRROR: "true"});
    let mut own_slice = slice.clone();
    own_slice["metadata"]["name"] = json!("own");
    own_slice["metadata"]["labels"][names::SLICE_MANAGED_BY] = json!(MANAGER);
    let sidecar = |name: &str, status: Value| {
        json!({"metadata": {"namespace": "ns", "name": name, "uid": name, "labels": {"app": "web"}}, "status": status,
            "spec": {"nodeName": "n", "initContainers": [{"restartPolicy": "Always", "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}]}]}})
    };
    let cases: &[(&str, Value, &[&str])] = &[
        (
            "gone",
            json!({"endpoints": endpoints}),
            &[
                "service-missing: ",
                "endpoints-orphaned (Endpoints ns/web): Endpoints web: there is no Service of this name; the controller deletes the \
                 Endpoints when it starts again",
                "not-mirrored (Endpoints ns/web): there is no Service of this name",
            ],
        ),
        (
            "an empty selector, and a port that nobody serves",
            json!({
                "service": service(json!({"selector": {}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}], "ipFamilies": ["IPv4"], "publishNotReadyAddresses": true})),
                "pods": [pod],
            }),
            &[
                "selects-everything: 1 pod of namespace ns",
                "port-unserved: port 80 (http): named-port-missing in 1 pod",
            ],
        ),
        (
            "the causes in the list that kube-proxy reads, each pod once",
            json!({
                "service": service(json!({"selector": {"app": "web"}, "ports": [{"port": 80, "protocol": "TCP", "targetPort": "http"}], "ipFamilies": ["IPv4"]})),
                "pods": [sidecar("a", json!({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "Ready", "status": "True"}]})),
                    sidecar("b", json!({"phase": "Pending"}))],
                "nodes": [{"metadata": {"name": "n"}}],
                "options": {"compat": "1.32"},
            }),
            &[
                "port-unserved: port 80: no-pod-ip in 1 pod, sidecar-port-ignored in 1 pod",
                "sidecar-port-split: port 80 is found in a native sidecar by the Endpoints only; pod a has it there",
            ],
        ),
        (
            "ExternalName",
            json!({"service": service(json!({"type": "ExternalName", "selector": {"app": "web"}}))}),
            &["external-name: "],
        ),
        (
            "no selector, nothing by hand",
            json!({"service": service(json!({})), "endpointSlices": [slice]}),
            &["no-selector: 1 slice by others, and no Endpoints of its name"],
        ),
        (
            "no selector, Endpoints by hand",
            json!({"service": service(json!({})), "endpoints": endpoints}),
            &[
                "no-selector: there are hand-made Endpoints with 1 address",
                "mirrored (Endpoints ns/web): 1 endpoint in 1 slice",
            ],
        ),
        (
            "no selector, with the annotation",
            json!({"service": annotated}),
            &[
                "no-selector: there are no Endpoints of its name; only `roster controller --beside` reads the annotation roster.dev/selector",
            ],
        ),
        (
            "no selector, with the annotation, and what the controller has written for it",
            json!({"service": annotated, "endpoints": own_endpoints, "endpointSlices": [own_slice, slice]}),
            &[
                "no-selector: there are Endpoints by `roster controller --beside` with 1 address, and 1 slice by \
                 `roster controller --beside` and 1 slice by others; only `roster controller --beside` reads the annotation \
                 roster.dev/selector",
                "not-mirrored (Endpoints ns/web): the Endpoints carry the label endpointslice.kubernetes.io/skip-mirror: \"true\"",
            ],
        ),
    ];
    for (name, request, want) in cases {
        assert_eq!(service_causes(request.clone()), *want, "{name}");
    }
}

#[test]
fn json_is_in_camel_case_and_leaves_out_what_is_empty() {
    let request: PlanRequest = serde_json::from_value(json!({
        "service": builders::service("web").selector(json!({"app": "web"})).port("http", 80, "www"),
        "pods": [builders::pod("a").labels(json!({"app": "web"})).phase("Failed")],
    }))
    .unwrap();
    let got = request.with_state(|state, _| explain(state, &request.options));
    let reason = json!({"code": "pod-ended", "severity": "info", "fix": Reason::PodEnded.fix()});
    let row = |scope: &str| {
        json!({
            "pod": "a", "port": {"name": "http", "port": 80, "targetPort": "www"}, "scope": scope,
            "served": false, "state": "absent", "reasons": [reason],
        })
    };
    let count =
        |scope: &str| json!({"scope": scope, "served": 0, "ready": 0, "notReady": 0, "terminating": 0, "absent": 1});
    let unserved = Reason::PortUnserved;
    assert_eq!(
        serde_json::to_value(got).unwrap(),
        json!({
            "service": {"kind": "Service", "namespace": "ns", "name": "web"},
            "compat": "1.37",
            "summary": {
                "pods": 1, "ports": 1, "served": 0, "staleAddresses": 0, "omittedRows": 0, "omittedReasons": 0,
                "scopes": [count("Endpoints"), count("EndpointSlice IPv4")],
            },
            "reasons": [{
                "code": "port-unserved", "severity": "warning", "fix": unserved.fix(),
                "detail": "port 80 (http): pod-ended in 1 pod",
            }],
            "rows": [row("Endpoints"), row("EndpointSlice IPv4")],
        })
    );
}

/// `pods` ready pods without uids, which a Service with `ports` ports selects.
fn crowd(pods: usize, ports: usize) -> PlanRequest {
    let service = (0..ports).fold(builders::service("s"), |service, p| service.port(&format!("p{p}"), p, p + 1));
    let pod = |i: usize| {
        let ip = format!("10.0.{}.{}", i / 250, i % 250);
        json!(builders::pod(&format!("a{i}")).uid("").node("n").ip(&ip).ready())
    };
    let pods: Vec<Value> = (0..pods).map(pod).collect();
    serde_json::from_value(json!({"service": service, "pods": pods, "nodes": [builders::node("n")]})).unwrap()
}

/// A Service on one port that has two pods on node `n`: `a`, which is ready, and `b`, which is not.
fn pair() -> Value {
    let pod = |name: &str, ip: &str| builders::pod(name).labels(json!({"app": "web"})).node("n").ip(ip);
    json!({
        "service": builders::service("web").selector(json!({"app": "web"})).port("http", 80, 8080),
        "pods": [pod("a", "10.0.0.1").ready(), pod("b", "10.0.0.2").not_ready()],
        "nodes": [builders::node("n")],
        "options": {},
    })
}

/// A name, what is changed in [`pair`], and the rows.
type Published<'a> = (&'a str, Vec<(&'a str, Value)>, &'a [&'a str]);

fn published(cases: &[Published<'_>]) {
    for (name, edits, want) in cases {
        let mut request = pair();
        for (pointer, value) in edits {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            request.pointer_mut(parent).unwrap()[key] = value.clone();
        }
        let request: PlanRequest = serde_json::from_value(request).unwrap();
        let explanation = request.with_state(|state, _| explain(state, &request.options));
        assert_eq!(explanation.rows.iter().flat_map(short).collect::<Vec<_>>(), *want, "{name}");
    }
}

#[test]
fn objects_that_stay_are_what_publishes_pods() {
    // Stored when `b` was ready, and `a` was terminating and published as ready.
    let target = |name: &str| json!({"kind": "Pod", "namespace": "ns", "name": name, "uid": name});
    let stored = json!([{
        "metadata": {"namespace": "ns", "name": "web-1", "labels": {
            "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
        "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": true, "terminating": true}, "targetRef": target("a")},
            {"addresses": ["10.0.0.2"], "conditions": {}, "targetRef": target("b")},
        ],
    }]);
    let subsets = json!([{"ports": [{"name": "http", "port": 8080}], "addresses": [{"ip": "10.0.0.2", "targetRef": target("b")}]}]);
    let endpoints = json!({"metadata": {"namespace": "ns", "name": "web", "resourceVersion": "1"}, "subsets": subsets});
    let (slices, gone) = (("/endpointSlices", stored), ("/pods/1/spec/nodeName", json!("gone")));
    let (release, big) = (("/options/compat", json!("1.23")), json!("x".repeat(80 << 20)));
    published(&[
        (
            "a Service that is being deleted",
            vec![
                ("/service/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
                ("/service/spec/trafficDistribution", json!("PreferClose")),
            ],
            &[
                "a http Endpoints: Ready: ready",
                "a http EndpointSlice IPv4: Absent: service-deleting",
                "b http Endpoints: NotReady: not-ready",
                "b http EndpointSlice IPv4: Absent: service-deleting",
            ],
        ),
        (
            "frozen slices that list pods",
            vec![release.clone(), slices.clone(), gone.clone()],
            &[
                "a http Endpoints: Ready: ready",
                "a http EndpointSlice IPv4: served Terminating: terminating missing-node-freezes-slices ready",
                "b http Endpoints: NotReady: not-ready",
                "b http EndpointSlice IPv4: served Ready: ready node-unknown missing-node-freezes-slices",
            ],
        ),
        (
            "frozen slices that list other pods of these names",
            vec![
                release,
                slices.clone(),
                gone,
                ("/pods/0/metadata/uid", json!("new")),
                ("/pods/1/metadata/uid", json!("new")),
            ],
            &[
                "a http Endpoints: Ready: ready",
                "a http EndpointSlice IPv4: Absent: missing-node-freezes-slices",
                "b http Endpoints: NotReady: not-ready",
                "b http EndpointSlice IPv4: Absent: node-unknown missing-node-freezes-slices",
            ],
        ),
        (
            "nothing is planned, and something is stored",
            vec![
                slices,
                ("/endpoints", endpoints),
                ("/service/spec/ports/0/appProtocol", big),
                ("/pods/0/status/phase", json!("Failed")),
            ],
            &[
                "a http Endpoints: Absent: pod-ended plan-too-large",
                "a http EndpointSlice IPv4: served Terminating: terminating pod-ended plan-too-large ready",
                "b http Endpoints: Ready: ready plan-too-large",
                "b http EndpointSlice IPv4: served Ready: ready plan-too-large",
            ],
        ),
    ]);
}

#[test]
fn pods_that_endpoints_take_for_one() {
    let named = json!([{"ports": [{"name": "www", "protocol": "TCP", "containerPort": 8080}]}]);
    let twins = |edits: &[(&'static str, Value)]| {
        let twin = [
            ("/pods/0/metadata/uid", json!("")),
            ("/pods/1/metadata/uid", json!("")),
            ("/pods/1/status/podIPs/0/ip", json!("10.0.0.1")),
        ];
        [&twin, edits].concat()
    };
    published(&[
        (
            "two pods with one address, and nothing that tells them apart",
            twins(&[]),
            &[
                "a http Endpoints: NotReady: not-ready",
                "a http EndpointSlice IPv4: served Ready: ready",
                "b http Endpoints: Absent: duplicate-address",
                "b http EndpointSlice IPv4: NotReady: not-ready",
            ],
        ),
        (
            "the same, where only the second has one of two ports",
            twins(&[
                (
                    "/service/spec/ports",
                    json!([
                        {"name": "http", "protocol": "TCP", "port": 80, "targetPort": "www"},
                        {"name": "more", "protocol": "TCP", "port": 81, "targetPort": 8081},
                    ]),
                ),
                ("/pods/1/spec/containers", named),
                ("/nodes", json!([])),
            ]),
            &[
                "a http Endpoints: NotReady: not-ready",
                "a more Endpoints: NotReady: not-ready",
                "a http EndpointSlice IPv4: Absent: node-unknown named-port-missing",
                "a more EndpointSlice IPv4: Absent: node-unknown",
                "b http Endpoints: Absent: duplicate-address",
                "b more Endpoints: Absent: duplicate-address",
                "b http EndpointSlice IPv4: Absent: node-unknown",
                "b more EndpointSlice IPv4: Absent: node-unknown",
            ],
        ),
    ]);
}

#[test]
fn truncation_is_recorded_for_pods_without_uid() {
    let request = crowd(1002, 2);
    let explanation = request.with_state(|state, _| explain(state, &request.options));
    let cut = explanation.rows.iter().filter(|r| r.reasons[0].code == Reason::Truncated);
    // By address as text, these come last.
    let pods: Vec<_> = cut.flat_map(|r| r.ports.each().map(|p| (r.pod.as_str(), p.map(|p| p.port)))).collect();
    assert_eq!(pods, [("a1000", Some(0)), ("a1000", Some(1)), ("a1001", Some(0)), ("a1001", Some(1))]);
    let of_endpoints = &explanation.summary.scopes[0];
    assert_eq!((of_endpoints.served, of_endpoints.ready, explanation.summary.served), (0, 2000, 2004));
}

/// How many rows there are, as in JSON.
fn listed(explanation: &Explanation) -> usize {
    explanation.rows.iter().map(|row| row.ports.places().len()).sum()
}

#[test]
fn rows_that_are_not_listed_are_counted() {
    let request = crowd(300, 300);
    let explanation = request.with_state(|state, _| explain(state, &request.options));
    assert_eq!(
        (listed(&explanation), explanation.summary.omitted_rows),
        (MAX_LISTED_VERDICTS, 2 * 300 * 300 - MAX_LISTED_VERDICTS)
    );
    assert_eq!((explanation.summary.served, explanation.summary.scopes[1].served), (300 * 300, 300 * 300));
    let focus = Focus { pod: Some(299), ..Focus::default() };
    let explanation = request.with_state(|state, _| explain_only(state, &request.options, focus));
    assert!(explanation.rows.iter().all(|r| r.pod == "a299"));
    let Summary { pods, served, omitted_rows, .. } = explanation.summary;
    assert_eq!((listed(&explanation), pods, served, omitted_rows), (600, 1, 300, 0));
}
