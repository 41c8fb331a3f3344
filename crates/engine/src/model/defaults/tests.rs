//! The rules, one row for each: what is written, and what an API server stores.
//!
//! The rows were recorded from kube-apiserver 1.37; `cargo xtask test cluster` compares random objects.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Assumptions, ClusterFamilies, Defaults, DefaultsMode};
use crate::model::{EndpointSlice, Endpoints, Pod, Service, TargetPort};

fn read<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap()
}

fn cluster(families: &str) -> Defaults<'static> {
    Defaults { families: Some(families.parse().unwrap()), ..Defaults::default() }
}

fn service(spec: &Value, families: &str) -> Service {
    let mut service = read(&json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": spec }));
    cluster(families).fill_service(&mut service, &mut Assumptions::default());
    service
}

/// Policy and families, such as `SingleStack IPv4`.
fn families_of(service: &Service) -> String {
    let families = service.families.iter().map(|f| f.as_str());
    std::iter::once(service.family_policy.as_str()).chain(families).collect::<Vec<_>>().join(" ")
}

#[test]
fn ports_of_services() {
    let number = TargetPort::Number;
    for (port, protocol, target) in [
        (json!({ "port": 80 }), "TCP", number(80)),
        (json!({ "port": 80, "protocol": null, "targetPort": null }), "TCP", number(80)),
        (json!({ "port": 80, "protocol": "", "targetPort": "" }), "TCP", number(80)),
        (json!({ "port": 80, "protocol": "UDP", "targetPort": 0 }), "UDP", number(80)),
        (json!({ "port": 80, "protocol": "SCTP", "targetPort": 8080 }), "SCTP", number(8080)),
        (json!({ "port": 80, "targetPort": "http" }), "TCP", TargetPort::Name("http".into())),
    ] {
        for (kind, cluster_ip) in [("", ""), ("", "None"), ("LoadBalancer", ""), ("ExternalName", "")] {
            let spec = json!({ "type": kind, "clusterIP": cluster_ip, "selector": { "a": "b" }, "ports": [port] });
            let got = service(&spec, "IPv4").ports.remove(0);
            assert_eq!((got.protocol.as_str(), got.target_port), (protocol, target.clone()), "{spec}");
        }
    }
}

#[test]
fn families_of_services() {
    let (both, none) = ("RequireDualStack IPv4 IPv6", json!({}));
    for (families, want) in [
        ("IPv4", ["SingleStack IPv4", "SingleStack IPv4", both]),
        ("IPv6", ["SingleStack IPv6", "SingleStack IPv6", "RequireDualStack IPv6 IPv4"]),
        ("IPv4,IPv6", ["SingleStack IPv4", "SingleStack IPv4", both]),
        ("IPv6,IPv4", ["SingleStack IPv6", "SingleStack IPv6", "RequireDualStack IPv6 IPv4"]),
    ] {
        let specs = [
            none.clone(),
            json!({ "clusterIP": "None", "selector": { "a": "b" } }),
            json!({ "clusterIP": "None", "selector": {} }),
        ];
        let got = specs.map(|spec| families_of(&service(&spec, families)));
        assert_eq!(got, want, "{families}");
    }
}

#[test]
fn policies_and_families_that_are_given() {
    const PLAIN: &str = "plain";
    const HEADLESS: &str = "headless";
    const WITHOUT_SELECTOR: &str = "headless, without selector";
    for (cluster, kind, policy, families, want) in [
        // One family.
        ("IPv4", PLAIN, json!(null), json!(["IPv4"]), "SingleStack IPv4"),
        ("IPv4,IPv6", PLAIN, json!(null), json!(["IPv6"]), "SingleStack IPv6"),
        ("IPv4,IPv6", HEADLESS, json!("SingleStack"), json!([]), "SingleStack IPv4"),
        ("IPv4,IPv6", HEADLESS, json!("SingleStack"), json!(["IPv6"]), "SingleStack IPv6"),
        // A policy for two on a cluster with one.
        ("IPv4", PLAIN, json!("PreferDualStack"), json!(null), "PreferDualStack IPv4"),
        ("IPv4", HEADLESS, json!("PreferDualStack"), json!(["IPv4"]), "PreferDualStack IPv4"),
        // Both.
        ("IPv4,IPv6", PLAIN, json!("PreferDualStack"), json!(null), "PreferDualStack IPv4 IPv6"),
        ("IPv4,IPv6", PLAIN, json!("RequireDualStack"), json!(["IPv6"]), "RequireDualStack IPv6 IPv4"),
        ("IPv4,IPv6", HEADLESS, json!("PreferDualStack"), json!(["IPv6", "IPv4"]), "PreferDualStack IPv6 IPv4"),
        // Users may write endpoints of any family, on every cluster.
        ("IPv4", WITHOUT_SELECTOR, json!(null), json!(["IPv6"]), "RequireDualStack IPv6 IPv4"),
        ("IPv4", WITHOUT_SELECTOR, json!(null), json!(["IPv4", "IPv6"]), "RequireDualStack IPv4 IPv6"),
        ("IPv4", WITHOUT_SELECTOR, json!("SingleStack"), json!(null), "SingleStack IPv4"),
        ("IPv4", WITHOUT_SELECTOR, json!("SingleStack"), json!(["IPv6"]), "SingleStack IPv6"),
        ("IPv4", WITHOUT_SELECTOR, json!("PreferDualStack"), json!(null), "PreferDualStack IPv4 IPv6"),
        ("IPv4", WITHOUT_SELECTOR, json!("PreferDualStack"), json!(["IPv6"]), "PreferDualStack IPv6 IPv4"),
        ("IPv4", WITHOUT_SELECTOR, json!("RequireDualStack"), json!(["IPv6"]), "RequireDualStack IPv6 IPv4"),
    ] {
        let spec = match kind {
            PLAIN => json!({ "ipFamilyPolicy": policy, "ipFamilies": families }),
            HEADLESS => {
                json!({ "clusterIP": "None", "selector": { "a": "b" }, "ipFamilyPolicy": policy, "ipFamilies": families })
            }
            _ => json!({ "clusterIP": "None", "ipFamilyPolicy": policy, "ipFamilies": families }),
        };
        assert_eq!(families_of(&service(&spec, cluster)), want, "{cluster}: {spec}");
    }
}

#[test]
fn cluster_ips() {
    for (families, spec, want) in [
        ("IPv4", json!({}), ("192.0.2.1", "SingleStack IPv4")),
        ("IPv6,IPv4", json!({ "clusterIP": "" }), ("2001:db8::1", "SingleStack IPv6")),
        ("IPv4", json!({ "clusterIP": "None", "selector": { "a": "b" } }), ("None", "SingleStack IPv4")),
        ("IPv4,IPv6", json!({ "clusterIP": "fd00:10::77" }), ("fd00:10::77", "SingleStack IPv6")),
        (
            "IPv4,IPv6",
            json!({ "clusterIP": "fd00:10::77", "ipFamilyPolicy": "PreferDualStack" }),
            ("fd00:10::77", "PreferDualStack IPv6 IPv4"),
        ),
        ("IPv4,IPv6", json!({ "type": "ExternalName", "externalName": "example.org" }), ("", "")),
    ] {
        let service = service(&spec, families);
        assert_eq!((service.cluster_ip.as_str(), families_of(&service).as_str()), want, "{spec}");
    }
}

#[test]
fn other_fields_of_services() {
    for (spec, policy, selector) in [
        (json!({ "selector": {} }), "Cluster", false),
        (json!({ "selector": null, "internalTrafficPolicy": null }), "Cluster", false),
        (json!({ "selector": { "a": "b" }, "internalTrafficPolicy": "Local" }), "Local", true),
        (json!({ "type": "ExternalName", "selector": { "a": "b" }, "internalTrafficPolicy": "Local" }), "", true),
    ] {
        let got = service(&spec, "IPv4");
        assert_eq!((got.internal_traffic_policy.as_str(), got.selector.is_some()), (policy, selector), "{spec}");
    }
}

#[test]
fn pods_endpoints_and_slices() {
    let (defaults, mut assumed) = (Defaults::default(), Assumptions::default());
    let mut pod: Pod = read(&json!({ "metadata": { "name": "a" }, "spec": {
        "containers": [{ "ports": [{ "containerPort": 80 }, { "containerPort": 53, "protocol": "UDP" }] }],
        "initContainers": [{ "restartPolicy": "Always", "ports": [{ "containerPort": 81, "protocol": "" }] }],
    }}));
    defaults.fill_pod(&mut pod, &mut assumed);
    assert_eq!(pod.ports.iter().map(|p| p.protocol.as_str()).collect::<Vec<_>>(), ["TCP", "UDP", "TCP"]);
    assert_eq!(pod.namespace(), "default");

    let mut endpoints: Endpoints = read(&json!({ "metadata": { "name": "a" }, "subsets": [
        { "ports": [{ "port": 80 }, { "port": 81, "protocol": null }, { "port": 53, "protocol": "UDP", "name": "" }] },
    ]}));
    defaults.fill_endpoints(&mut endpoints, &mut assumed);
    assert_eq!(
        serde_json::to_value(&endpoints.subsets).unwrap(),
        json!([{ "ports": [
            { "port": 80, "protocol": "TCP" }, { "port": 81, "protocol": "TCP" }, { "port": 53, "protocol": "UDP" },
        ]}])
    );

    for (ports, want) in [
        (json!(null), json!(null)),
        (json!([]), json!(null)),
        (json!([{ "port": 80 }]), json!([{ "name": "", "protocol": "TCP", "port": 80 }])),
        // A missing port stands for all ports.
        (json!([{ "name": "a", "protocol": "UDP" }]), json!([{ "name": "a", "protocol": "UDP" }])),
        (json!([{ "name": null, "protocol": null, "port": 0 }]), json!([{ "name": "", "protocol": "TCP", "port": 0 }])),
    ] {
        let mut slice: EndpointSlice = read(&json!({ "metadata": { "name": "a" }, "ports": ports,
            "endpoints": [{ "deprecatedTopology": { "kubernetes.io/hostname": "n" } }] }));
        defaults.fill_slice(&mut slice, &mut assumed);
        assert_eq!(serde_json::to_value(&slice.ports).unwrap(), want, "{ports}");
        assert_eq!(serde_json::to_value(&slice.endpoints).unwrap(), json!([{ "addresses": [], "conditions": {} }]));
    }
}

#[test]
fn objects_of_a_cluster_are_read_as_they_are() {
    let metas = [
        json!({ "name": "a" }),
        json!({ "name": "a", "uid": "u" }),
        json!({ "name": "a", "resourceVersion": "1" }),
        json!({ "name": "a", "resourceVersion": "0" }),
    ];
    for (mode, want) in [
        (None, [80, 0, 0, 80]),
        (Some(DefaultsMode::Auto), [80, 0, 0, 80]),
        (Some(DefaultsMode::Always), [80, 80, 80, 80]),
        (Some(DefaultsMode::Never), [0, 0, 0, 0]),
    ] {
        let defaults = Defaults { mode, namespace: "shop", ..Defaults::default() };
        let got = metas.clone().map(|meta| {
            let mut service: Service = read(&json!({ "metadata": meta, "spec": { "ports": [{ "port": 80 }] } }));
            defaults.fill_service(&mut service, &mut Assumptions::default());
            // Whatever was in a cluster was in a namespace.
            assert_eq!(service.meta.namespace, if mode == Some(DefaultsMode::Never) { "" } else { "shop" });
            service.ports.remove(0).target_port
        });
        assert_eq!(got, want.map(TargetPort::Number), "{mode:?}");
    }
}

#[test]
fn what_was_filled_in_is_counted_and_nothing_is_filled_in_twice() {
    let mut assumed = Assumptions::default();
    let mut service: Service =
        read(&json!({ "metadata": { "name": "a" }, "spec": { "ports": [{ "port": 80 }, { "port": 81 }] } }));
    Defaults::default().fill_service(&mut service, &mut assumed);
    let sentences = |assumed: &Assumptions| -> Vec<String> {
        assumed.sentences().map(|(key, text)| format!("{}: {text}", key.kind)).collect()
    };
    assert_eq!(
        sentences(&assumed),
        [
            ": 1 object has no namespace; assumed: default",
            "Service: 2 ports have no protocol; assumed: TCP",
            "Service: 2 ports have no targetPort; assumed: the value of port",
            "Service: 1 Service has no ipFamilies, or too few for ipFamilyPolicy; assumed: IPv4",
            "Service: 1 Service has no clusterIP; assumed: an address that the cluster allocates",
        ]
    );
    let mut again = Assumptions::default();
    Defaults::default().fill_service(&mut service, &mut again);
    assert!(again.is_empty(), "{again:?}");
    let mut twice = assumed.clone();
    twice.merge(&assumed);
    assert_eq!(sentences(&twice)[2], "Service: 4 ports have no targetPort; assumed: the value of port");
}

#[test]
fn families_of_a_cluster_are_read_or_refused() {
    for (text, want) in [
        ("IPv4", Some((true, false))),
        ("IPv6", Some((false, false))),
        ("IPv4,IPv6", Some((true, true))),
        ("IPv6, IPv4", Some((false, true))),
        ("", None),
        ("ipv4", None),
        ("IPv4,IPv4", None),
        ("IPv4,IPv6,IPv4", None),
    ] {
        let got = text.parse::<ClusterFamilies>().ok();
        assert_eq!(got.map(|f| (f.first() == crate::model::Family::V4, f.is_dual())), want, "{text}");
        let list: Vec<&str> = text.split(',').map(str::trim).collect();
        assert_eq!(serde_json::from_value::<ClusterFamilies>(json!(list)).ok(), got, "{text}");
    }
}
