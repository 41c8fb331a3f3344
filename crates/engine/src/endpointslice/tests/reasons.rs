//! The records and findings of slices.

use std::ops::Range;

use serde_json::{Value, json};

use super::{node, plan, pod, records, slice, state};

/// Records as `pod port reason`, without details.
fn codes(state: &Value) -> Vec<String> {
    let ports = |of: &Option<Range<usize>>| match of {
        None => "-".to_owned(),
        Some(ports) => ports.clone().map(|port| port.to_string()).collect::<Vec<_>>().join(","),
    };
    records(state).iter().map(|n| format!("{} {} {}", n.pod, ports(&n.ports), n.reason)).collect()
}

#[test]
fn every_pod_has_a_verdict() {
    let mut state = state(1..=11, &[]);
    state["service"]["spec"]["ports"] = json!([
        {"name": "a", "protocol": "TCP", "port": 1, "targetPort": 80},
        {"name": "b", "protocol": "TCP", "port": 2, "targetPort": "web"},
    ]);
    let web = json!([{"ports": [{"name": "web", "protocol": "TCP", "containerPort": 81}]}]);
    for pod in state["pods"].as_array_mut().unwrap() {
        pod["spec"]["containers"] = web.clone();
    }
    let pods = &mut state["pods"];
    pods[1]["status"]["phase"] = json!("Failed");
    pods[2]["status"] = json!({});
    pods[3]["status"]["podIPs"] = json!([{"ip": "fd00::1"}]);
    pods[4]["spec"]["nodeName"] = json!("gone");
    pods[5]["status"]["podIPs"] = json!([{"ip": "junk"}]);
    pods[6]["spec"]["containers"] = json!([]);
    pods[7]["spec"]["containers"][0]["ports"][0]["protocol"] = json!("UDP");
    pods[8]["status"]["conditions"][0]["status"] = json!("False");
    pods[9]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    pods[10]["spec"]["containers"] = json!([]);
    pods[10]["spec"]["initContainers"] = json!([{"restartPolicy": "Always", "ports": web[0]["ports"]}]);
    let mut want = vec![
        "0 - ready",
        "1 - pod-ended",
        "10 - ready",
        "2 - no-pod-ip",
        "3 - family-mismatch",
        "4 - node-unknown",
        "5 - unparsable-pod-ip",
        "6 - ready",
        "6 1 named-port-missing",
        "7 - ready",
        "7 1 protocol-mismatch",
        "8 - not-ready",
        "9 - terminating",
    ];
    let sorted = |state: &Value| {
        let mut codes = codes(state);
        codes.sort();
        codes
    };
    assert_eq!(sorted(&state), want);
    state["options"]["compat"] = json!("1.32");
    want.insert(3, "10 1 sidecar-port-ignored");
    want[7] = "5 - ready";
    assert_eq!(sorted(&state), want);
}

#[test]
fn details_explain_the_reason() {
    let mut state = state([1, 2], &[]);
    state["pods"][0]["status"]["conditions"][0] =
        json!({"type": "Ready", "status": "False", "reason": "ContainersNotReady"});
    state["pods"][1]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    state["service"]["spec"]["publishNotReadyAddresses"] = json!(true);
    let found: Vec<_> = records(&state).iter().map(|n| format!("{}: {}", n.reason, n.detail)).collect();
    assert_eq!(
        found,
        [
            "published-not-ready: condition Ready is False (ContainersNotReady)",
            "terminating: it still serves; still listed as ready, because the Service sets publishNotReadyAddresses",
        ]
    );
}

#[test]
fn one_missing_node_freezes_all() {
    let mut state = state([1], &[]);
    state["pods"].as_array_mut().unwrap().push(pod(2, "gone"));
    state["options"]["compat"] = json!("1.23");
    let frozen = ["1 - node-unknown", "0 - missing-node-freezes-slices", "1 - missing-node-freezes-slices"];
    assert_eq!(codes(&state), frozen);
    // What is stored stays.
    let mut stored = slice("a", &[2, 3]);
    stored["endpoints"][0]["conditions"]["ready"] = json!(false);
    state["endpointSlices"] = json!([slice("b", &[1]), stored]);
    let later = records(&state).into_iter().skip(3);
    let found: Vec<_> = later.map(|n| format!("{} {:?} {}: {}", n.pod, n.ports, n.reason, n.detail)).collect();
    assert_eq!(
        found,
        [
            "0 Some(0..1) ready: slice b lists it so, and stays as it is",
            "1 Some(0..1) not-ready: slice a lists it so, and stays as it is",
        ]
    );
}

#[test]
fn nothing_is_created_for_a_service_that_is_being_deleted() {
    let mut state = state([1, 2], &[slice("a", &[1])]);
    state["service"]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    state["options"]["maxEndpointsPerSlice"] = json!(1);
    assert_eq!(codes(&state), ["0 - ready", "1 - ready", "1 - service-deleting"]);
}

