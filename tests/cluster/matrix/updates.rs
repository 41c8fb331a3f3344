//! Updates: what is stored may stay, and what is new is judged.

use serde_json::{Value, json};

use super::{ApiServer, LABEL, Mode, Rule, Told, case};

/// What comes of an update.
enum Want {
    /// It is stored; a warning of this rule is heard, or none.
    Stored(Option<Rule>),
    /// It is refused, and it is this rule that refuses.
    Refused(Rule),
}
use Want::{Refused, Stored};

/// An object that was stored before anybody judged it, and updates of it while its rule is enforced.
struct Story {
    name: &'static str,
    rule: Rule,
    object: Value,
    updates: Vec<(&'static str, Value, Want)>,
}

fn slice(address: &str, finalizers: &[&str]) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": { "name": "by-hand", "labels": { "kubernetes.io/service-name": "legacy" }, "finalizers": finalizers },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": [address] }],
    })
}

fn endpoints(addresses: &[&str]) -> Value {
    let addresses: Vec<Value> = addresses.iter().map(|ip| json!({ "ip": ip })).collect();
    json!([{ "addresses": addresses, "ports": [{ "port": 80 }] }])
}

fn stories() -> Vec<Story> {
    let note = || json!({ "metadata": { "annotations": { "note": "x" } } });
    vec![
        Story {
            name: "an external address that is stored may stay",
            rule: Rule::ExternalIp,
            object: json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "stored" },
                "spec": { "ports": [{ "port": 80 }], "externalIPs": ["198.51.100.7"] } }),
            updates: vec![
                ("something else changes", note(), Stored(Some(Rule::ExternalIp))),
                (
                    "one more",
                    json!({ "spec": { "externalIPs": ["198.51.100.7", "198.51.100.8"] } }),
                    Refused(Rule::ExternalIp),
                ),
                ("it is changed", json!({ "spec": { "externalIPs": null } }), Stored(None)),
                ("it comes back", json!({ "spec": { "externalIPs": ["198.51.100.7"] } }), Refused(Rule::ExternalIp)),
            ],
        },
        Story {
            name: "what was admitted under another policy is denied",
            rule: Rule::ExternalIp,
            object: json!({ "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "stored", "labels": { LABEL: case(Rule::ExternalIp, Mode::Off) } },
                "spec": { "ports": [{ "port": 80 }], "externalIPs": ["198.51.100.7"] } }),
            updates: vec![("the label changes, by which policies know it", note(), Refused(Rule::ExternalIp))],
        },
        Story {
            name: "a foreign address of Endpoints that is stored may stay",
            rule: Rule::Provenance,
            object: json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": "stored" },
                "subsets": endpoints(&["10.244.7.9"]) }),
            updates: vec![
                ("something else changes", note(), Stored(Some(Rule::Provenance))),
                (
                    "one more",
                    json!({ "subsets": endpoints(&["10.244.7.9", "10.244.7.10"]) }),
                    Refused(Rule::Provenance),
                ),
                (
                    "one of a pod",
                    json!({ "subsets": endpoints(&["10.244.0.5", "10.244.7.9"]) }),
                    Stored(Some(Rule::Provenance)),
                ),
                ("it is changed", json!({ "subsets": endpoints(&["10.244.0.5"]) }), Stored(None)),
            ],
        },
        Story {
            name: "a slice is judged until it is gone",
            rule: Rule::Provenance,
            object: slice("10.244.0.6", &["roster.dev/hold"]),
            updates: vec![
                ("nothing is wrong", note(), Stored(None)),
                (
                    "a foreign address",
                    json!({ "endpoints": slice("10.244.7.9", &[])["endpoints"] }),
                    Refused(Rule::Provenance),
                ),
                (DELETED, Value::Null, Stored(None)),
                // kube-proxy sends traffic to it as long as the finalizer holds it.
                (
                    "a foreign address while a finalizer holds it",
                    json!({ "endpoints": slice("10.244.7.9", &[])["endpoints"] }),
                    Refused(Rule::Provenance),
                ),
                ("the finalizer goes", json!({ "metadata": { "finalizers": null } }), Stored(None)),
            ],
        },
        Story {
            name: "a slice with a foreign address can go",
            rule: Rule::Provenance,
            object: slice("10.244.7.9", &["roster.dev/hold"]),
            updates: vec![
                (DELETED, Value::Null, Stored(None)),
                // An annotation changes as well, so that it is looked at.
                (
                    "the finalizer goes",
                    json!({ "metadata": { "finalizers": null, "annotations": { "note": "x" } } }),
                    Stored(Some(Rule::Provenance)),
                ),
            ],
        },
        Story {
            name: "a rule that changes objects also changes updates",
            rule: Rule::TolerateUnready,
            object: json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "stored" },
                "spec": { "ports": [{ "port": 80 }] } }),
            updates: vec![(
                "the annotation comes",
                json!({ "metadata": { "annotations": { "service.alpha.kubernetes.io/tolerate-unready-endpoints": "true" } } }),
                Stored(Some(Rule::TolerateUnready)),
            )],
        },
    ]
}

/// In place of an update.
const DELETED: &str = "it is deleted";

/// Tells each story.
pub(super) fn check(api: &ApiServer) {
    for Story { name, rule, mut object, updates } in stories() {
        object["metadata"]["namespace"] = "shop".into();
        if object["metadata"]["labels"][LABEL].is_null() {
            object["metadata"]["labels"][LABEL] = case(rule, Mode::Enforce).into();
        }
        let told = api.create_unseen(&object);
        assert_eq!(told.status, 201, "{name}: {told:?}");
        let mut gone = false;
        for (at, mut patch, want) in updates {
            if at == DELETED {
                api.delete(&object);
                continue;
            }
            patch["metadata"]["labels"][LABEL] = case(rule, Mode::Enforce).into();
            let told = api.patch(&object, &patch);
            held(&format!("{name}: {at}"), &told, &want);
            gone = told.status == 200 && told.body["metadata"]["deletionTimestamp"].is_string();
        }
        if !gone {
            api.delete(&object);
        }
    }
}

fn held(name: &str, told: &Told, want: &Want) {
    // A refusal names the policy as well.
    let tells = |text: &str, rule: Rule| {
        let refused = format!("({rule}, EndpointPolicy {})", case(rule, Mode::Enforce));
        text.ends_with(&format!("({rule})")) || text.ends_with(&refused)
    };
    let codes = |text: &str| Rule::ALL.iter().copied().filter(|r| tells(text, *r)).collect::<Vec<_>>();
    match want {
        Stored(rule) => {
            assert_eq!(told.status, 200, "{name}: {told:?}");
            let heard: Vec<Rule> = told.warnings.iter().flat_map(|w| codes(w)).collect();
            assert_eq!(heard, rule.iter().copied().collect::<Vec<_>>(), "{name}: {told:?}");
        }
        Refused(rule) => {
            assert_eq!(told.status, rule.refusal().code(), "{name}: {told:?}");
            assert_eq!(codes(told.body["message"].as_str().unwrap()), [*rule], "{name}: {told:?}");
        }
    }
}
