//! What becomes of keys, as a table.

use serde_json::{Value, json};

use super::{TopologyMigration, ZoneLabels};
use crate::{
    model::{Node, Service},
    profile::Minor,
};

fn service(annotations: &Value, keys: &Value) -> Service {
    let meta = json!({ "namespace": "ns", "name": "web", "annotations": annotations });
    serde_json::from_value(json!({ "metadata": meta, "spec": { "topologyKeys": keys } })).unwrap()
}

/// The target, its equivalence, the patch and the label that becomes the zone.
fn migrated(service: &Service) -> (String, &'static str, Value) {
    let migration = TopologyMigration::of([service], None, Minor::NEWEST);
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
fn all_keys_are_read() {
    for (written, read) in [(1, 1), (16, 16), (17, 17), (40, 40)] {
        let keys: Vec<String> = (0..written).map(|n| format!("key-{n}")).collect();
        let repeated = json!([keys.clone(), keys].concat()).to_string();
        let service = service(&json!({ "topologyKeys": repeated }), &json!([]));
        let migration = TopologyMigration::of([&service], None, Minor::NEWEST);
        assert_eq!(migration.services[0].keys.keys.len(), read, "{written}");
    }
}

#[test]
fn older_releases_get_what_they_have() {
    let (host, zone) = ("kubernetes.io/hostname", "topology.kubernetes.io/zone");
    let node = "before Kubernetes 1.34, the same zone can be preferred, but not the same node";
    let none = "trafficDistribution takes effect from Kubernetes 1.31 on";
    for (keys, release, target, equivalence, note) in [
        (json!([host, "*"]), "1.34", "trafficDistribution: PreferSameNode", "preference", None),
        (json!([host, "*"]), "1.33", "trafficDistribution: PreferClose", "preference", Some(node)),
        (json!([zone]), "1.34", "trafficDistribution: PreferSameZone", "fence-lost", None),
        (json!([zone]), "1.33", "trafficDistribution: PreferClose", "fence-lost", None),
        (json!([zone]), "1.31", "trafficDistribution: PreferClose", "fence-lost", None),
        // 1.30 has the field behind a feature gate that is off.
        (json!([zone]), "1.30", "nothing", "none", Some(none)),
        (json!([host, zone]), "1.22", "nothing", "none", Some(none)),
        (json!([host]), "1.22", "internalTrafficPolicy: Local", "strict", None),
    ] {
        let service = service(&json!({}), &keys);
        let migration = TopologyMigration::of([&service], None, release.parse().unwrap());
        let of = &migration.services[0];
        let want = (target, equivalence, note.map(str::to_owned).into_iter().collect::<Vec<_>>());
        assert_eq!((of.target.as_str(), of.equivalence.as_str(), of.notes()), want, "{release} {keys}");
        assert_eq!(of.patched().traffic_distribution.is_some(), target.starts_with("trafficD"), "{release} {keys}");
    }
}

#[test]
fn what_kube_proxy_does_not_serve_gets_no_policy() {
    let keys = json!({ "topologyKeys": r#"["kubernetes.io/hostname"]"# });
    for (spec, want) in [
        (json!({ "clusterIP": "None" }), ("nothing", "not-proxied")),
        (json!({ "type": "ExternalName", "externalName": "a.b" }), ("nothing", "not-proxied")),
        (json!({ "clusterIP": "10.96.0.1" }), ("internalTrafficPolicy: Local", "strict")),
    ] {
        let service = json!({ "metadata": { "namespace": "ns", "name": "web", "annotations": keys }, "spec": spec });
        let service: Service = serde_json::from_value(service).unwrap();
        let migration = TopologyMigration::of([&service], None, Minor::NEWEST);
        let of = &migration.services[0];
        assert_eq!((of.target.as_str(), of.equivalence.as_str()), want, "{spec}");
        // The annotation goes all the same.
        assert_eq!(of.patch()["metadata"], json!({ "annotations": { "topologyKeys": null } }), "{spec}");
    }
}

#[test]
fn keys_that_do_not_count_are_named() {
    let both = json!({ "topologyKeys": r#"["site"]"#, "openyurt.io/topologyKeys": "openyurt.io/nodepool" });
    let service = service(&both, &json!(["kubernetes.io/hostname"]));
    let migration = TopologyMigration::of([&service], None, Minor::NEWEST);
    let notes = migration.services[0].notes();
    assert_eq!(
        notes,
        [
            "the keys of OpenYurt are not migrated, because those of SuperEdge count",
            "the keys of spec.topologyKeys are not migrated, because those of SuperEdge count",
        ]
    );
}

#[test]
fn keys_that_cannot_be_read_are_left_alone() {
    let broken = service(&json!({ "topologyKeys": "site" }), &json!([]));
    let migration = TopologyMigration::of([&broken], None, Minor::NEWEST);
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
