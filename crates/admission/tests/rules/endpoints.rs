use serde_json::value::RawValue;

use super::*;

const CAPACITY: &str = "/metadata/annotations/endpoints.kubernetes.io~1over-capacity";

/// Subsets with these numbers of ready and not ready addresses, each with an unknown field.
fn subsets(counts: &[[usize; 2]]) -> Value {
    let addresses = |subset: usize, list: usize, n: usize| -> Value {
        (0..n)
            .map(|i| json!({ "ip": format!("10.{}.{}.{}", 16 * list + subset, i / 250, i % 250 + 1), "later": { "x": [i] } }))
            .collect()
    };
    counts
        .iter()
        .enumerate()
        .map(|(i, [ready, not_ready])| {
            json!({
                "addresses": addresses(i, 0, *ready),
                "notReadyAddresses": addresses(i, 1, *not_ready),
                "ports": [{ "name": "p", "port": 1000 + i, "protocol": "TCP" }],
                "future": i,
            })
        })
        .collect()
}

fn subset(ready: &[&str], not_ready: &[&str], ports: &[i32]) -> Value {
    let list = |ips: &[&str]| ips.iter().map(|ip| json!({ "ip": ip })).collect::<Value>();
    let ports: Value = ports.iter().map(|p| json!({ "name": "p", "port": p, "protocol": "TCP" })).collect();
    json!({ "addresses": list(ready), "notReadyAddresses": list(not_ready), "ports": ports })
}

fn truncated(counts: &[[usize; 2]]) -> (Value, Value) {
    let object =
        object("Endpoints", "byhand", &[("/subsets", subsets(counts)), ("/newField", json!({ "kept": true }))]);
    let (patch, after) = patched(&object, |_| {});
    assert_eq!(after["newField"], object["newField"]);
    assert_eq!(after["metadata"]["annotations"]["endpoints.kubernetes.io/over-capacity"], "truncated");
    // The first addresses stay, with all their fields.
    for subset in after["subsets"].as_array().unwrap() {
        let before = &object["subsets"][usize::try_from(subset["future"].as_u64().unwrap()).unwrap()];
        assert_eq!(subset["ports"], before["ports"]);
        for list in ["addresses", "notReadyAddresses"] {
            let kept = subset[list].as_array().map_or(&[][..], Vec::as_slice);
            assert_eq!(kept, &before[list].as_array().unwrap()[..kept.len()]);
        }
    }
    (patch, after)
}

fn counts(object: &Value) -> Vec<[usize; 2]> {
    let len = |v: &Value| v.as_array().map_or(0, Vec::len);
    object["subsets"].as_array().unwrap().iter().map(|s| [len(&s["addresses"]), len(&s["notReadyAddresses"])]).collect()
}

#[test]
fn too_many_addresses_are_truncated_as_the_controller_does() {
    type Counts = &'static [[usize; 2]];
    let cases: &[(Counts, Counts, usize)] = &[
        (&[[600, 0], [401, 0]], &[[600, 0], [400, 0]], 2),
        (&[[600, 100], [600, 50], [600, 0]], &[[334, 0], [334, 0], [332, 0]], 266 + 266 + 268 + 2 + 1),
        // The last subsets keep nothing, and an API server refuses an empty subset.
        (&[[999, 0], [999, 0], [2, 0], [1, 0]], &[[500, 0], [500, 0]], 499 + 499 + 2 + 1),
        (&[[900, 101]], &[[900, 100]], 2),
        // Many addresses are not removed one by one: the remaining ones are written.
        (&[[2500, 1500]], &[[1000, 0]], 2),
    ];
    for (given, want, operations) in cases {
        let (patch, patched) = truncated(given);
        assert_eq!(counts(&patched), *want, "{given:?}");
        assert_eq!(patch.as_array().unwrap().len(), *operations, "{given:?}");
    }
    let (patch, _) = truncated(&[[600, 0], [401, 0]]);
    assert_eq!(patch[0], json!({ "op": "remove", "path": "/subsets/1/addresses/400" }));
    let exact = object("Endpoints", "byhand", &[("/subsets", subsets(&[[600, 100], [300, 0]]))]);
    assert_eq!(patched(&exact, |_| {}).0, json!([]));
}

