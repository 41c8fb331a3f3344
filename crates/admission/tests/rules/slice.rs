use super::*;

const SERVICE: &str = "/metadata/labels/kubernetes.io~1service-name";

#[test]
fn a_slice_has_a_service() {
    let missing: &[&str] = &["metadata.labels[kubernetes.io/service-name]: is missing, so no consumer uses the slice"];
    check(
        "EndpointSlice",
        "s",
        &[
            ("labelled", Rule::SliceLabels, vec![], &[]),
            ("not labelled", Rule::SliceLabels, vec![(SERVICE, Value::Null)], missing),
            ("an empty name", Rule::SliceLabels, vec![(SERVICE, "".into())], missing),
            (
                "of several clusters",
                Rule::SliceLabels,
                vec![
                    (SERVICE, Value::Null),
                    ("/metadata/labels/multicluster.kubernetes.io~1service-name", "web".into()),
                ],
                &[],
            ),
            ("a Service", Rule::SliceService, vec![], &[]),
            (
                "no Service",
                Rule::SliceService,
                vec![(SERVICE, "wbe".into())],
                &["metadata.labels[kubernetes.io/service-name]: Service \"wbe\" does not exist in namespace shop"],
            ),
            (
                "a built-in writer",
                Rule::ManagedBy,
                vec![(
                    "/metadata/labels/endpointslice.kubernetes.io~1managed-by",
                    "endpointslice-controller.k8s.io".into(),
                )],
                &["metadata.labels[endpointslice.kubernetes.io/managed-by]: names the built-in controller \
                     endpointslice-controller.k8s.io, but another user writes"],
            ),
        ],
    );
}

#[test]
fn addresses_are_of_the_type_of_the_slice() {
    let slice = |kind: &str, address: &str| {
        let changes = [("/addressType", kind.into()), ("/endpoints/0/addresses", json!([address]))];
        found(Rule::AddressType, &object("EndpointSlice", "s", &changes), |_| {})
    };
    for (kind, address) in [
        ("IPv4", "10.0.0.1"),
        ("IPv4", "::ffff:10.0.0.1"),
        ("IPv4", "junk"),
        ("IPv6", "fd00::1"),
        ("FQDN", "example.com"),
        ("FQDN", "example.com."),
    ] {
        assert_eq!(slice(kind, address), [""; 0], "{kind} {address}");
    }
    for (kind, address) in [
        ("IPv4", "fd00::1"),
        ("IPv6", "10.0.0.1"),
        ("FQDN", "10.0.0.1"),
        ("FQDN", "fd00::1"),
        ("FQDN", "localhost"),
        ("FQDN", "example..com"),
        ("FQDN", "Example.com"),
    ] {
        assert_eq!(slice(kind, address), [format!("endpoints[0].addresses[0]: {address} is not of type {kind}")]);
    }
    assert_eq!(slice("IPv5", "x"), ["addressType: \"IPv5\" is not one of IPv4, IPv6 and FQDN"]);
}

#[test]
fn endpoints_are_listed_once_and_not_too_many() {
    let endpoints = |ips: &[&str]| {
        let list: Value = ips.iter().map(|ip| json!({ "addresses": [ip] })).collect();
        vec![("/endpoints", list)]
    };
    let many: Value = (0..1001).map(|_| json!({ "addresses": ["10.0.0.1"] })).collect();
    check(
        "EndpointSlice",
        "s",
        &[
            ("each once", Rule::DuplicateEndpoint, endpoints(&["10.0.0.2", "10.0.0.3"]), &[]),
            (
                "twice",
                Rule::DuplicateEndpoint,
                endpoints(&["10.0.0.2", "10.0.0.2"]),
                &["endpoints[1].addresses[0]: 10.0.0.2 is listed twice"],
            ),
            (
                "twice, in two forms",
                Rule::DuplicateEndpoint,
                endpoints(&["10.0.0.2", "010.0.0.2"]),
                &["endpoints[1].addresses[0]: 010.0.0.2 is listed twice"],
            ),
            (
                "elsewhere, in another form",
                Rule::DuplicateEndpoint,
                endpoints(&["10.0.0.2", "010.0.0.01"]),
                &["endpoints[1].addresses[0]: 010.0.0.01 is also in slice web-a"],
            ),
            (
                "elsewhere",
                Rule::DuplicateEndpoint,
                endpoints(&["10.0.0.2", "10.0.0.1"]),
                &["endpoints[1].addresses[0]: 10.0.0.1 is also in slice web-a"],
            ),
            (
                "elsewhere, for one of two ports",
                Rule::DuplicateEndpoint,
                [endpoints(&["10.0.0.1"]), vec![("/ports/0", json!({ "name": "metrics", "port": 9090 }))]].concat(),
                &["endpoints[0].addresses[0]: 10.0.0.1 is also in slice web-a"],
            ),
            (
                "elsewhere, for another port",
                Rule::DuplicateEndpoint,
                [endpoints(&["10.0.0.1"]), vec![("/ports", json!([{ "name": "metrics", "port": 9090 }]))]].concat(),
                &[],
            ),
            (
                "elsewhere, for a name only",
                Rule::DuplicateEndpoint,
                [endpoints(&["10.0.0.1"]), vec![("/ports", json!([]))]].concat(),
                &[],
            ),
            (
                "too many",
                Rule::SliceOverCapacity,
                vec![("/endpoints", many)],
                &["endpoints: 1001 endpoints; a slice holds at most 1000"],
            ),
        ],
    );
    // The slice itself, as it is stored, is not another one.
    check("EndpointSlice", "web-a", &[("itself", Rule::DuplicateEndpoint, endpoints(&["10.0.0.1"]), &[])]);
}

