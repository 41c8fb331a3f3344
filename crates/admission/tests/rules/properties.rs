//! What holds for every object: deciding never panics, a patch fits, and a second one is empty.

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

const ANNOTATIONS: &[&str] = &[
    "service.alpha.kubernetes.io/tolerate-unready-endpoints",
    "service.kubernetes.io/topology-mode",
    "service.kubernetes.io/topology-aware-hints",
    "topologyKeys",
    "openyurt.io/topologyKeys",
    "endpoints.kubernetes.io/over-capacity",
    "control-plane.alpha.kubernetes.io/leader",
    "some/thing~else",
];
const LABELS: &[&str] = &[
    "service.kubernetes.io/headless",
    "kubernetes.io/service-name",
    "endpointslice.kubernetes.io/managed-by",
    "endpoints.kubernetes.io/managed-by",
    "app",
];
const VALUES: &[&str] = &[
    "",
    "true",
    "0",
    "yes",
    "Auto",
    "warning",
    "truncated",
    "web",
    "[\"a\"]",
    "endpoint-controller",
    "kubernetes.io/zone",
];
const IPS: &[&str] = &["10.0.0.1", "10.0.0.2", "10.9.0.1", "127.0.0.1", "fd00::1", "junk", "", "255.255.255.255"];

/// A map that may be missing or null.
fn map(keys: &'static [&'static str]) -> impl Strategy<Value = Option<Value>> {
    let some = vec((select(keys), select(VALUES)), 0..4);
    prop_oneof![
        Just(None),
        Just(Some(Value::Null)),
        some.prop_map(|pairs| Some(pairs.into_iter().map(|(k, v)| (k.to_owned(), Value::from(v))).collect())),
    ]
}

