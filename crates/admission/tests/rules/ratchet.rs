//! Updates: a fault of the stored object is a warning, and a new one is refused.

use super::*;

fn endpoints(ips: &[&str]) -> Value {
    let list: Value = ips.iter().map(|ip| json!({ "ip": ip })).collect();
    object("Endpoints", "byhand", &[("/subsets/0/addresses", list)])
}

fn update(old: &Value, new: &Value, change: impl FnOnce(&mut Settings)) -> Decision {
    let (inventory, mut settings) = (cluster(), strict());
    settings.set(Rule::EndpointsDeprecated, Mode::Off);
    change(&mut settings);
    ask(new, Some(old), Stage::Validate, &settings, &Answers(Snapshot::of(&inventory)))
}

#[test]
fn a_stored_fault_is_a_warning_and_not_refused() {
    let (bad, worse) =
        (endpoints(&["127.0.0.1", "10.0.0.1"]), endpoints(&["10.0.0.2", "10.0.0.1", "127.0.0.1", "127.0.0.2"]));
    let same = update(&bad, &bad, |_| {});
    assert!(same.allowed());
    assert_eq!(
        same.warnings,
        [
            "subsets[0].addresses[0].ip: 127.0.0.1 is a loopback address (special-address)",
            "subsets[0].addresses[0].ip: 127.0.0.1 is not the address of a pod in namespace shop (address-provenance)",
        ]
    );
    assert!(same.findings.iter().all(|f| f.mode == Mode::Warn && !f.refused));
    // The index does not matter, the address does.
    let refused = update(&bad, &worse, |_| {});
    let message = refused.denied.unwrap().message;
    assert!(message.contains("127.0.0.2 is a loopback") && !message.contains("127.0.0.1"), "{message}");
    assert!(refused.warnings[0].contains("127.0.0.1 is a loopback"), "{:?}", refused.warnings);
    // A stored object without the fault does not excuse it.
    assert!(!update(&endpoints(&["10.0.0.1"]), &bad, |_| {}).allowed());
}

#[test]
fn a_fault_that_was_not_enforced_before_is_refused() {
    let bad = endpoints(&["127.0.0.1"]);
    for (name, before, want) in [
        ("the same", None, true),
        ("also enforced before", Some(strict()), true),
        ("only a warning before", Some(only(&[(Rule::SpecialAddress, Mode::Warn)])), false),
        ("off before", Some(only(&[])), false),
    ] {
        let decision = update(&bad, &bad, |s| {
            s.set(Rule::Provenance, Mode::Off);
            s.before = before.map(Into::into);
        });
        assert_eq!(decision.allowed(), want, "{name}");
    }
}