#[test]
fn endpoints_that_no_api_server_stores_are_counted_and_not_checked() {
    let slice = |good: usize| {
        let list =
            (0..1200).map(|i| if i < good { format!("10.0.{}.{}", i / 250, i % 250 + 1) } else { "127.0.0.1".into() });
        let list: Value = list.map(|ip: String| json!({ "addresses": [ip] })).collect();
        object("EndpointSlice", "s", &[("/endpoints", list)])
    };
    let why = "not checked: no endpoints after the first 1000 are checked, because an API server stores none";
    let settings = only(&[(Rule::SpecialAddress, Mode::Enforce), (Rule::SliceOverCapacity, Mode::Enforce)]);
    let ask = |good: usize| ask(&slice(good), None, Stage::Validate, &settings, &Nothing);
    let decision = ask(1100);
    assert_eq!(
        decision.denied.unwrap().message,
        "endpoints: 1200 endpoints; a slice holds at most 1000 (slice-over-capacity)"
    );
    assert_eq!(decision.audit["special-address"], why);
    let decision = ask(900);
    assert!(decision.denied.unwrap().message.ends_with("and 90 more of special-address"));
    assert!(decision.audit["special-address"].ends_with(why));
}

#[test]
fn hints_name_zones_that_exist() {
    let hints = |zones: &[&str]| {
        let zones: Value = zones.iter().map(|z| json!({ "name": z })).collect();
        vec![("/endpoints/0/hints", json!({ "forZones": zones }))]
    };
    check(
        "EndpointSlice",
        "s",
        &[
            ("no hints", Rule::UnknownZone, vec![], &[]),
            ("null", Rule::UnknownZone, vec![("/endpoints/0/hints", json!({ "forZones": null }))], &[]),
            ("a zone", Rule::UnknownZone, hints(&["a"]), &[]),
            (
                "no zone",
                Rule::UnknownZone,
                hints(&["a", "b"]),
                &["endpoints[0].hints.forZones[1].name: no node is in zone \"b\""],
            ),
        ],
    );
}

#[test]
fn addresses_of_slices_follow_the_rules_for_endpoints() {
    let address = |text: &str| vec![("/endpoints/0/addresses", json!([text]))];
    let name = || {
        let mut changes = address("example.com");
        changes.push(("/addressType", "FQDN".into()));
        changes
    };
    check(
        "EndpointSlice",
        "s",
        &[
            (
                "loopback",
                Rule::SpecialAddress,
                address("127.0.0.1"),
                &["endpoints[0].addresses[0]: 127.0.0.1 is a loopback address"],
            ),
            ("a host name", Rule::SpecialAddress, name(), &[]),
            (
                "of another namespace",
                Rule::Provenance,
                address("10.9.0.1"),
                &["endpoints[0].addresses[0]: 10.9.0.1 is not the address of a pod in namespace shop"],
            ),
            (
                "a host name may resolve to any address",
                Rule::Provenance,
                name(),
                &["endpoints[0].addresses[0]: example.com is not the address of a pod"],
            ),
        ],
    );
}

#[test]
fn slices_are_never_changed() {
    assert!(!KINDS[2].mutates);
    let spoofed = object("EndpointSlice", "s", &[(SERVICE, Value::Null)]);
    assert_eq!(patched(&spoofed, |_| {}).0, json!([]));
}