#[test]
fn many_empty_subsets_do_not_make_a_long_patch() {
    let with = |empty: usize, future: &str| {
        let mut all = vec![json!({}); empty];
        all.push(subsets(&[[1001, 0]])[0].take());
        let text = object("Endpoints", "byhand", &[("/subsets", all.into())]).to_string();
        text.replacen("\"future\":0", &format!("\"future\":{future}"), 1)
    };
    let (patch, after) = patched(&serde_json::from_str(&with(5000, "0")).unwrap(), |_| {});
    assert_eq!(patch.as_array().unwrap().len(), 2);
    assert_eq!(counts(&after), [[1000, 0]]);
    assert_eq!(after["subsets"][0]["future"], 0);
    // A number out of range keeps its text: nothing is rewritten.
    let raw = RawValue::from_string(with(1200, "1e400")).unwrap();
    let request = AdmissionRequest {
        version: "v1".into(),
        kind: "Endpoints".into(),
        operation: Some(Operation::Create),
        object: Some(&raw),
        ..AdmissionRequest::default()
    };
    let decision = decide(&request, Stage::Mutate, &only(&[(Rule::OverCapacity, Mode::Enforce)]), &Nothing).unwrap();
    let removed = decision.patch.iter().filter(|op| matches!(op, PatchOp::Remove { .. })).count();
    assert_eq!(removed, 1201);
}

#[test]
fn annotations_may_be_missing_null_or_full() {
    let many = || ("/subsets", subsets(&[[1001, 0]]));
    let last = |object: &Value| patched(object, |_| {}).0.as_array().unwrap()[1..].to_vec();
    let set = json!({ "op": "add", "path": CAPACITY, "value": "truncated" });
    let make = json!({ "op": "add", "path": "/metadata/annotations", "value": {} });
    let mut object_of = object("Endpoints", "byhand", &[many()]);
    assert_eq!(last(&object_of), std::slice::from_ref(&set));
    object_of["metadata"]["annotations"] = Value::Null;
    assert_eq!(last(&object_of), [make.clone(), set.clone()]);
    object_of["metadata"].as_object_mut().unwrap().remove("annotations");
    assert_eq!(last(&object_of), [make, set.clone()]);
    assert_eq!(last(&object("Endpoints", "byhand", &[many(), (CAPACITY, "warning".into())])), [set]);
}

#[test]
fn a_policy_may_refuse_instead_of_truncating() {
    let many = object("Endpoints", "byhand", &[("/subsets", subsets(&[[1001, 0]]))]);
    let deny = |settings: &mut Settings| settings.capacity = Capacity::Deny;
    assert_eq!(patched(&many, deny).0, json!([]));
    assert_eq!(found(Rule::OverCapacity, &many, deny), ["subsets: 1001 addresses; at most 1000 are allowed"]);
    let strict = |settings: &mut Settings| {
        deny(settings);
        settings.capacity_policy = Some("strict".into());
    };
    let want = "subsets: 1001 addresses; at most 1000 are allowed by EndpointPolicy strict";
    assert_eq!(found(Rule::OverCapacity, &many, strict), [want]);
    // An object that the mutating webhook would truncate is not refused.
    assert_eq!(found(Rule::OverCapacity, &many, |_| {}), ["subsets: 1001 addresses; at most 1000 fit"]);
}

#[test]
fn the_leftover_of_1_21_is_removed() {
    let with = |value: &str| patched(&object("Endpoints", "byhand", &[(CAPACITY, value.into())]), |_| {}).0;
    assert_eq!(with("warning"), json!([{ "op": "remove", "path": CAPACITY }]));
    assert_eq!(with("truncated"), json!([]));
    // The annotation is wrong also where the object is not truncated.
    let many = object("Endpoints", "byhand", &[("/subsets", subsets(&[[1001, 0]])), (CAPACITY, "warning".into())]);
    let (patch, _) = patched(&many, |s| s.set(Rule::OverCapacity, Mode::Warn));
    assert_eq!(patch, json!([{ "op": "remove", "path": CAPACITY }]));
}