#[test]
fn ten_known_faults_do_not_hide_an_eleventh() {
    let many: Vec<String> = (1..=30).map(|i| format!("127.0.0.{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let only_special = |s: &mut Settings| s.set(Rule::Provenance, Mode::Off);
    let known = update(&endpoints(&many[..29]), &endpoints(&many[..29]), only_special);
    assert!(known.allowed());
    assert_eq!(known.warnings.len(), 11);
    assert_eq!(known.warnings[10], "and 19 more of special-address");
    let denied = update(&endpoints(&many[..29]), &endpoints(&many), only_special).denied.unwrap();
    assert_eq!(denied.message, "subsets[0].addresses[29].ip: 127.0.0.30 is a loopback address (special-address)");
}

#[test]
fn a_larger_excess_is_a_new_fault() {
    let of = |n: usize| {
        let list: Value = (0..n).map(|i| json!({ "ip": format!("10.0.{}.{}", i / 250, i % 250) })).collect();
        object("Endpoints", "byhand", &[("/subsets/0/addresses", list)])
    };
    let deny = |s: &mut Settings| {
        *s = only(&[(Rule::OverCapacity, Mode::Enforce)]);
        s.capacity = Capacity::Deny;
    };
    assert!(!update(&of(1000), &of(1001), deny).allowed());
    assert!(update(&of(1200), &of(1100), deny).allowed());
    assert!(!update(&of(1200), &of(1201), deny).allowed());
}

#[test]
fn a_finalizer_can_be_removed_but_new_faults_are_refused() {
    let leaving = |ips: &[&str], finalizers: Value| {
        let mut object = endpoints(ips);
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        object["metadata"]["finalizers"] = finalizers;
        object["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"] = "endpoint-controller".into();
        object
    };
    let stored = leaving(&["127.0.0.1"], json!(["a/b"]));
    assert!(update(&stored, &leaving(&["127.0.0.1"], json!([])), |_| {}).allowed());
    assert!(!update(&stored, &leaving(&["169.254.169.254"], json!(["a/b"])), |_| {}).allowed());
}

#[test]
fn a_controllers_object_may_be_touched_and_not_taken_over() {
    let slice = |by: Option<&str>, note: &str| {
        let mut object = object("EndpointSlice", "s", &[("/metadata/annotations/note", note.into())]);
        if let Some(by) = by {
            object["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] = by.into();
        }
        object
    };
    let controller = Some("endpointslice-controller.k8s.io");
    let touched = update(&slice(controller, "a"), &slice(controller, "b"), |_| {});
    assert_eq!((touched.denied, touched.warnings), (None, vec![]));
    for before in [None, Some("me"), Some("endpointslicemirroring-controller.k8s.io")] {
        let denied = update(&slice(before, "a"), &slice(controller, "b"), |_| {}).denied.unwrap();
        assert_eq!(denied.code, 403);
    }
}

#[test]
fn an_unreadable_stored_object_does_not_excuse_a_fault() {
    let bad = endpoints(&["127.0.0.1"]);
    assert!(!update(&json!({ "subsets": 7 }), &bad, |_| {}).allowed());
    assert!(!update(&Value::Null, &bad, |_| {}).allowed());
}

#[test]
fn stored_faults_of_services_are_not_refused() {
    let with = |changes: &[(&str, Value)]| object("Service", "s", changes);
    let old = [
        ("/spec/externalIPs", json!(["8.8.8.8"])),
        ("/metadata/labels/kubernetes.io~1service-name", "x".into()),
        ("/metadata/annotations/topologyKeys", "zone".into()),
        ("/metadata/annotations/service.kubernetes.io~1topology-mode", "yes".into()),
        ("/metadata/annotations/service.alpha.kubernetes.io~1tolerate-unready-endpoints", "yes".into()),
        ("/spec/trafficDistribution", "Near".into()),
        ("/spec/selector", json!({ "app": "nobody" })),
    ];
    let mut new = old.to_vec();
    new.push(("/metadata/annotations/note", "1".into()));
    let decision = update(&with(&old), &with(&new), |_| {});
    assert!(decision.allowed(), "{decision:?}");
    assert_eq!(decision.warnings.len(), 7);
    new[0].1 = json!(["8.8.8.8", "1.1.1.1"]);
    let denied = update(&with(&old), &with(&new), |_| {}).denied.unwrap();
    assert_eq!(
        denied.message,
        "spec.externalIPs[1]: 1.1.1.1 is allowed by no policy, and may be another's (external-ip)"
    );
}

/// A row: what the update does, changes that make the stored object, changes that make the new one, and whether the
/// update is allowed.
type UpdateRow<'a> = (&'a str, Vec<(&'a str, Value)>, Vec<(&'a str, Value)>, bool);

/// Updates of an object with one fault. Every row changes both the stored object and the new one from `object`.
fn check_updates(rule: Rule, object: &Value, rows: &[UpdateRow<'_>]) {
    let changed = |changes: &[(&str, Value)]| {
        let mut object = object.clone();
        for (pointer, value) in changes {
            let op = if value.is_null() { PatchOp::remove(*pointer) } else { PatchOp::add(*pointer, value.clone()) };
            apply(&[op], &mut object).unwrap();
        }
        object
    };
    for (name, before, after, want) in rows {
        let decision = update(&changed(before), &changed(after), |s| *s = only(&[(rule, Mode::Enforce)]));
        assert_eq!(decision.allowed(), *want, "{rule}: {name}: {decision:?}");
    }
}

#[test]
fn a_stored_address_of_a_slice_is_excused_for_the_same_traffic_only() {
    let stored = object(
        "EndpointSlice",
        "s",
        &[("/endpoints/0", json!({ "addresses": ["10.0.0.9"], "conditions": { "ready": false } }))],
    );
    let service = "/metadata/labels/kubernetes.io~1service-name";
    let headless = "/metadata/labels/service.kubernetes.io~1headless";
    let port = json!({ "name": "metrics", "port": 9090 });
    let conditions = |ready: bool, serving: bool, terminating: bool| {
        let conditions = json!({ "ready": ready, "serving": serving, "terminating": terminating });
        vec![("/endpoints/0/conditions", conditions)]
    };
    check_updates(
        Rule::Provenance,
        &stored,
        &[
            ("nothing", vec![], vec![], true),
            ("an annotation", vec![], vec![("/metadata/annotations/note", "x".into())], true),
            ("a label that no consumer reads", vec![], vec![("/metadata/labels/team", "a".into())], true),
            ("a field of the endpoint", vec![], vec![("/endpoints/0/zone", "a".into())], true),
            ("another endpoint", vec![], vec![("/endpoints/1", json!({ "addresses": ["10.0.0.1"] }))], true),
            (
                "another endpoint removed",
                vec![
                    ("/endpoints/0", json!({ "addresses": ["10.0.0.1"] })),
                    ("/endpoints/1", stored["endpoints"][0].clone()),
                ],
                vec![],
                true,
            ),
            ("the default protocol", vec![], vec![("/ports/0/protocol", Value::Null)], true),
            ("an application protocol", vec![], vec![("/ports/0/appProtocol", "http".into())], true),
            ("leading zeros removed", vec![("/endpoints/0/addresses", json!(["010.0.0.09"]))], vec![], true),
            ("not ready any more", vec![("/endpoints/0/conditions", json!({ "ready": true }))], vec![], true),
            ("terminating", conditions(true, true, false), conditions(false, true, true), true),
            ("ready", vec![], vec![("/endpoints/0/conditions", json!({ "ready": true }))], false),
            ("ready by default", vec![], vec![("/endpoints/0/conditions", Value::Null)], false),
            ("ready after terminating", conditions(false, true, true), conditions(true, true, true), false),
            ("terminating after not ready", conditions(false, false, false), conditions(false, true, true), false),
            ("another port", vec![], vec![("/ports/0/port", 10250.into())], false),
            ("the port for another port of the Service", vec![], vec![("/ports/0/name", "metrics".into())], false),
            ("another protocol", vec![], vec![("/ports/0/protocol", "UDP".into())], false),
            ("every port", vec![], vec![("/ports/0/port", Value::Null)], false),
            ("one more port", vec![], vec![("/ports/1", port)], false),
            ("another Service", vec![], vec![(service, "byhand".into())], false),
            ("a Service after none", vec![(service, Value::Null)], vec![], false),
            ("kube-proxy reads it again", vec![(headless, "".into())], vec![], false),
            ("kube-proxy ignores it", vec![], vec![(headless, "".into())], true),
            ("another address", vec![], vec![("/endpoints/0/addresses", json!(["10.0.0.8"]))], false),
        ],
    );
    for (rule, address) in
        [(Rule::SpecialAddress, "127.0.0.1"), (Rule::AddressType, "fd00::1"), (Rule::DuplicateEndpoint, "10.0.0.1")]
    {
        let mut stored = stored.clone();
        stored["endpoints"][0]["addresses"] = json!([address]);
        check_updates(
            rule,
            &stored,
            &[
                ("an annotation", vec![], vec![("/metadata/annotations/note", "x".into())], true),
                ("ready", vec![], vec![("/endpoints/0/conditions/ready", true.into())], false),
                ("another port", vec![], vec![("/ports/0/port", 10250.into())], false),
            ],
        );
    }
}

#[test]
fn a_stored_address_of_endpoints_is_excused_for_the_same_traffic_only() {
    let subset = |ready: &[&str], not_ready: &[&str], port: i32| {
        let list = |ips: &[&str]| ips.iter().map(|ip| json!({ "ip": ip })).collect::<Value>();
        let ports = json!([{ "name": "http", "port": port }]);
        json!({ "addresses": list(ready), "notReadyAddresses": list(not_ready), "ports": ports })
    };
    let subsets = |subsets: &[Value]| vec![("/subsets", Value::from(subsets))];
    let stored = || subsets(&[subset(&["10.0.0.1"], &["10.0.0.9"], 80)]);
    let with = |more: Vec<(&'static str, Value)>| [stored(), more].concat();
    let skip = "/metadata/labels/endpointslice.kubernetes.io~1skip-mirror";
    check_updates(
        Rule::Provenance,
        &object("Endpoints", "byhand", &[]),
        &[
            ("an annotation", stored(), with(vec![("/metadata/annotations/note", "x".into())]), true),
            ("a label", stored(), with(vec![("/metadata/labels/team", "a".into())]), true),
            ("another place", stored(), subsets(&[subset(&[], &["10.0.0.1", "10.0.0.9"], 80)]), true),
            (
                "a subset before it",
                stored(),
                subsets(&[subset(&["10.0.0.2"], &[], 81), subset(&[], &["10.0.0.9"], 80)]),
                true,
            ),
            (
                "not ready any more",
                subsets(&[subset(&["10.0.0.9"], &[], 80)]),
                subsets(&[subset(&[], &["10.0.0.9"], 80)]),
                true,
            ),
            ("leading zeros removed", subsets(&[subset(&[], &["010.0.0.9"], 80)]), stored(), true),
            ("ready", stored(), subsets(&[subset(&["10.0.0.9"], &[], 80)]), false),
            ("another port", stored(), subsets(&[subset(&[], &["10.0.0.9"], 10250)]), false),
            (
                "the port of another subset",
                subsets(&[subset(&[], &["10.0.0.9"], 80), subset(&["10.0.0.1"], &[], 10250)]),
                subsets(&[subset(&["10.0.0.1"], &[], 80), subset(&[], &["10.0.0.9"], 10250)]),
                false,
            ),
            ("mirrored again", with(vec![(skip, "true".into())]), stored(), false),
        ],
    );
}

#[test]
fn a_stored_address_of_a_service_is_excused_for_the_same_pods_and_ports_only() {
    let selector = ("/spec/selector", json!({ "app": "web" }));
    let of_type = |kind: &str| vec![("/spec/type", kind.into())];
    let headless = vec![("/spec/clusterIP", "None".into())];
    let other_proxy = vec![("/metadata/labels/service.kubernetes.io~1service-proxy-name", "mine".into())];
    for (rule, field, other) in [
        (Rule::ExternalIp, ("/spec/externalIPs", json!(["8.8.8.8"])), ("/spec/externalIPs", json!(["08.8.8.8"]))),
        (Rule::LoadBalancerIp, ("/spec/loadBalancerIP", "8.8.8.8".into()), ("/spec/loadBalancerIP", "08.8.8.8".into())),
    ] {
        check_updates(
            rule,
            &object("Service", "s", &[selector.clone(), field, ("/spec/type", "LoadBalancer".into())]),
            &[
                ("nothing", vec![], vec![], true),
                ("an annotation", vec![], vec![("/metadata/annotations/note", "x".into())], true),
                ("leading zeros removed", vec![other.clone()], vec![], true),
                ("leading zeros added", vec![], vec![other], true),
                ("what is the default", vec![], vec![("/spec/ports/0/targetPort", 80.into())], true),
                ("a node port", vec![], vec![("/spec/ports/0/nodePort", 30080.into())], true),
                ("another selector", vec![], vec![("/spec/selector", json!({ "app": "evil" }))], false),
                ("no selector", vec![], vec![("/spec/selector", Value::Null)], false),
                ("another port", vec![], vec![("/spec/ports/0/port", 443.into())], false),
                ("another target", vec![], vec![("/spec/ports/0/targetPort", 8443.into())], false),
                ("one more port", vec![], vec![("/spec/ports/1", json!({ "name": "b", "port": 443 }))], false),
                ("no type", of_type("ExternalName"), vec![("/spec/type", Value::Null)], false),
                ("not an ExternalName any more", of_type("ExternalName"), of_type("NodePort"), false),
                ("a load balancer instead of an ExternalName", of_type("ExternalName"), vec![], false),
                ("an ExternalName", vec![], of_type("ExternalName"), true),
                ("a node port instead of a load balancer", vec![], of_type("NodePort"), true),
                ("a node port instead of a cluster IP", of_type("ClusterIP"), of_type("NodePort"), true),
                ("not headless any more", headless.clone(), vec![], false),
                ("kube-proxy serves it again", other_proxy.clone(), vec![], false),
            ],
        );
    }
    // External IPs have the same effect for every type but ExternalName; a load balancer IP only for LoadBalancer.
    for (rule, field, allowed) in [
        (Rule::ExternalIp, ("/spec/externalIPs", json!(["8.8.8.8"])), true),
        (Rule::LoadBalancerIp, ("/spec/loadBalancerIP", "8.8.8.8".into()), false),
    ] {
        let rows = ["ClusterIP", "NodePort"].map(|kind| (kind, of_type(kind), of_type("LoadBalancer"), allowed));
        check_updates(rule, &object("Service", "s", &[selector.clone(), field]), &rows);
    }
}

#[test]
fn a_refused_update_of_a_stored_address_says_why() {
    let changes = |port: i32| vec![("/endpoints/0/addresses", json!(["10.0.0.9"])), ("/ports/0/port", port.into())];
    let slice = |port| object("EndpointSlice", "s", &changes(port));
    let denied = update(&slice(80), &slice(10250), |s| *s = only(&[(Rule::Provenance, Mode::Enforce)])).denied.unwrap();
    assert_eq!(
        denied.message,
        "endpoints[0].addresses[0]: 10.0.0.9 is not the address of a pod in namespace shop; the update sends other traffic \
         to it (address-provenance)"
    );
}

#[test]
fn a_missing_port_is_excused_for_the_same_selector_and_name_only() {
    let with = |app: &str, target: &str| {
        object(
            "Service",
            "s",
            &[("/spec/selector", json!({ "app": app })), ("/spec/ports/0/targetPort", target.into())],
        )
    };
    for (name, before, after, want) in [
        ("nothing", with("web", "htpp"), with("web", "htpp"), true),
        ("another name", with("web", "htpp"), with("web", "htp"), false),
        ("another selector", with("node", "htpp"), with("web", "htpp"), false),
    ] {
        let decision = update(&before, &after, |s| *s = only(&[(Rule::TargetPortMissing, Mode::Enforce)]));
        assert_eq!(decision.allowed(), want, "{name}: {decision:?}");
    }
}
