use super::*;

const TOLERATE: &str = "/metadata/annotations/service.alpha.kubernetes.io~1tolerate-unready-endpoints";
const MODE: &str = "/metadata/annotations/service.kubernetes.io~1topology-mode";
const HINTS: &str = "/metadata/annotations/service.kubernetes.io~1topology-aware-hints";

#[test]
fn tolerate_unready_is_a_go_boolean_that_replaces_the_field() {
    let publish = |value: &str, field: Option<bool>| {
        let mut changes = vec![(TOLERATE, value.into())];
        changes.extend(field.map(|f| ("/spec/publishNotReadyAddresses", f.into())));
        patched(&object("Service", "s", &changes), |_| {}).0
    };
    let set = |to: bool| json!([{ "op": "add", "path": "/spec/publishNotReadyAddresses", "value": to }]);
    for (value, means) in [("true", true), ("1", true), ("T", true), ("false", false), ("0", false), ("F", false)] {
        assert_eq!(publish(value, Some(means)), json!([]), "{value}");
        assert_eq!(publish(value, Some(!means)), set(means), "{value}");
        assert_eq!(publish(value, None), if means { set(true) } else { json!([]) }, "{value}");
    }
    assert_eq!(publish("yes", None), json!([]));
    check(
        "Service",
        "s",
        &[
            ("no annotation", Rule::TolerateUnreadyValue, vec![], &[]),
            ("a Go boolean", Rule::TolerateUnreadyValue, vec![(TOLERATE, "t".into())], &[]),
            (
                "what a person writes",
                Rule::TolerateUnreadyValue,
                vec![(TOLERATE, "yes".into())],
                &[
                    "metadata.annotations[service.alpha.kubernetes.io/tolerate-unready-endpoints]: \"yes\" is not a Go boolean",
                ],
            ),
            (
                "not corrected, because the mutating webhook was not reached",
                Rule::TolerateUnready,
                vec![(TOLERATE, "true".into())],
                &["spec.publishNotReadyAddresses: is false, but the annotation says true"],
            ),
        ],
    );
}

#[test]
fn labels_of_controllers_are_reserved() {
    check(
        "Service",
        "s",
        &[
            ("other labels", Rule::ReservedLabel, vec![("/metadata/labels/app", "web".into())], &[]),
            (
                "two of them, whatever their value",
                Rule::ReservedLabel,
                vec![
                    ("/metadata/labels/service.kubernetes.io~1headless", "".into()),
                    ("/metadata/labels/endpointslice.kubernetes.io~1managed-by", "me".into()),
                ],
                &[
                    "metadata.labels[service.kubernetes.io/headless]: kube-proxy ignores a Service with this label",
                    "metadata.labels[endpointslice.kubernetes.io/managed-by]: the label names the writer of a slice",
                ],
            ),
        ],
    );
}

#[test]
fn topology_annotations_have_known_values_and_agree() {
    let mode = Rule::TopologyMode;
    check(
        "Service",
        "s",
        &[
            ("Auto", mode, vec![(MODE, "Auto".into())], &[]),
            ("disabled", mode, vec![(HINTS, "disabled".into())], &[]),
            ("both, and the same", mode, vec![(MODE, "auto".into()), (HINTS, "auto".into())], &[]),
            (
                "a typo",
                mode,
                vec![(MODE, "AUTO".into())],
                &[
                    "metadata.annotations[service.kubernetes.io/topology-mode]: \"AUTO\" is treated as Disabled; use Auto or Disabled",
                ],
            ),
            (
                "a contradiction",
                mode,
                vec![(MODE, "Auto".into()), (HINTS, "Disabled".into())],
                &[
                    "metadata.annotations[service.kubernetes.io/topology-mode]: \"Auto\" has no effect: topology-aware-hints: \
                     Disabled takes precedence",
                ],
            ),
        ],
    );
}