#[test]
fn the_headless_label_follows_the_service() {
    let label = "/metadata/labels/service.kubernetes.io~1headless";
    let of = |service: &str, changes: &[(&str, Value)]| patched(&object("Endpoints", service, changes), |_| {}).0;
    let set = json!({ "op": "add", "path": label, "value": "" });
    assert_eq!(of("db", &[]), json!([set]));
    assert_eq!(
        of("db", &[("/metadata/labels", Value::Null)]),
        json!([{ "op": "add", "path": "/metadata/labels", "value": {} }, set])
    );
    assert_eq!(of("db", &[(label, "x".into())]), json!([]));
    assert_eq!(of("byhand", &[(label, "".into())]), json!([{ "op": "remove", "path": label }]));
    for service in ["byhand", "alias", "unstored", "unknown"] {
        assert_eq!(of(service, &[]), json!([]), "{service}");
    }
    let db = object("Endpoints", "db", &[]);
    let decision = ask(&db, None, Stage::Mutate, &strict(), &Nothing);
    assert_eq!(decision, Decision::default());
    let decision = ask(&db, None, Stage::Validate, &strict(), &Nothing);
    assert_eq!(decision.audit["headless-label"], "not checked: there is no cluster to ask");
}

#[test]
fn objects_of_controllers_are_not_changed() {
    let many = || ("/subsets", subsets(&[[1001, 0]]));
    let managed = |by: &str| ("/metadata/labels/endpoints.kubernetes.io~1managed-by", by.into());
    let leaving = ("/metadata/deletionTimestamp", "2026-01-01T00:00:00Z".into());
    for (name, service, changes, changed) in [
        ("of no controller", "byhand", vec![], true),
        ("of a Service with a selector", "web", vec![], false),
        ("of a Service with a selector, with the label", "web", vec![managed("endpoint-controller")], false),
        // Any writer can set the label.
        ("with the label of the controller", "byhand", vec![managed("endpoint-controller")], true),
        ("with the label of the controller, without a Service", "none", vec![managed("endpoint-controller")], true),
        ("with another label", "byhand", vec![managed("me")], true),
        ("that are being deleted", "byhand", vec![leaving], false),
    ] {
        let object = object("Endpoints", service, &[vec![many()], changes].concat());
        assert_eq!(patched(&object, |_| {}).0 != json!([]), changed, "{name}");
    }
}

#[test]
fn a_repeated_address_of_a_port_is_found() {
    let duplicates = |subsets: Value| {
        found(Rule::DuplicateAddress, &object("Endpoints", "byhand", &[("/subsets", subsets)]), |_| {})
    };
    for (name, subsets, want) in [
        ("each once", json!([subset(&["1", "2"], &["3"], &[80])]), vec![]),
        ("other ports", json!([subset(&["1"], &[], &[80]), subset(&[], &["1"], &[81])]), vec![]),
        (
            "twice",
            json!([subset(&["1", "1"], &[], &[80])]),
            vec!["subsets[0].addresses[1].ip: 1 is listed twice for one port"],
        ),
        (
            "twice, in two forms",
            json!([subset(&["10.0.0.1", "010.0.0.1"], &["::ffff:10.0.0.1"], &[80])]),
            vec![
                "subsets[0].addresses[1].ip: 010.0.0.1 is listed twice for one port",
                "subsets[0].notReadyAddresses[0].ip: ::ffff:10.0.0.1 is both ready and not ready for one port",
            ],
        ),
        (
            "ready and not",
            json!([subset(&["2", "1"], &["1"], &[80])]),
            vec!["subsets[0].notReadyAddresses[0].ip: 1 is both ready and not ready for one port"],
        ),
        (
            "in another subset, one port of two",
            json!([subset(&["1"], &[], &[80, 81]), subset(&["1"], &[], &[82]), subset(&[], &["1"], &[81, 83])]),
            vec!["subsets[2].notReadyAddresses[0].ip: 1 is both ready and not ready for one port"],
        ),
        (
            "no protocol is TCP",
            json!([subset(&["1"], &[], &[80]), { "addresses": [{ "ip": "1" }], "ports": [{ "name": "p", "port": 80 }] }]),
            vec!["subsets[1].addresses[0].ip: 1 is listed twice for one port"],
        ),
        (
            "without ports",
            json!([subset(&["1"], &[], &[]), subset(&["1"], &[], &[80]), subset(&["1"], &[], &[])]),
            vec!["subsets[2].addresses[0].ip: 1 is listed twice for one port"],
        ),
    ] {
        assert_eq!(duplicates(subsets), want, "{name}");
    }
    // Thousands of addresses, each twice, for thousands of ports: the check gives up and says so.
    let ports: Vec<i32> = (1..1500).collect();
    let twice: Vec<String> = (0..3000).map(|i| (i / 2).to_string()).collect();
    let wide = json!([subset(&twice.iter().map(String::as_str).collect::<Vec<_>>(), &[], &ports)]);
    let settings = only(&[(Rule::DuplicateAddress, Mode::Enforce)]);
    let decision =
        ask(&object("Endpoints", "byhand", &[("/subsets", wide)]), None, Stage::Validate, &settings, &Nothing);
    let note = &decision.audit["duplicate-address"];
    assert!(note.ends_with("not checked: there are too many addresses and ports to compare"), "{note}");
    assert!(decision.is_over_budget() || !decision.allowed());
}