/// Metadata; sometimes there is none.
fn metadata() -> impl Strategy<Value = Option<Value>> {
    let deleting = proptest::bool::weighted(0.1);
    let some = (map(LABELS), map(ANNOTATIONS), deleting).prop_map(|(labels, annotations, deleting)| {
        let mut meta = json!({ "unknown": { "in": "metadata" } });
        for (key, value) in [("labels", labels), ("annotations", annotations)] {
            meta.as_object_mut().unwrap().extend(value.map(|v| (key.to_owned(), v)));
        }
        if deleting {
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        Some(meta)
    });
    prop_oneof![20 => some, 1 => Just(None), 1 => Just(Some(Value::Null))]
}

fn services() -> impl Strategy<Value = Value> {
    let spec = (any::<Option<bool>>(), vec(select(IPS), 0..3), select(VALUES), select(&["ClusterIP", "ExternalName"]));
    let spec = spec.prop_map(|(publish, ips, distribution, kind)| {
        json!({
            "publishNotReadyAddresses": publish, "externalIPs": ips, "trafficDistribution": distribution, "type": kind,
            "selector": { "app": distribution }, "ports": [{ "targetPort": "http", "port": 80, "unknown": 1 }],
        })
    });
    prop_oneof![9 => spec, 1 => Just(Value::Null)]
        .prop_map(|spec| json!({ "apiVersion": "v1", "kind": "Service", "spec": spec }))
}

fn endpoints() -> impl Strategy<Value = Value> {
    // Mostly a few addresses; sometimes more than fit, by little or by much.
    let count = || prop_oneof![12 => 0usize..4, 3 => 330usize..700, 1 => Just(2300usize)];
    let list = move || {
        (count(), vec(select(IPS), 4))
            .prop_map(|(n, ips)| (0..n).map(|i| json!({ "ip": ips[i % 4], "unknown": i })).collect::<Value>())
    };
    let subset = (list(), list(), vec(0..4i32, 0..3)).prop_map(|(ready, not_ready, ports)| {
        let ports: Value = ports.into_iter().map(|p| json!({ "port": p })).collect();
        json!({ "addresses": ready, "notReadyAddresses": not_ready, "ports": ports, "unknown": "in the subset" })
    });
    let subsets = vec(subset, 0..4).prop_map(Value::from);
    prop_oneof![9 => subsets, 1 => Just(Value::Null)]
        .prop_map(|subsets| json!({ "apiVersion": "v1", "kind": "Endpoints", "subsets": subsets }))
}

fn slices() -> impl Strategy<Value = Value> {
    let endpoint = (vec(select(IPS), 0..3), select(VALUES))
        .prop_map(|(ips, zone)| json!({ "addresses": ips, "hints": { "forZones": [{ "name": zone }] } }));
    (vec(endpoint, 0..4), select(&["IPv4", "IPv6", "FQDN", "other"])).prop_map(|(endpoints, kind)| {
        json!({ "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": kind, "endpoints": endpoints })
    })
}

fn objects() -> impl Strategy<Value = Value> {
    let kinds = prop_oneof![2 => services().boxed(), 2 => endpoints().boxed(), 1 => slices().boxed()];
    (kinds, metadata(), select(&["web", "byhand", "db", "alias", "none"])).prop_map(|(mut object, meta, name)| {
        object.as_object_mut().unwrap().extend(meta.map(|m| ("metadata".to_owned(), m)));
        object["unknown"] = json!({ "at": "the top", "big": 9_007_199_254_740_993_u64 });
        if object["metadata"].is_object() {
            object["metadata"]["name"] = name.into();
        }
        object
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    let mode = select(&[Mode::Off, Mode::Audit, Mode::Warn, Mode::Enforce, Mode::Enforce, Mode::Enforce]);
    (vec(mode, Rule::COUNT), any::<bool>()).prop_map(|(modes, deny)| {
        let mut settings = Settings::default();
        for (rule, mode) in Rule::ALL.iter().zip(modes) {
            settings.set(*rule, mode);
        }
        settings.ranges = ranges(&["10.9.0.0/16"], &[]);
        settings.capacity = if deny { Capacity::Deny } else { Capacity::Truncate };
        settings
    })
}

/// All values of fields named `unknown`.
fn unknown(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("unknown").map(Value::to_string));
            map.values().for_each(|v| unknown(v, found));
        }
        Value::Array(list) => list.iter().for_each(|v| unknown(v, found)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_second_patch_is_empty_and_unknown_fields_survive(object in objects(), settings in settings()) {
        let inventory = cluster();
        let cluster = Answers(Snapshot::of(&inventory));
        let decision = ask(&object, None, Stage::Mutate, &settings, &cluster);
        prop_assert!(decision.allowed());
        let patch: json_patch::Patch = serde_json::from_value(serde_json::to_value(&decision.patch).unwrap()).unwrap();
        let mut patched = object.clone();
        json_patch::patch(&mut patched, &patch).unwrap();
        let mut ours = object.clone();
        apply(&decision.patch, &mut ours).unwrap();
        prop_assert_eq!(&ours, &patched);
        let again = ask(&patched, None, Stage::Mutate, &settings, &cluster);
        prop_assert_eq!(again.patch, vec![]);
        // Only truncation removes something, and only whole addresses and subsets.
        let (mut before, mut after) = (Vec::new(), Vec::new());
        unknown(&object, &mut before);
        unknown(&patched, &mut after);
        if decision.findings.iter().all(|f| f.rule != Rule::OverCapacity) {
            prop_assert_eq!(before, after);
        } else {
            let addresses = |o: &Value| o["subsets"].as_array().unwrap().iter().flat_map(|s| {
                [&s["addresses"], &s["notReadyAddresses"]].map(|l| l.as_array().map_or(0, Vec::len))
            }).sum::<usize>();
            prop_assert_eq!(addresses(&patched), 1000);
        }
        // Every enforced rule that changes objects did so: the validating webhook does not find the fault again.
        let validated = ask(&patched, None, Stage::Validate, &settings, &cluster);
        let changed = |f: &&RuleFinding| decision.findings.iter().any(|d| d.rule == f.rule);
        prop_assert_eq!(validated.findings.iter().find(changed), None);
        // A stored object may be written again.
        prop_assert!(ask(&patched, Some(&patched), Stage::Validate, &settings, &cluster).allowed());
    }

    #[test]
    fn damaged_reviews_are_answered_or_refused(
        object in objects(), old in proptest::option::of(objects()), settings in settings(),
        holes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let group = if object["kind"] == "EndpointSlice" { "discovery.k8s.io" } else { "" };
        let mut body = serde_json::to_vec(&json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "u", "kind": { "group": group, "version": "v1", "kind": object["kind"] }, "namespace": "shop",
                "operation": if old.is_some() { "UPDATE" } else { "CREATE" }, "object": object, "oldObject": old,
            },
        })).unwrap();
        for (at, byte) in holes {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if let Some(cut) = cut {
            body.truncate(cut.index(body.len()));
        }
        let inventory = cluster();
        if let Ok((version, request)) = read_review(&body) {
            for stage in [Stage::Mutate, Stage::Validate] {
                let decided = decide(&request, stage, &settings, &Answers(Snapshot::of(&inventory)));
                let decision = decided.unwrap_or_else(|unreadable| Decision::unreviewed(&unreadable.to_string()));
                let answer: Value = serde_json::from_slice(&answer_review(version, &request.uid, &decision)).unwrap();
                prop_assert_eq!(&answer["response"]["allowed"], &Value::from(decision.allowed()));
            }
        }
    }
}
