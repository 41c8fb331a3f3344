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
    ask(new, Some(old), Stage::Validate, &settings, &Snapshot::of(&inventory))
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
            s.before = before.map(Box::new);
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
    assert_eq!(denied.message, "spec.externalIPs[1]: 1.1.1.1 is not in a range that a policy allows (external-ip)");
}