/// Of the stored object, not all faults are known. An update that makes it small enough to be checked must not be refused
/// for those that it leaves, unless they are certainly new.
#[test]
fn a_fault_of_an_object_that_was_too_large_is_not_refused() {
    let settings = only(&[(Rule::DuplicateAddress, Mode::Enforce)]);
    let of = |subsets: Value| object("Endpoints", "byhand", &[("/subsets", subsets)]);
    let twice: Vec<String> = (0..6000).map(|i| format!("10.0.{}.{}", i / 2 / 250, i / 2 % 250 + 1)).collect();
    let twice: Vec<&str> = twice.iter().map(String::as_str).collect();
    let ports: Vec<i32> = (1..1500).collect();
    let large = of(json!([subset(&twice, &[], &ports), subset(&["10.9.0.1"], &[], &[80])]));
    let small = of(json!([subset(&["10.0.0.1", "10.0.0.1"], &[], &[80])]));
    // The first and the last pairs of the large object: the budget ends between them.
    let (first, last) = (&twice[..2], &twice[5998..]);
    for (name, old, new, refused, over_budget) in [
        ("found before the budget ended", &large, of(json!([subset(first, &[], &ports)])), false, false),
        ("after it", &large, of(json!([subset(last, &[], &ports)])), false, true),
        ("no fault is left", &large, of(json!([subset(&["10.0.0.1"], &[], &ports)])), false, false),
        ("ports that the large object does not have", &large, of(json!([subset(last, &[], &[1, 9999])])), true, false),
        ("no budget ended", &small, of(json!([subset(last, &[], &[80])])), true, false),
    ] {
        let decision = ask(&new, Some(old), Stage::Validate, &settings, &Nothing);
        assert_eq!((!decision.allowed(), decision.is_over_budget()), (refused, over_budget), "{name}: {decision:?}");
        assert_eq!(decision.unchecked.contains_key(&Rule::DuplicateAddress), over_budget, "{name}");
    }
}

