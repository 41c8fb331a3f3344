use std::sync::Arc;

use roster_engine::model::{Labels, Text, Time};
use serde_json::{Value, json, value::RawValue};

use super::*;
use crate::{AdmissionRequest, Capacity, HostNetwork, Mode, Rule, Settings};

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn v1(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": {"name": name}, "spec": spec})
}

fn policies(list: &[Value]) -> Policies {
    let raws: Vec<_> = list.iter().map(raw).collect();
    let (policies, problems) = Policies::read(raws.iter().map(AsRef::as_ref));
    assert_eq!(problems, []);
    policies
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().copied().collect()
}

/// The settings for the Endpoints `shop/web`, written by `alice`.
fn shop_web(list: &[Value]) -> Arc<Settings> {
    let namespace = labels(&[("team", "a")]);
    policies(list).settings(&PolicyTarget {
        kind: "Endpoints",
        namespace: "shop",
        namespace_labels: NamespaceLabels::Known(&namespace),
        name: "web",
        labels: &labels(&[("app", "web")]),
        user: "alice",
        groups: &["dev"],
    })
}

#[test]
fn without_policies_every_rule_has_its_own_mode() {
    assert_eq!(*shop_web(&[]), Settings::default());
    assert_eq!(*shop_web(&[v1("a", &json!({}))]), Settings::default());
}

#[test]
fn the_strictest_mode_counts_in_any_order() {
    let rule = |mode: &str| json!({"rules": [{"name": "external-ip", "mode": mode}]});
    for (name, specs, want, policy) in [
        ("a listed mode", vec![rule("off")], Mode::Off, Some("p0")),
        ("stricter than another", vec![rule("audit"), rule("enforce"), rule("off")], Mode::Enforce, Some("p1")),
        ("a default mode", vec![json!({"defaultMode": "audit"})], Mode::Audit, Some("p0")),
        ("as strict as another", vec![rule("warn"), rule("warn")], Mode::Warn, Some("p0")),
        (
            "a listed mode of the same policy",
            vec![json!({"defaultMode": "enforce", "rules": rule("off")["rules"]})],
            Mode::Off,
            Some("p0"),
        ),
        (
            "a default mode of another policy",
            vec![rule("off"), json!({"defaultMode": "audit"})],
            Mode::Audit,
            Some("p1"),
        ),
        (
            "no opinion",
            vec![json!({"match": {"namespaces": {"names": ["other"]}}, "defaultMode": "enforce"})],
            Mode::Warn,
            None,
        ),
    ] {
        let mut list: Vec<Value> = specs.iter().enumerate().map(|(i, s)| v1(&format!("p{i}"), s)).collect();
        let settings = shop_web(&list);
        assert_eq!(
            (settings.mode(Rule::ExternalIp), settings.policy(Rule::ExternalIp).map(Text::as_str)),
            (want, policy),
            "{name}"
        );
        list.reverse();
        assert_eq!(shop_web(&list), settings, "{name}");
    }
}