#[test]
fn traffic_distribution_has_a_known_value_and_an_effect() {
    let (rule, field) = (Rule::TrafficDistribution, "/spec/trafficDistribution");
    check(
        "Service",
        "s",
        &[
            ("near", rule, vec![(field, "PreferClose".into())], &[]),
            ("same node", rule, vec![(field, "PreferSameNode".into())], &[]),
            ("disabled annotation", rule, vec![(field, "PreferClose".into()), (MODE, "Disabled".into())], &[]),
            (
                "no value",
                rule,
                vec![(field, "Near".into())],
                &["spec.trafficDistribution: \"Near\" is not one of PreferClose, PreferSameZone and PreferSameNode"],
            ),
            (
                "the annotation takes precedence",
                rule,
                vec![(field, "PreferClose".into()), (MODE, "Auto".into())],
                &[
                    "spec.trafficDistribution: \"PreferClose\" has no effect: the annotation topology-mode: Auto takes precedence",
                ],
            ),
            (
                "the policy takes precedence",
                rule,
                vec![(field, "PreferClose".into()), ("/spec/internalTrafficPolicy", "Local".into())],
                &[
                    "spec.trafficDistribution: \"PreferClose\" has no effect: internalTrafficPolicy: Local takes precedence",
                ],
            ),
            (
                "an alias",
                rule,
                vec![(field, "PreferClose".into()), ("/spec/type", "ExternalName".into())],
                &[
                    "spec.trafficDistribution: \"PreferClose\" has no effect: an ExternalName Service does not have endpoints",
                ],
            ),
        ],
    );
}

#[test]
fn superedge_reads_a_list_of_labels() {
    let (rule, key) = (Rule::SuperedgeKeys, "/metadata/annotations/topologyKeys");
    let unread = "metadata.annotations[topologyKeys]: is not a JSON list of strings: SuperEdge ignores it";
    let nowhere = |k: &str| {
        format!(
            "metadata.annotations[topologyKeys]: {k:?} cannot be a node label and matches nothing; it is not a wildcard"
        )
    };
    for (value, want) in [
        ("[\"zone\"]", vec![]),
        ("[\"kubernetes.io/hostname\",\"zone\"]", vec![]),
        ("[]", vec![]),
        ("null", vec![]),
        ("zone", vec![unread.to_owned()]),
        ("\"zone\"", vec![unread.to_owned()]),
        ("[1]", vec![unread.to_owned()]),
        ("[\"region\",1]", vec![unread.to_owned()]),
        ("", vec![unread.to_owned()]),
        ("[\"*\"]", vec![nowhere("*")]),
        ("[\"region\",\"*\"]", vec![nowhere("*")]),
        ("[\"\"]", vec![nowhere("")]),
    ] {
        assert_eq!(found(rule, &object("Service", "s", &[(key, value.into())]), |_| {}), want, "{value}");
    }
}

#[test]
fn openyurt_reads_one_value() {
    let (rule, key) = (Rule::OpenyurtKeys, "/metadata/annotations/openyurt.io~1topologyKeys");
    let at = "metadata.annotations[openyurt.io/topologyKeys]";
    for (value, want) in [
        ("", vec![]),
        ("kubernetes.io/hostname", vec![]),
        ("openyurt.io/nodepool", vec![]),
        ("kubernetes.io/zone", vec![]),
        ("*", vec![format!("{at}: yurthub reads hostname, nodepool or zone; it ignores \"*\"")]),
        (
            "[\"kubernetes.io/zone\"]",
            vec![format!("{at}: yurthub reads one value, not a list; it ignores \"[\\\"kubernetes.io/zone\\\"]\"")],
        ),
    ] {
        assert_eq!(found(rule, &object("Service", "s", &[(key, value.into())]), |_| {}), want, "{value}");
    }
}