#[test]
fn special_addresses_are_refused() {
    let at = |ip: &str| {
        let object = object("Endpoints", "byhand", &[("/subsets/0/notReadyAddresses", json!([{ "ip": ip }]))]);
        found(Rule::SpecialAddress, &object, |_| {})
    };
    assert_eq!(at("10.0.0.7"), [""; 0]);
    let field = "subsets[0].notReadyAddresses[0].ip";
    assert_eq!(at("127.0.0.1"), [format!("{field}: 127.0.0.1 is a loopback address")]);
    assert_eq!(at("junk"), [format!("{field}: junk is not an IP address")]);
    assert_eq!(at("240.0.0.1"), [format!("{field}: 240.0.0.1 is a reserved address, which no policy allows")]);
    for (ip, inner, why) in [
        ("64:ff9b::127.0.0.1", "127.0.0.1", "is a loopback address"),
        ("64:ff9b::a9fe:a9fe", "169.254.169.254", "is a link-local address"),
        ("64:ff9b::", "0.0.0.0", "is the unspecified address"),
        ("2002:7f00:1::1", "127.0.0.1", "is a loopback address"),
        ("2002:f000:0001::", "240.0.0.1", "is a reserved address, which no policy allows"),
        ("::ffff:0:127.0.0.1", "127.0.0.1", "is a loopback address"),
        ("64:ff9b:1:a9fe:a9:fe00::", "169.254.169.254", "is a link-local address"),
        ("64:ff9b:1::127.0.0.1", "127.0.0.1", "is a loopback address"),
        ("2001:0:808:808::80ff:fffe", "127.0.0.1", "is a loopback address"),
        ("fd00::5efe:127.0.0.1", "127.0.0.1", "is a loopback address"),
        (
            "64:ff9b::168.63.129.16",
            "168.63.129.16",
            "is a metadata address of Azure (WireServer), which no policy allows",
        ),
        ("::127.0.0.1", "127.0.0.1", "is a loopback address"),
        ("::e000:1", "224.0.0.1", "is a multicast address"),
    ] {
        assert_eq!(at(ip), [format!("{field}: {ip} embeds {inner}, which {why}")]);
    }
    assert_eq!(at("0.1.2.3"), [format!("{field}: 0.1.2.3 is in 0.0.0.0/8, which no host has")]);
    let why = "is a metadata address of AWS, which no policy allows";
    assert_eq!(at("fd00:ec2::254"), [format!("{field}: fd00:ec2::254 {why}")]);
    assert_eq!(at("::ffff:169.254.169.254"), [format!("{field}: ::ffff:169.254.169.254 is a link-local address")]);
    for ip in ["64:ff9b::8.8.8.8", "2002:808:808::1", "64:ff9c::127.0.0.1", "2003:7f00:1::", "1::127.0.0.1"] {
        assert_eq!(at(ip), [""; 0], "{ip}");
    }
}

#[test]
fn a_policy_may_allow_reserved_and_metadata_addresses_only() {
    for (ip, is_allowed) in [
        ("240.0.0.1", true),
        ("100.100.100.200", true),
        ("fd00:ec2::254", true),
        ("64:ff9b::240.0.0.1", true),
        ("2002:f000:1::", true),
        ("255.255.255.255", false),
        ("127.0.0.1", false),
        ("169.254.169.254", false),
        ("0.1.2.3", false),
        ("64:ff9b::127.0.0.1", false),
    ] {
        let object = object("Endpoints", "byhand", &[("/subsets/0/addresses", json!([{ "ip": ip }]))]);
        let all = |s: &mut Settings| s.ranges = ranges(&["0.0.0.0/0", "fd00:ec2::/32"], &[]);
        assert_eq!(found(Rule::SpecialAddress, &object, all).is_empty(), is_allowed, "{ip}");
        assert_eq!(found(Rule::SpecialAddress, &object, |_| {}).len(), 1, "{ip}");
    }
}

#[test]
fn the_address_of_another_pod_than_the_target_is_found() {
    let target = |ip: &str, target: Value| {
        let list = json!([{ "ip": ip, "targetRef": target }]);
        object("Endpoints", "byhand", &[("/subsets/0/addresses", list)])
    };
    let pod = |name: &str| json!({ "kind": "Pod", "namespace": "shop", "name": name, "uid": "u" });
    for (name, ip, reference, want) in [
        ("its own", "10.0.0.1", pod("web-1"), None),
        ("another", "10.0.0.2", pod("web-1"), Some("10.0.0.2 is not an address of pod web-1, which targetRef names")),
        ("one that has ended", "10.0.0.1", pod("done"), None),
        ("one that does not exist", "10.0.0.1", pod("gone"), None),
        ("one of the host network", "10.0.0.1", pod("node-1"), None),
        (
            "a pod of another namespace",
            "10.0.0.1",
            json!({ "kind": "Pod", "namespace": "other", "name": "web-1" }),
            None,
        ),
        ("not a pod", "10.0.0.2", json!({ "kind": "Node", "name": "web-1" }), None),
        ("nothing", "10.0.0.2", Value::Null, None),
    ] {
        let want: Vec<String> = want.iter().map(|why| format!("subsets[0].addresses[0].ip: {why}")).collect();
        assert_eq!(found(Rule::Provenance, &target(ip, reference), |_| {}), want, "{name}");
    }
    let allowed = |s: &mut Settings| s.ranges = ranges(&["10.0.0.2"], &[]);
    assert_eq!(found(Rule::Provenance, &target("10.0.0.2", pod("web-1")), allowed), [""; 0]);
}