#[test]
fn all_conditions_of_a_match_must_hold() {
    for (matches, want) in [
        (json!({}), true),
        (json!({"namespaces": {"names": ["other", "sh*"]}}), true),
        (json!({"namespaces": {"names": ["other"]}}), false),
        (json!({"namespaces": {"names": []}}), true),
        (
            json!({"namespaces": {"selector": {"matchLabels": {"team": "a", "kubernetes.io/metadata.name": "shop"}}}}),
            true,
        ),
        (json!({"namespaces": {"selector": {"matchLabels": {"team": "b"}}}}), false),
        (json!({"namespaces": {"names": ["shop"], "selector": {"matchLabels": {"team": "b"}}}}), false),
        (json!({"services": {"names": ["web"], "selector": {"matchLabels": {"app": "web"}}}}), true),
        (
            json!({"services": {"selector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}}}),
            false,
        ),
        (json!({"namespaces": null, "services": {"names": null}}), true),
    ] {
        let settings = shop_web(&[v1("a", &json!({"match": matches, "defaultMode": "off"}))]);
        assert_eq!(settings.mode(Rule::ExternalIp) == Mode::Off, want, "{matches}");
    }
}

#[test]
fn slices_belong_to_the_service_of_their_label() {
    let policies = policies(&[v1("a", &json!({"match": {"services": {"names": ["web"]}}, "defaultMode": "off"}))]);
    for (pairs, want) in [(&[("kubernetes.io/service-name", "web")][..], 1), (&[], 0)] {
        let labels = labels(pairs);
        let target = PolicyTarget {
            kind: "EndpointSlice",
            namespace: "shop",
            namespace_labels: NamespaceLabels::NameOnly,
            name: "web-x7",
            labels: &labels,
            user: "",
            groups: &[],
        };
        assert_eq!(policies.applying_to(&target).count(), want);
    }
}

#[test]
fn a_policy_that_selects_unknown_namespace_labels_does_not_apply() {
    let by_label = |key: &str| json!({"match": {"namespaces": {"selector": {"matchExpressions": [{"key": key, "operator": "NotIn", "values": ["x"]}]}}}});
    for (key, want) in [("team", false), ("kubernetes.io/metadata.name", true)] {
        let policies = policies(&[v1("a", &by_label(key))]);
        let target = PolicyTarget {
            kind: "Service",
            namespace: "shop",
            namespace_labels: NamespaceLabels::NameOnly,
            name: "web",
            labels: &Labels::default(),
            user: "",
            groups: &[],
        };
        assert_eq!(policies.applying_to(&target).count() == 1, want, "{key}");
        assert_eq!(policies.need_namespace_labels(), !want);
    }
}

/// The labels of the namespace could not be read: a policy that needs them may tighten the settings, and never relax them.
#[test]
fn a_policy_that_selects_unread_namespace_labels_applies_where_it_is_stricter() {
    let teams = json!({"namespaces": {"selector": {"matchLabels": {"team": "a"}}}});
    let with = |matches: &Value, more: Value| {
        let mut spec = more;
        spec["match"] = matches.clone();
        spec
    };
    let mode = |mode: &str| json!({"rules": [{"name": "external-ip", "mode": mode}]});
    let default = Rule::ExternalIp.default_mode();
    assert_eq!(default, Mode::Warn, "the rows below rely on it");
    let elsewhere = json!({"namespaces": {"selector": {
        "matchLabels": {"kubernetes.io/metadata.name": "elsewhere", "team": "a"}}}});
    let here = json!({"namespaces": {"selector": {
        "matchLabels": {"kubernetes.io/metadata.name": "shop"},
        "matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}});
    let exempt = json!({"exempt": {"users": ["alice"]}, "defaultMode": "enforce"});
    for (name, specs, want, policy) in [
        ("stricter than the default", vec![with(&teams, mode("enforce"))], Mode::Enforce, Some("p0")),
        ("as strict as the default", vec![with(&teams, mode("warn"))], default, None),
        ("less strict than the default", vec![with(&teams, mode("off"))], default, None),
        ("stricter than another policy", vec![mode("off"), with(&teams, mode("audit"))], Mode::Audit, Some("p1")),
        (
            "less strict than another policy",
            vec![mode("enforce"), with(&teams, mode("off"))],
            Mode::Enforce,
            Some("p0"),
        ),
        ("an exemption", vec![with(&teams, exempt)], default, None),
        ("the name does not match", vec![with(&elsewhere, mode("enforce"))], default, None),
        ("the name matches", vec![with(&here, mode("enforce"))], Mode::Enforce, Some("p0")),
        (
            "another namespace by name",
            vec![with(&json!({"namespaces": {"names": ["x"]}}), mode("enforce"))],
            default,
            None,
        ),
        (
            "ranges",
            vec![with(
                &teams,
                json!({"addresses": {"allow": ["10.0.0.0/8"], "deny": ["10.1.0.0/16"]}, "capacity": {"action": "Deny"}}),
            )],
            default,
            None,
        ),
    ] {
        let list: Vec<Value> = specs.iter().enumerate().map(|(i, spec)| v1(&format!("p{i}"), spec)).collect();
        let settings = policies(&list).settings(&PolicyTarget {
            kind: "Service",
            namespace: "shop",
            namespace_labels: NamespaceLabels::Unread,
            name: "web",
            labels: &Labels::default(),
            user: "alice",
            groups: &[],
        });
        assert_eq!(settings.mode(Rule::ExternalIp), want, "{name}");
        assert_eq!(settings.policy(Rule::ExternalIp).map(Text::as_str), policy, "{name}");
        let denied = usize::from(name == "ranges");
        assert_eq!((settings.ranges.allowed().count(), settings.ranges.denied().count()), (0, denied), "{name}");
        assert_eq!(settings.capacity == Capacity::Deny, name == "ranges", "{name}");
    }
}

#[test]
fn an_exemption_applies_to_its_own_policy_only() {
    for (exempt, want) in [
        (json!({"users": ["bob", "al*"]}), true),
        (json!({"groups": ["dev"]}), true),
        (json!({"namespaces": ["shop"]}), true),
        (json!({"objects": [{"name": "web"}]}), true),
        (json!({"objects": [{"kind": "Service", "name": "web"}, {"namespace": "other", "name": "*"}]}), false),
        (json!({"users": ["bob"], "groups": []}), false),
    ] {
        let spec = json!({"exempt": exempt, "addresses": {"deny": ["10.0.0.0/8"]}});
        let exempting = v1("a", &spec);
        let settings = shop_web(std::slice::from_ref(&exempting));
        assert_eq!(settings.mode(Rule::ReservedLabel) == Mode::Off, want, "{exempt}");
        assert_eq!(settings.ranges.denied().next().is_none(), want, "{exempt}");
        let other = v1("b", &json!({"rules": [{"name": "reserved-label", "mode": "warn"}]}));
        assert_eq!(shop_web(&[exempting, other]).mode(Rule::ReservedLabel), Mode::Warn, "{exempt}");
    }
}

/// Texts of any length and number cost their size. What is not compared does not exempt, and selects nothing.
#[test]
fn only_a_lone_star_matches_a_text_that_is_too_long() {
    let long = "x".repeat(2000);
    for (name, spec, user, namespace, want) in [
        ("a user", json!({"exempt": {"users": ["x*"]}}), &long[..1024], "shop", Mode::Off),
        ("a longer user", json!({"exempt": {"users": ["x*"]}}), &long, "shop", Mode::Enforce),
        ("any user", json!({"exempt": {"users": ["*"]}}), &long, "shop", Mode::Off),
        ("a longer group", json!({"exempt": {"groups": ["x*"]}}), "bob", "shop", Mode::Enforce),
        ("a namespace", json!({"exempt": {"namespaces": ["*x"]}}), "bob", &long[..253], Mode::Off),
        ("a longer namespace", json!({"exempt": {"namespaces": ["*x"]}}), "bob", &long[..254], Mode::Enforce),
        (
            "a longer namespace of an object",
            json!({"exempt": {"objects": [{"namespace": "x*", "name": "*"}]}}),
            "bob",
            &long,
            Mode::Enforce,
        ),
        ("a match", json!({"match": {"namespaces": {"names": ["*x*"]}}}), "bob", &long[..253], Mode::Enforce),
        (
            "a match of a longer namespace",
            json!({"match": {"namespaces": {"names": ["*x*"]}}}),
            "bob",
            &long,
            Mode::Warn,
        ),
        ("a match of any namespace", json!({"match": {"namespaces": {"names": ["*"]}}}), "bob", &long, Mode::Enforce),
    ] {
        let mut spec = spec;
        spec["defaultMode"] = json!("enforce");
        let settings = policies(&[v1("a", &spec)]).settings(&PolicyTarget {
            kind: "Endpoints",
            namespace,
            namespace_labels: NamespaceLabels::NameOnly,
            name: "web",
            labels: &Labels::default(),
            user,
            groups: &["dev", &long],
        });
        assert_eq!(settings.mode(Rule::ExternalIp), want, "{name}");
    }
}

#[test]
fn ranges_add_up_and_deny_takes_precedence_over_truncate() {
    let spec = |allow: &[&str], deny: &[&str], action: &str| json!({"addresses": {"allow": allow, "deny": deny}, "capacity": {"action": action}});
    let settings = shop_web(&[
        v1("a", &spec(&["192.0.2.0/24", "10.0.0.0/8"], &["fd00::/8"], "Deny")),
        v1("b", &spec(&["10.0.0.0/8"], &["10.1.0.0/16"], "Truncate")),
        v1("c", &json!({"addresses": {"deny": ["fd00::/8"]}, "capacity": {"action": "Deny"}})),
        v1("d", &json!({})),
    ]);
    let allowed: Vec<String> = settings.ranges.allowed().map(|range| range.to_string()).collect();
    assert_eq!(allowed, ["10.0.0.0/8", "192.0.2.0/24"]);
    // Each range belongs to a policy: the first by name.
    let denied: Vec<String> = settings.ranges.denied().map(|d| format!("{} {}", d.range, d.policy)).collect();
    assert_eq!(denied, ["10.1.0.0/16 b", "fd00::/8 a"]);
    assert_eq!((settings.capacity, settings.capacity_policy.as_deref()), (Capacity::Deny, Some("a")));
    assert_eq!(shop_web(&[v1("d", &json!({}))]).capacity_policy, None);
}

#[test]
fn addresses_of_nodes_are_allowed_unless_a_policy_denies_them() {
    let policy = |name: &str, answer: Value| v1(name, &json!({"addresses": {"hostNetwork": answer}}));
    let of = |answers: &[Value]| {
        let list: Vec<Value> = answers.iter().zip(["a", "b", "c"]).map(|(a, name)| policy(name, a.clone())).collect();
        shop_web(&list).host_network
    };
    for (answers, want) in [
        (Vec::<Value>::new(), HostNetwork::Deny),
        (vec![Value::Null], HostNetwork::Deny),
        (vec!["Allow".into()], HostNetwork::Allow),
        (vec![Value::Null, "Allow".into()], HostNetwork::Allow),
        (vec!["Allow".into(), "Deny".into()], HostNetwork::Deny),
        (vec!["Deny".into(), "Allow".into(), Value::Null], HostNetwork::Deny),
    ] {
        assert_eq!(of(&answers), want, "{answers:?}");
    }
    let exempting = v1("a", &json!({"addresses": {"hostNetwork": "Allow"}, "exempt": {"namespaces": ["shop"]}}));
    assert_eq!(shop_web(&[exempting]).host_network, HostNetwork::Deny);
}

#[test]
fn the_last_policy_of_a_name_counts() {
    let raws = ["off", "enforce"].map(|mode| raw(&v1("a", &json!({"defaultMode": mode}))));
    let (policies, problems) = Policies::read(raws.iter().map(AsRef::as_ref));
    assert_eq!(policies.iter().map(|p| p.spec.default_mode).collect::<Vec<_>>(), [Some(Mode::Enforce)]);
    assert_eq!(problems.len(), 1);
}

#[test]
fn both_versions_give_the_same_settings() {
    let flat = json!({
        "apiVersion": "roster.dev/v1alpha1", "kind": "EndpointPolicy", "metadata": {"name": "a"},
        "spec": {
            "defaultMode": "audit", "rules": [{"name": "over-capacity", "mode": "enforce"}],
            "namespaces": ["shop"], "namespaceSelector": {"matchLabels": {"team": "a"}},
            "services": ["web"], "serviceSelector": {},
            "exemptUsers": ["u"], "exemptGroups": ["g"], "exemptNamespaces": ["n"], "exemptObjects": [{"name": "o"}],
            "allowedCIDRs": ["10.0.0.0/8"], "deniedCIDRs": ["10.1.0.0/16"], "hostNetworkAddresses": "Allow",
            "capacityAction": "Deny",
        },
    });
    let structured = v1(
        "a",
        &json!({
            "defaultMode": "audit", "rules": [{"name": "over-capacity", "mode": "enforce"}],
            "match": {
                "namespaces": {"names": ["shop"], "selector": {"matchLabels": {"team": "a"}}},
                "services": {"names": ["web"], "selector": {}},
            },
            "exempt": {"users": ["u"], "groups": ["g"], "namespaces": ["n"], "objects": [{"name": "o"}]},
            "addresses": {"allow": ["10.0.0.0/8"], "deny": ["10.1.0.0/16"], "hostNetwork": "Allow"},
            "capacity": {"action": "Deny"},
        }),
    );
    let (a, b) = (read(&raw(&flat)), read(&raw(&structured)));
    assert_eq!(a, b);
    assert!(a.0.is_some() && a.1.is_empty(), "{a:?}");
}

#[test]
fn violations_name_their_field() {
    let alpha = |spec: &Value| json!({"apiVersion": "roster.dev/v1alpha1", "kind": "EndpointPolicy", "metadata": {"name": "a"}, "spec": spec});
    for (policy, usable, want) in [
        (
            v1("a", &json!({"rules": [{"name": "external-ips", "mode": "warn"}]})),
            false,
            &["spec.rules[0].name is \"external-ips\", which is not a known value; try external-ip"][..],
        ),
        (
            v1("a", &json!({"rules": [{"name": "external-ip", "mode": false}]})),
            false,
            &["spec.rules[0].mode is a boolean; write \"off\" in quotes, because YAML may read off as a boolean"],
        ),
        (
            v1("a", &json!({"rules": [{"name": "external-ip"}, {"name": "external-ip", "mode": "Deny"}]})),
            false,
            &[
                "spec.rules[0].mode is missing",
                "spec.rules[1].mode is \"Deny\", which is not a known value; try enforce, warn, audit, off",
                "spec.rules[1] \"external-ip\" is listed twice",
            ],
        ),
        (
            v1("a", &json!({"addresses": {"allow": ["10.0.0.1/8", "x"], "deny": ["::/0", "::/0"]}})),
            false,
            &[
                "spec.addresses.deny[1] \"::/0\" is listed twice",
                "spec.addresses.allow[0] 10.0.0.1/8 has bits set beyond its prefix; write 10.0.0.0/8",
                "spec.addresses.allow[1] is too short",
                "spec.addresses.allow[1] \"x\" is not an IP address",
            ],
        ),
        (
            alpha(&json!({"allowedCIDRs": ["::/0"], "deniedCIDRs": ["::/0"]})),
            false,
            &["spec.deniedCIDRs[0] ::/0 is also allowed"],
        ),
        (
            alpha(&json!({"match": {}, "namespaceSelectors": {}, "services": "web"})),
            false,
            &[
                "spec.services is a string, not a list",
                "spec.match is not a known field; it is ignored",
                "spec.namespaceSelectors is not a known field (did you mean namespaceSelector?); it is ignored",
            ],
        ),
        (
            v1("a", &json!({"future": 1, "match": {"namespaces": {"x": 1}}})),
            true,
            &[
                "spec.future is not a known field; it is ignored",
                "spec.match.namespaces.x is not a known field; it is ignored",
            ],
        ),
        (
            v1(
                "a",
                &json!({"match": {
                    "namespaces": {"names": ["Shop_1"]},
                    "services": {"selector": {"matchExpressions": [{"key": "x", "operator": "In"}]}},
                }}),
            ),
            false,
            &[
                "spec.match.namespaces.names[0] is \"Shop_1\", which is not a valid name",
                "spec.match.services.selector.matchExpressions[0] In and NotIn need values, Exists and DoesNotExist have \
                 none",
            ],
        ),
        (json!({"apiVersion": "roster.dev/v1", "kind": "EndpointPolicy"}), false, &["spec is missing"]),
        (
            json!({"apiVersion": "roster.dev/v9", "kind": "EndpointPolicy"}),
            false,
            &["apiVersion \"roster.dev/v9\" is neither roster.dev/v1 nor roster.dev/v1alpha1"],
        ),
        (json!({"apiVersion": "roster.dev/v1", "kind": "Pod"}), false, &["kind is not EndpointPolicy"]),
    ] {
        let (policy_read, problems) = read(&raw(&policy));
        let mut got: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        let mut want = want.to_vec();
        got.sort_unstable();
        want.sort_unstable();
        assert_eq!((policy_read.is_some(), got), (usable, want), "{policy}");
    }
}

/// An annotation of a policy cannot add exemptions or allowed ranges, or narrow what the policy applies to.
#[test]
fn an_annotation_does_not_exempt() {
    let own = |rest: &str| format!(r#"{{"spec":{rest}}}"#);
    let forged = |rest: &str| format!(r#"{{"noGroups":{rest}}}"#);
    let at = "metadata.annotations[\"roster.dev/v1-only\"] does not fit: ";
    for (rest, why) in [
        (own(r#"{"exempt":[["alice"]],"addresses":[["10.0.0.0/8"]]}"#), None),
        (own(r#"{"exempt":{"users":["alice"]}}"#), None),
        (own(r#"{"exempt":[[["alice"]]]}"#), None),
        (own(r#"{"match":{"namespaces":[["other"]]}}"#), None),
        (own(r#"{"match":[1]}"#), None),
        (own(r#"{"match":5}"#), None),
        (own(r#"{"exempt":null,"capacity":"Deny"}"#), None),
        (own(r#"{"match":{"later":1}}"#), None),
        (forged(r#"{"exempt":null}"#), None),
        (forged(r#"{"exempt":[["alice"]]}"#), Some("spec.exempt is a list, not an object")),
        (forged(r#"{"addresses":[["10.0.0.0/8"]]}"#), Some("spec.addresses is a list, not an object")),
        (forged(r#"{"match":{"namespaces":[["other"]]}}"#), Some("spec.match.namespaces is a list, not an object")),
    ] {
        let policy = json!({
            "apiVersion": "roster.dev/v1alpha1", "kind": "EndpointPolicy",
            "metadata": {"name": "a", "annotations": {"roster.dev/v1-only": rest}},
            "spec": {"rules": [{"name": "external-ip", "mode": "enforce"}]},
        });
        let (policy, problems) = read(&raw(&policy));
        let got: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        let why: Vec<String> = why.iter().map(|why| format!("{at}{why}")).collect();
        assert_eq!(got, why, "{rest}");
        assert_eq!(policy.is_none(), !why.is_empty(), "{rest}");
        let Some(policy) = policy else { continue };
        assert_eq!((policy.spec.exempt, policy.spec.addresses, policy.spec.matches), Default::default(), "{rest}");
    }
}

#[test]
fn mistakes_beyond_the_schema_name_their_field() {
    for (fields, pointer, message) in [
        (r#""metadata":{"labels":[1]},"spec":{}"#, Some("/metadata"), "metadata invalid type: sequence"),
        (r#""metadata":{"annotations":5},"spec":{}"#, Some("/metadata"), "metadata invalid type: integer"),
        (r#""metadata":{},"spec":{"exempt":{},"exempt":{}}"#, None, "duplicate field `exempt`"),
    ] {
        let text = format!(r#"{{"apiVersion":"roster.dev/v1","kind":"EndpointPolicy",{fields}}}"#);
        let (policy, problems) = read(&RawValue::from_string(text).unwrap());
        assert!(policy.is_none() && problems.len() == 1, "{problems:?}");
        assert_eq!(problems[0].pointer.as_deref(), pointer, "{problems:?}");
        assert!(problems[0].message.starts_with(message), "{problems:?}");
    }
}

#[test]
fn the_pointer_of_a_finding_resolves() {
    for (spec, pointer, message) in [
        (json!({"rules": [{"name": "external-ip"}]}), "/spec/rules/0/mode", "spec.rules[0].mode is missing"),
        (
            json!({"match": {"services": {"selector": {"matchLabels": {"a.b/c": 1}}}}}),
            "/spec/match/services/selector/matchLabels/a.b~1c",
            "spec.match.services.selector.matchLabels[\"a.b/c\"] is a number, not a string",
        ),
    ] {
        let (_, problems) = read(&raw(&v1("a", &spec)));
        assert_eq!((problems[0].pointer.as_deref(), problems[0].message.as_str()), (Some(pointer), message));
    }
}

#[test]
fn a_condition_keeps_its_time_until_it_changes() {
    let time = |text: &str| text.parse::<Time>().unwrap();
    let (early, late) = (time("2030-01-01T00:00:00Z"), time("2030-01-02T00:00:00Z"));
    let first = PolicyStatus::of(1, &[], &PolicyStatus::default(), early);
    let again = PolicyStatus::of(2, &[], &first, late);
    assert_eq!(again.conditions[0].last_transition_time, early);
    let (_, problems) = read(&raw(&v1("a", &json!({"defaultMode": 1}))));
    let bad = PolicyStatus::of(3, &problems, &again, late);
    let shown: Vec<_> =
        bad.conditions.iter().map(|c| (c.kind.as_str(), c.status.as_str(), c.message.as_str())).collect();
    assert_eq!(
        shown,
        [
            ("Accepted", "False", "spec.defaultMode is a number, not a string"),
            ("Ready", "False", "this generation is not in force; the previous one is, until the next restart"),
        ]
    );
    assert_eq!(bad.conditions[0].last_transition_time, late);
}

#[test]
fn both_schemas_have_every_field() {
    let crd = crd();
    let paths =
        |version: usize| crd["spec"]["versions"][version]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
    let (v1, alpha) = (paths(0), paths(1));
    for moved in version::FIELD_MOVES {
        let at = format!("/properties/{}", moved.path.join("/properties/"));
        assert_eq!(v1.pointer(&at), alpha["properties"].get(moved.flat), "{moved:?}");
        assert!(v1.pointer(&at).is_some(), "{moved:?}");
    }
    assert_eq!(alpha["properties"].as_object().unwrap().len(), version::FIELD_MOVES.len() + 2);
}

#[test]
fn an_object_that_is_relabelled_keeps_its_previous_settings_as_before() {
    let strict = json!({
        "rules": [{"name": "address-provenance", "mode": "enforce"}],
        "match": {"services": {"names": ["db"]}},
    });
    let policies = policies(&[v1("a", &strict)]);
    let slice = |service: &str, note: &str| {
        raw(&json!({"metadata": {"labels": {"kubernetes.io/service-name": service, "note": note}}}))
    };
    for (name, old, new, mode, before) in [
        ("into it", slice("other", ""), slice("db", ""), Mode::Enforce, Some(Mode::Warn)),
        ("out of it", slice("db", ""), slice("other", ""), Mode::Warn, Some(Mode::Enforce)),
        ("within it", slice("db", "a"), slice("db", "b"), Mode::Enforce, None),
    ] {
        let request = AdmissionRequest {
            kind: "EndpointSlice".into(),
            namespace: "shop".into(),
            name: "s".into(),
            object: Some(&new),
            old_object: Some(&old),
            ..AdmissionRequest::default()
        };
        let settings = policies.settings_of(&request, NamespaceLabels::NameOnly);
        let before_of = settings.before.as_ref().map(|b| b.mode(Rule::Provenance));
        assert_eq!((settings.mode(Rule::Provenance), before_of), (mode, before), "{name}");
    }
}