#[test]
fn external_addresses_need_a_range() {
    let guard = |settings: &mut Settings| {
        settings.ranges = ranges(&["203.0.113.0/24", "2001:db8::/32"], &["203.0.113.128/25"]);
    };
    let ips = |list: &[&str]| object("Service", "s", &[("/spec/externalIPs", json!(list))]);
    let external = |list: &[&str]| found(Rule::ExternalIp, &ips(list), guard);
    assert_eq!(external(&["203.0.113.9", "2001:db8::1", "203.000.113.9"]), [""; 0]);
    assert_eq!(
        external(&["203.0.113.9", "8.8.8.8", "203.0.113.200", "here"]),
        [
            "spec.externalIPs[1]: 8.8.8.8 is not in a range that a policy allows",
            "spec.externalIPs[2]: 203.0.113.200 is in 203.0.113.128/25, which EndpointPolicy strict denies",
            "spec.externalIPs[3]: here is not an IP address",
        ]
    );
    let balancer =
        |ip: &str| found(Rule::LoadBalancerIp, &object("Service", "s", &[("/spec/loadBalancerIP", ip.into())]), guard);
    assert_eq!(balancer(""), [""; 0]);
    assert_eq!(balancer("203.0.113.9"), [""; 0]);
    assert_eq!(balancer("8.8.8.8"), ["spec.loadBalancerIP: 8.8.8.8 is not in a range that a policy allows"]);
    let alone = object("Service", "s", &[("/spec/loadBalancerIP", "8.8.8.8".into())]);
    let only_denies = |settings: &mut Settings| settings.ranges = ranges(&[], &["203.0.113.128/25"]);
    let want = ["spec.loadBalancerIP: 8.8.8.8 is allowed by no policy, and the field is deprecated"];
    assert_eq!(found(Rule::LoadBalancerIp, &alone, |_| {}), want);
    assert_eq!(found(Rule::LoadBalancerIp, &alone, only_denies), want);
}

#[test]
fn selectors_and_ports_are_compared_with_the_pods() {
    let selector = |value: Value| ("/spec/selector", value);
    let port = |name: &str| ("/spec/ports/0/targetPort", Value::from(name));
    let web = || selector(json!({ "app": "web" }));
    let (nothing, missing, differs) = (Rule::SelectorMatchesNothing, Rule::TargetPortMissing, Rule::TargetPortDiffers);
    check(
        "Service",
        "s",
        &[
            ("no selector", nothing, vec![], &[]),
            ("pods match", nothing, vec![web()], &[]),
            (
                "none matches",
                nothing,
                vec![selector(json!({ "app": "wbe", "tier": "a" }))],
                &["spec.selector: no pod in namespace shop has the labels app=wbe,tier=a yet"],
            ),
            ("an empty selector", nothing, vec![selector(json!({}))], &[]),
            ("an alias", nothing, vec![selector(json!({ "app": "wbe" })), ("/spec/type", "ExternalName".into())], &[]),
            ("a number", missing, vec![web(), ("/spec/ports/0/targetPort", 9.into())], &[]),
            ("a known name", missing, vec![web(), port("http")], &[]),
            (
                "an unknown name",
                missing,
                vec![web(), port("htpp")],
                &["spec.ports[0].targetPort: none of the 2 selected pods has a TCP port \"htpp\""],
            ),
            ("no protocol is TCP", missing, vec![web(), port("http"), ("/spec/ports/0/protocol", Value::Null)], &[]),
            (
                "another protocol",
                missing,
                vec![web(), port("http"), ("/spec/ports/0/protocol", "UDP".into())],
                &["spec.ports[0].targetPort: none of the 2 selected pods has a UDP port \"http\""],
            ),
            ("without pods another rule applies", missing, vec![selector(json!({ "app": "wbe" })), port("htpp")], &[]),
            (
                "two numbers",
                differs,
                vec![web(), port("http")],
                &["spec.ports[0].targetPort: \"http\" is port 8080 in 1 pod and 8081 in 1 pod"],
            ),
        ],
    );
}

#[test]
fn without_a_cluster_pods_are_not_checked() {
    let service = object(
        "Service",
        "s",
        &[("/spec/selector", json!({ "app": "wbe" })), ("/spec/ports/0/targetPort", "http".into())],
    );
    let decision = ask(&service, None, Stage::Validate, &strict(), &Nothing);
    assert_eq!((decision.denied, decision.warnings, decision.findings), (None, vec![], vec![]));
    let unchecked: Vec<_> = decision.audit.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let why = "not checked: there is no cluster to ask";
    assert_eq!(
        unchecked,
        [("selector-matches-nothing", why), ("target-port-differs", why), ("target-port-missing", why)]
    );
}
