//! What becomes of keys, as a table.

use serde_json::{Value, json};

use super::{TopologyMigration, ZoneLabels};
use crate::model::{Node, Service};

fn service(annotations: &Value, keys: &Value) -> Service {
    let meta = json!({ "namespace": "ns", "name": "web", "annotations": annotations });
    serde_json::from_value(json!({ "metadata": meta, "spec": { "topologyKeys": keys } })).unwrap()
}

/// The target, its equivalence, the patch and the label that becomes the zone.
fn migrated(service: &Service) -> (String, &'static str, Value) {
    let migration = TopologyMigration::of([service], None);
    let [of] = &migration.services[..] else { return (String::new(), "", json!(null)) };
    let zone = migration.zone_key.as_ref().map(|key| format!("; zone = {key}")).unwrap_or_default();
    (format!("{}{zone}", of.target.as_str()), of.equivalence.as_str(), of.patch())
}

#[test]
fn keys_become_policies_and_preferences() {
    let (host, zone, region) =
        ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region");
    let local = json!({ "internalTrafficPolicy": "Local" });
    let same = |place: &str| json!({ "trafficDistribution": format!("PreferSame{place}") });
    let node = "trafficDistribution: PreferSameNode";
    let same_zone = "trafficDistribution: PreferSameZone";
    for (keys, target, equivalence, spec) in [
        (json!([host]), "internalTrafficPolicy: Local", "strict", local.clone()),
        (json!([host, "*"]), node, "preference", same("Node")),
        (json!([host, zone]), node, "fence-lost", same("Node")),
        (json!([host, zone, "*"]), node, "preference", same("Node")),
        (json!([zone]), same_zone, "fence-lost", same("Zone")),
        (json!([zone, region, "*"]), same_zone, "preference", same("Zone")),
        (json!(["failure-domain.beta.kubernetes.io/zone"]), same_zone, "fence-lost", same("Zone")),
        (json!([region]), "nothing", "none", json!(null)),
        (json!(["*"]), "nothing", "strict", json!(null)),
    ] {
        let want = if spec.is_null() { json!({}) } else { json!({ "spec": spec }) };
        assert_eq!(migrated(&service(&json!({}), &keys)), (target.to_owned(), equivalence, want), "{keys}");
    }
    for (annotation, value, target, equivalence, spec) in [
        ("topologyKeys", json!([host]).to_string(), "internalTrafficPolicy: Local", "strict", local.clone()),
        ("topologyKeys", json!([host, zone]).to_string(), same_zone, "fence-lost", same("Zone")),
        ("topologyKeys", r#"["site"]"#.to_owned(), &*format!("{same_zone}; zone = site"), "fence-lost", same("Zone")),
        ("topologyKeys", json!([zone, region]).to_string(), "nothing", "none", json!(null)),
        ("openyurt.io/topologyKeys", host.to_owned(), "internalTrafficPolicy: Local", "strict", local.clone()),
        (
            "openyurt.io/topologyKeys",
            "openyurt.io/nodepool".to_owned(),
            &*format!("{same_zone}; zone = apps.openyurt.io/nodepool"),
            "fence-lost",
            same("Zone"),
        ),
    ] {
        let mut want = json!({ "metadata": { "annotations": { annotation: null } } });
        if !spec.is_null() {
            want["spec"] = spec;
        }
        let found = migrated(&service(&json!({ annotation: value }), &json!([])));
        assert_eq!(found, (target.to_owned(), equivalence, want), "{annotation} {value}");
    }
    assert_eq!(migrated(&service(&json!({}), &json!([]))).1, "");
}

#[test]
fn keys_that_cannot_be_read_are_left_alone() {
    let broken = service(&json!({ "topologyKeys": "site" }), &json!([]));
    let migration = TopologyMigration::of([&broken], None);
    assert_eq!((migration.services.len(), migration.malformed.len()), (0, 1));
}

#[test]
fn nodes_get_zones_unless_they_have_others() {
    let node = |name: &str, labels: Value| -> Node {
        serde_json::from_value(json!({ "metadata": { "name": name, "labels": labels } })).unwrap()
    };
    let zone = "topology.kubernetes.io/zone";
    let nodes = [
        node("a", json!({ "site": "north" })),
        node("b", json!({ "site": "north", zone: "north" })),
        node("c", json!({ "site": "north", zone: "z1" })),
        node("d", json!({})),
    ];
    let nodes = nodes.into_iter().collect();
    let labels = ZoneLabels::of(&nodes, Some(&"site".into()));
    let names = |patches: &[super::ZonePatch<'_>]| patches.iter().map(|p| p.node.name.to_string()).collect::<Vec<_>>();
    assert_eq!((names(&labels.patches), names(&labels.conflicts)), (vec!["a".to_owned()], vec!["c".to_owned()]));
    assert_eq!(labels.without.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["d"]);
    let zones: Vec<_> = labels.patched(&nodes).iter().map(|n| n.zone().cloned().unwrap_or_default()).collect();
    assert_eq!(zones, ["north", "north", "z1", ""]);
}