#[test]
fn addresses_belong_to_pods_or_allowed_ranges() {
    let addresses = |ips: &[&str]| {
        let list: Value = ips.iter().map(|ip| json!({ "ip": ip })).collect();
        object("Endpoints", "byhand", &[("/subsets/0/addresses", list)])
    };
    let denied = ["10.0.0.2", "192.0.2.128/25"];
    let set = |settings: &mut Settings| settings.ranges = ranges(&["192.0.2.0/24"], &denied);
    let given = addresses(&["10.0.0.1", "10.0.0.2", "10.0.0.9", "10.9.0.1", "192.0.2.1", "192.0.2.200", "010.0.0.1"]);
    let field = |i: usize| format!("subsets[0].addresses[{i}].ip");
    assert_eq!(
        found(Rule::Provenance, &given, set),
        [
            format!("{}: 10.0.0.2 is in 10.0.0.2/32, which EndpointPolicy strict denies", field(1)),
            format!("{}: 10.0.0.9 is not the address of a pod in namespace shop", field(2)),
            format!("{}: 10.9.0.1 is not the address of a pod in namespace shop", field(3)),
            format!("{}: 192.0.2.200 is in 192.0.2.128/25, which EndpointPolicy strict denies", field(5)),
        ]
    );
    let translated = addresses(&["64:ff9b::10.0.0.2", "2002:c000:2c8::"]);
    assert_eq!(
        found(Rule::Provenance, &translated, |s| s.ranges = ranges(&["192.0.2.0/24", "::/0"], &denied)),
        [
            format!("{}: 64:ff9b::10.0.0.2 is in 10.0.0.2/32, which EndpointPolicy strict denies", field(0)),
            format!("{}: 2002:c000:2c8:: is in 192.0.2.128/25, which EndpointPolicy strict denies", field(1)),
        ]
    );
    // Without a cluster, only denied ranges are checked.
    let mut settings = only(&[(Rule::Provenance, Mode::Enforce)]);
    let decision = ask(&given, None, Stage::Validate, &settings, &Nothing);
    assert_eq!((decision.denied, decision.warnings), (None, vec![]));
    assert_eq!(decision.audit["address-provenance"], "not checked: there is no cluster to ask");
    set(&mut settings);
    let denied = ask(&given, None, Stage::Validate, &settings, &Nothing).denied.unwrap();
    assert_eq!((denied.code, denied.reason), (403, "Forbidden"));
}

#[test]
fn the_address_of_a_node_is_not_that_of_a_pod_unless_a_policy_says_so() {
    let node = object("Endpoints", "byhand", &[("/subsets/0/addresses", json!([{ "ip": "192.168.0.1" }]))]);
    let why = "subsets[0].addresses[0].ip: 192.168.0.1 is the address of a node, which only pods of the host network in \
               namespace shop have";
    for (name, host_network, want) in [
        ("by default", None, &[why][..]),
        ("denied", Some(HostNetwork::Deny), &[why]),
        ("allowed", Some(HostNetwork::Allow), &[]),
    ] {
        let set = |s: &mut Settings| s.host_network = host_network.unwrap_or(s.host_network);
        assert_eq!(found(Rule::Provenance, &node, set), want, "{name}");
    }
}

#[test]
fn a_writer_must_not_name_a_controller() {
    let managed = |by: &str| vec![("/metadata/labels/endpoints.kubernetes.io~1managed-by", Value::from(by))];
    check(
        "Endpoints",
        "byhand",
        &[
            ("another name", Rule::ManagedBy, managed("me"), &[]),
            (
                "the controller",
                Rule::ManagedBy,
                managed("endpoint-controller"),
                &["metadata.labels[endpoints.kubernetes.io/managed-by]: names the built-in controller \
                     endpoint-controller, but another user writes"],
            ),
            (
                "a lock",
                Rule::EndpointsDeprecated,
                vec![("/metadata/annotations/control-plane.alpha.kubernetes.io~1leader", "{}".into())],
                &[],
            ),
            (
                "addresses",
                Rule::EndpointsDeprecated,
                vec![],
                &[": v1 Endpoints are deprecated since 1.33; write discovery.k8s.io/v1 EndpointSlices"],
            ),
        ],
    );
}