#[test]
fn hints_are_explained() {
    let mut state = state([1, 2], &[]);
    state["service"]["spec"]["trafficDistribution"] = json!("PreferClose");
    state["pods"][1]["status"]["conditions"] = json!([]);
    assert_eq!(codes(&state), ["0 - ready", "1 - not-ready", "0 - hint-given", "1 - no-hint"]);
    state["service"]["metadata"]["annotations"] = json!({"service.kubernetes.io/topology-mode": "Auto"});
    let found: Vec<_> = records(&state).into_iter().skip(2).map(|n| n.detail).collect();
    let why = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
    assert_eq!(found, [why, why]);
}

/// A Service that asks for hints and gets none for want of a setting that counts.
#[test]
fn hints_that_were_asked_for_in_vain_are_explained() {
    let (mode, hints) = ("service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints");
    for (annotations, distribution, why) in [
        (json!({}), json!(null), None),
        (json!({mode: "Disabled"}), json!(null), None),
        (
            json!({mode: "Auto", hints: "Disabled"}),
            json!(null),
            Some(
                "the annotation service.kubernetes.io/topology-mode is \"Auto\" and has no effect, because the older \
                 one, service.kubernetes.io/topology-aware-hints, is \"Disabled\"",
            ),
        ),
        (
            json!({}),
            json!("Far"),
            Some("spec.trafficDistribution is \"Far\": it can be PreferClose, PreferSameZone or PreferSameNode"),
        ),
    ] {
        let mut state = state([1], &[]);
        state["service"]["metadata"]["annotations"] = annotations;
        state["service"]["spec"]["trafficDistribution"] = distribution;
        let found: Vec<_> = records(&state).into_iter().skip(1).map(|n| (n.reason.code(), n.detail)).collect();
        assert_eq!(found, why.map(|w| ("no-hint", w.to_owned())).into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn pods_that_hide_each_other() {
    let mut state = state([1, 1], &[]);
    state["options"]["compat"] = json!("1.25");
    assert_eq!(codes(&state), ["0 - ready", "1 - ready", "0 - duplicate-address"]);
}

/// The edit, a release that reports findings, their codes, and a release that does not, if there is one.
type DefectCase<'a> = (Vec<(&'a str, Value)>, &'a str, &'a [&'a str], &'a str);

/// One pod and its slice, with places that can be edited.
fn assert_reported(cases: &[DefectCase<'_>]) {
    for (edits, with, codes, without) in cases {
        let mut state = state([1], &[slice("a", &[1])]);
        state["service"]["metadata"]["annotations"] = json!({"x": "y"});
        state["service"]["spec"]["type"] = json!("ClusterIP");
        state["service"]["spec"]["trafficDistribution"] = json!(null);
        for (pointer, value) in edits {
            *state.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value.clone();
        }
        let mut codes_of = |compat: &str| -> Vec<&str> {
            state["options"]["compat"] = json!(compat);
            plan(&state).problems.iter().map(|p| p.code.code()).collect()
        };
        assert_eq!(codes_of(with), *codes, "{with}: {edits:?}");
        if !without.is_empty() {
            assert!(codes_of(without).is_empty(), "{without}: {edits:?}");
        }
    }
}

fn distribution(value: &str) -> (&'static str, Value) {
    ("/service/spec/trafficDistribution", json!(value))
}

/// Each finding, with a release that reports it and one that does not.
#[test]
fn defects_are_reported_for_the_releases_that_have_them() {
    let mut twin = pod(2, "n");
    twin["status"]["podIPs"][0]["ip"] = json!("10.0.0.1");
    let none = &[][..];
    assert_reported(&[
        (vec![], "1.22", none, "1.37"),
        (vec![("/nodes", json!([]))], "1.23", &["missing-node-freezes-slices"], ""),
        (vec![("/nodes", json!([]))], "1.24", &["missing-node-retries"], ""),
        (
            vec![
                ("/pods", json!([])),
                ("/endpointSlices/0/endpoints", json!([])),
                ("/endpointSlices/0/ports", json!([])),
            ],
            "1.23",
            &["placeholder-churn"],
            "1.24",
        ),
        (vec![("/endpointSlices/0/endpoints/0/zone", json!("old"))], "1.23", &["stale-node-or-zone"], "1.24"),
        (vec![("/pods", json!([pod(1, "n"), twin]))], "1.25", &["shared-address-collapses"], "1.26"),
        (
            vec![("/nodes", json!([node("n", "", "1")])), distribution("PreferClose")],
            "1.32",
            &["empty-zone-hint"],
            "1.33",
        ),
        (
            vec![
                ("/pods/0/status/conditions", json!([])),
                (
                    "/endpointSlices/0/endpoints/0/conditions",
                    json!({"ready": false, "serving": false, "terminating": false}),
                ),
                distribution("PreferClose"),
            ],
            "1.37",
            none,
            "",
        ),
        (
            vec![("/service/spec/ports", json!([])), ("/endpointSlices/0/ports", json!(null))],
            "1.35",
            &["portless-churn"],
            "1.36",
        ),
        (vec![("/service/spec/type", json!("ExternalName"))], "1.26", &["externalname-publishes"], "1.27"),
        (vec![("/pods/0/status/podIPs", json!([{"ip": "junk"}]))], "1.33", &["unparsable-pod-ip"], "1.32"),
        (vec![("/endpointSlices/0/metadata/ownerReferences", json!([]))], "1.37", &["wrong-owner"], ""),
        (
            vec![("/endpointSlices/0/metadata/labels", json!({"kubernetes.io/service-name": "web"}))],
            "1.37",
            &["foreign-slice"],
            "",
        ),
        (
            vec![
                ("/service/spec/ports/0", json!({"name": "http", "protocol": "TCP", "port": 80, "targetPort": "side"})),
                (
                    "/pods/0/spec",
                    json!({"nodeName": "n", "initContainers": [{"restartPolicy": "Always",
                    "ports": [{"name": "side", "protocol": "TCP", "containerPort": 8080}]}]}),
                ),
            ],
            "1.32",
            &["sidecar-port-split"],
            "1.33",
        ),
    ]);
}

#[test]
fn settings_without_effect_are_reported() {
    let annotations = |all: Value| ("/service/metadata/annotations", all);
    let annotation = |key: &str, value: &str| annotations(json!({key: value}));
    let (mode, hints) = ("service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints");
    let none = &[][..];
    assert_reported(&[
        (vec![annotation(hints, "Auto")], "1.23", &["setting-ignored"], "1.24"),
        (vec![annotation(mode, "Auto")], "1.26", &["setting-ignored"], "1.27"),
        (vec![distribution("PreferClose")], "1.30", &["setting-ignored"], "1.31"),
        (vec![distribution("PreferSameNode")], "1.33", &["setting-ignored"], "1.34"),
        (vec![annotations(json!({mode: "Auto", hints: "Disabled"}))], "1.37", &["setting-overridden"], ""),
        (vec![annotations(json!({mode: "Disabled", hints: "Disabled"}))], "1.37", none, "1.27"),
        (vec![annotation(mode, "Auto"), distribution("PreferClose")], "1.37", &["setting-overridden"], ""),
        (vec![annotation(hints, "auto"), distribution("PreferSameNode")], "1.27", &["setting-overridden"], ""),
        (vec![annotation(mode, "Disabled"), distribution("PreferClose")], "1.37", none, "1.31"),
        (vec![distribution("Far")], "1.37", &["invalid-setting"], ""),
        (vec![annotation(mode, "ProportionalZoneCPU")], "1.37", &["invalid-setting"], ""),
        (vec![annotation(mode, "Disabled")], "1.26", none, "1.37"),
    ]);
}

#[test]
fn a_port_of_a_sidecar_is_told_by_its_number() {
    let mut state = state([1], &[]);
    state["options"]["compat"] = json!("1.32");
    state["pods"][0]["spec"]["initContainers"] =
        json!([{"restartPolicy": "Always", "ports": [{"name": "side", "protocol": "TCP", "containerPort": 9000}]}]);
    for (name, want) in [("http", "port 80 (http)"), ("", "port 80")] {
        state["service"]["spec"]["ports"] =
            json!([{"name": name, "protocol": "TCP", "port": 80, "targetPort": "side"}]);
        let found: Vec<_> = plan(&state).problems.into_iter().map(|p| p.message).collect();
        assert_eq!(found, [format!("{want} is found in a native sidecar by the Endpoints only; pod p1 has it there")]);
    }
}

#[test]
fn hints_of_unready_endpoints_are_reported() {
    let mut stored = slice("a", &[1]);
    stored["endpoints"][0]["conditions"] = json!({"ready": false, "serving": false, "terminating": false});
    stored["endpoints"][0]["hints"] = json!({"forZones": [{"name": "old"}]});
    let mut state = state([1], &[stored]);
    state["pods"][0]["status"]["conditions"] = json!([]);
    state["service"]["spec"]["trafficDistribution"] = json!("PreferClose");
    let codes: Vec<_> = plan(&state).problems.iter().map(|p| p.code.code()).collect();
    assert_eq!(codes, ["stale-hint-on-unready"]);
}

/// Nonsense is worked on like everything else.
#[test]
fn nonsense_does_no_harm() {
    let mut state = state([1, 1, 2], &[slice("a", &[1, 1]), slice("a", &[2]), slice("", &[3])]);
    state["service"]["spec"]["ports"] = json!([
        {"name": "", "protocol": "", "port": -1, "targetPort": "x"},
        {"name": "", "protocol": "", "port": 99999, "targetPort": "y"},
        {"name": "", "protocol": "", "port": 99999, "targetPort": -5},
    ]);
    state["endpointSlices"][0]["ports"] = json!([{}, {}]);
    state["endpointSlices"][1]["endpoints"] = json!([{}, {"addresses": [], "hints": {}}]);
    state["pods"][0]["status"]["podIPs"] = json!([{}, {"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]);
    state["nodes"] = json!([node("n", "z", "1"), node("n", "y", "-3"), node("", "", "0")]);
    for compat in crate::profile::Minor::all() {
        state["options"]["compat"] = json!(compat.to_string());
        for annotation in ["Auto", "Disabled"] {
            state["service"]["metadata"]["annotations"] = json!({"service.kubernetes.io/topology-mode": annotation});
            assert!(!plan(&state).is_noop(), "{compat}");
        }
    }
}
