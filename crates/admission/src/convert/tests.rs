use serde_json::{Value, json, value::RawValue};

use super::*;

/// The items, the lost fields (`object field: why (+more)`), and the failures.
fn convert(list: &[Value], to: &str) -> (Vec<Value>, Vec<String>, Vec<String>) {
    let raws: Vec<Box<RawValue>> = list.iter().map(|v| RawValue::from_string(v.to_string()).unwrap()).collect();
    let raws: Vec<&RawValue> = raws.iter().map(AsRef::as_ref).collect();
    let converted = convert_objects(&raws, to.parse().unwrap());
    let more = |n: usize| if n > 0 { format!(" (+{n})") } else { String::new() };
    (
        converted.items.iter().map(|i| serde_json::from_str(i.get()).unwrap()).collect(),
        converted.lost.iter().map(|l| format!("{} {}: {}{}", l.object, l.field, l.why, more(l.more))).collect(),
        converted.failed.iter().map(|f| format!("{} {}: {}", f.index, f.object, f.why)).collect(),
    )
}

fn slice(version: &str, endpoints: &Value) -> Value {
    json!({
        "apiVersion": format!("discovery.k8s.io/{version}"), "kind": "EndpointSlice", "future": 1,
        "metadata": {"name": "web-1", "namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    })
}

const KEPT: &str = "EndpointSlice shop/web-1 endpoints[0].topology: it becomes deprecatedTopology, which API servers drop \
                    from objects written as v1";

/// The table of the API server's own conversion tests: v1beta1, v1, and v1beta1 again.
#[test]
fn topology_is_converted_as_api_servers_did() {
    let (zone, host) = ("topology.kubernetes.io/zone", "kubernetes.io/hostname");
    for (beta, v1, back, lost) in [
        (
            json!({"topology": {zone: "z", host: "n"}, "nodeName": "n"}),
            json!({"zone": "z", "nodeName": "n"}),
            json!({"topology": {zone: "z", host: "n"}, "nodeName": "n"}),
            false,
        ),
        (
            json!({"topology": {host: "h"}, "nodeName": "n"}),
            json!({"nodeName": "n", "deprecatedTopology": {host: "h"}}),
            json!({"topology": {host: "h"}, "nodeName": "n"}),
            true,
        ),
        (
            json!({"topology": {host: "h"}}),
            json!({"deprecatedTopology": {host: "h"}}),
            json!({"topology": {host: "h"}}),
            true,
        ),
        (json!({"topology": {}}), json!({}), json!({}), false),
        (json!({"topology": null, "x": {"y": 1}}), json!({"x": {"y": 1}}), json!({"x": {"y": 1}}), false),
        (
            json!({"topology": {"region": "r", zone: ""}}),
            json!({"zone": "", "deprecatedTopology": {"region": "r"}}),
            json!({"topology": {"region": "r", zone: ""}}),
            true,
        ),
        (json!({"nodeName": "n"}), json!({"nodeName": "n"}), json!({"topology": {host: "n"}, "nodeName": "n"}), false),
    ] {
        let got = convert(&[slice("v1beta1", &json!([beta]))], "discovery.k8s.io/v1");
        let lost = if lost { vec![KEPT.to_owned()] } else { vec![] };
        assert_eq!(got, (vec![slice("v1", &json!([v1]))], lost, vec![]));
        let got = convert(&[slice("v1", &json!([v1]))], "discovery.k8s.io/v1beta1");
        assert_eq!(got, (vec![slice("v1beta1", &json!([back]))], vec![], vec![]));
    }
}

#[test]
fn a_slice_that_cannot_be_converted_does_not_affect_the_others() {
    let good = slice("v1beta1", &json!([]));
    let null = slice("v1beta1", &Value::Null);
    let (items, lost, failed) = convert(
        &[
            slice("v1beta1", &json!([{"topology": {"a": 1}}])),
            good,
            slice("v1beta1", &json!([{}, {"topology": []}])),
            slice("v1beta1", &json!([null])),
            slice("v1beta1", &json!({})),
            slice("v1alpha1", &json!([])),
            null,
            json!(5),
            json!({"a": 1}),
        ],
        "discovery.k8s.io/v1",
    );
    assert_eq!(items, [slice("v1", &json!([])), slice("v1", &Value::Null)]);
    assert_eq!(lost, [""; 0]);
    assert_eq!(
        failed,
        [
            "0 EndpointSlice shop/web-1: endpoints[0].topology[\"a\"] is not a string",
            "2 EndpointSlice shop/web-1: endpoints[1].topology is not an object",
            "3 EndpointSlice shop/web-1: endpoints[0] is not an object",
            "4 EndpointSlice shop/web-1: endpoints is not a list",
            "5 EndpointSlice shop/web-1: apiVersion \"discovery.k8s.io/v1alpha1\" is neither discovery.k8s.io/v1 nor \
         discovery.k8s.io/v1beta1",
            "7  : the value is not an object",
            "8  : the field `kind` is missing",
        ]
    );
}

#[test]
fn fields_of_the_wrong_version_are_lost_and_zones_take_precedence() {
    let (zone, host) = ("topology.kubernetes.io/zone", "kubernetes.io/hostname");
    let beta = slice("v1beta1", &json!([{"zone": "z", "deprecatedTopology": {}}]));
    let (items, lost, _) = convert(&[beta], "discovery.k8s.io/v1");
    assert_eq!(items, [slice("v1", &json!([{}]))]);
    assert_eq!(
        lost,
        [
            "EndpointSlice shop/web-1 endpoints[0].zone: v1beta1 does not have the field zone",
            "EndpointSlice shop/web-1 endpoints[0].deprecatedTopology: v1beta1 does not have the field deprecatedTopology",
        ]
    );
    let v1 = slice(
        "v1",
        &json!([{"zone": "z", "nodeName": "n", "topology": {}, "deprecatedTopology": {zone: "y", host: ""}}]),
    );
    let (items, lost, _) = convert(&[v1], "discovery.k8s.io/v1beta1");
    assert_eq!(items, [slice("v1beta1", &json!([{"nodeName": "n", "topology": {zone: "z", host: "n"}}]))]);
    assert_eq!(
        lost,
        [
            "EndpointSlice shop/web-1 endpoints[0].topology: v1 does not have the field topology",
            "EndpointSlice shop/web-1 endpoints[0].deprecatedTopology: the field zone replaces its zone",
        ]
    );
}

#[test]
fn other_objects_stay_as_they_are() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"x": 1.10}});
    let knative = json!({"apiVersion": "x.dev/v1", "kind": "Endpoints"});
    for to in ConversionTarget::ALL {
        let got = convert(&[service.clone(), knative.clone()], to.as_str());
        assert_eq!(got, (vec![service.clone(), knative.clone()], vec![], vec![]), "{to}");
    }
    assert!("v1".parse::<ConversionTarget>().unwrap_err().starts_with("expected EndpointSlice, Endpoints, discovery"));
}

fn endpoints(subsets: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "u", "labels": {"app": "web"},
            "annotations": {"a": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        "subsets": subsets,
    })
}

#[test]
fn endpoints_become_slices_without_a_controller() {
    let port = json!([{"name": "http", "port": 80, "protocol": "TCP"}]);
    let bare = json!([{"name": "http", "port": 80}]);
    let target = json!({"kind": "Pod", "namespace": "shop", "name": "p", "uid": "1"});
    let (items, lost, failed) = convert(
        &[endpoints(&json!([{
            "addresses": [{"ip": "10.0.0.1", "nodeName": "n", "hostname": "h", "targetRef": target}, {"ip": "fd00::1", "x": 1}],
            "notReadyAddresses": [{"ip": "10.0.0.2"}, {"ip": "junk"}],
            "ports": bare,
        }]))],
        "EndpointSlice",
    );
    let slice = |name: &str, family: &str, endpoints: Value| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {
                "name": name, "namespace": "shop", "annotations": {"a": "b"},
                "labels": {
                    "app": "web", "kubernetes.io/service-name": "web",
                    "endpointslice.kubernetes.io/managed-by": "roster-convert",
                },
            },
            "addressType": family, "endpoints": endpoints, "ports": port,
        })
    };
    assert_eq!(
        items,
        [
            slice(
                "web-1",
                "IPv4",
                json!([
                    {"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "nodeName": "n", "hostname": "h", "targetRef": target},
                    {"addresses": ["10.0.0.2"], "conditions": {"ready": false}},
                ])
            ),
            slice("web-2", "IPv6", json!([{"addresses": ["fd00::1"], "conditions": {"ready": true}}])),
        ]
    );
    assert_eq!(
        lost,
        [
            "Endpoints shop/web subsets[0].addresses[1].x: this version of Roster does not know the field",
            "Endpoints shop/web subsets: 1 not mirrored: \"junk\" is not an IP address that 1.37 reads",
        ]
    );
    assert_eq!(failed, [""; 0]);
}

#[test]
fn large_endpoints_become_several_slices() {
    let addresses: Vec<Value> = (0..2500).map(|i| json!({"ip": format!("10.0.{}.{}", i / 250, i % 250)})).collect();
    let ports = json!([{"port": 80, "protocol": "TCP"}]);
    let (items, lost, failed) =
        convert(&[endpoints(&json!([{"addresses": addresses, "ports": ports}]))], "EndpointSlice");
    let sizes: Vec<usize> = items.iter().map(|s| s["endpoints"].as_array().unwrap().len()).collect();
    assert_eq!((sizes, lost, failed), (vec![1000, 1000, 500], vec![], vec![]));
}

#[test]
fn differing_entries_of_an_address_are_reported() {
    let (_, lost, _) = convert(
        &[endpoints(&json!([
            {"addresses": [{"ip": "10.0.0.1", "nodeName": "a"}, {"ip": "10.0.0.2"}], "ports": [{"port": 80}]},
            {"addresses": [{"ip": "10.0.0.2"}], "notReadyAddresses": [{"ip": "10.0.0.1", "nodeName": "b"}], "ports": [{"port": 81}]},
        ]))],
        "EndpointSlice",
    );
    assert_eq!(
        lost,
        ["Endpoints shop/web subsets[1].notReadyAddresses[0]: an earlier entry of the address has another \
         host name, node or target, and takes precedence",]
    );
}

#[test]
fn slices_of_a_service_become_one_object() {
    let mut v4 = slice(
        "v1",
        &json!([
            {"addresses": ["10.0.0.2"], "conditions": {"ready": true, "serving": true, "terminating": false}, "zone": "z"},
            {"addresses": ["10.0.0.1", "10.0.0.9"], "zone": "z", "hints": {"forZones": [{"name": "z"}]}, "nodeName": "n"},
            {"addresses": ["10.0.0.3"], "conditions": {"ready": false, "serving": true, "terminating": true}},
        ]),
    );
    v4["metadata"]["labels"]["app"] = "web".into();
    let mut v6 = slice("v1beta1", &json!([{"addresses": ["fd00::1"], "topology": {"region": "r"}}]));
    v6["addressType"] = "IPv6".into();
    v6["metadata"]["name"] = "web-2".into();
    v6["metadata"]["labels"]["app"] = "other".into();
    let mut fqdn = slice("v1", &json!([{"addresses": ["example.com"]}]));
    fqdn["addressType"] = "FQDN".into();
    fqdn["metadata"]["name"] = "web-3".into();
    let mut stray = slice("v1", &json!([]));
    stray["metadata"]["labels"] = json!({});
    let mut all_ports = slice("v1", &json!([{"addresses": ["10.0.0.7"]}]));
    all_ports["metadata"] = json!({"name": "x", "labels": {"kubernetes.io/service-name": "x"}});
    all_ports["ports"] = json!([{"name": "any"}]);
    let (items, lost, failed) = convert(&[v6, fqdn, stray, v4, all_ports], "Endpoints");
    let port = json!([{"name": "http", "port": 80, "protocol": "TCP"}]);
    assert_eq!(
        items,
        [
            json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "x"}}),
            json!({
                "apiVersion": "v1", "kind": "Endpoints",
                "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
                "subsets": [{
                    "addresses": [{"ip": "10.0.0.1", "nodeName": "n"}, {"ip": "10.0.0.2"}, {"ip": "fd00::1"}],
                    "notReadyAddresses": [{"ip": "10.0.0.3"}],
                    "ports": port,
                }],
            }),
        ]
    );
    assert_eq!(
        lost,
        [
            "EndpointSlice x future: this version of Roster does not know the field",
            "EndpointSlice x ports[0]: a port without a number means every port, which Endpoints cannot express",
            "EndpointSlice x endpoints: none of their ports can be converted",
            "EndpointSlice shop/web-1 future: this version of Roster does not know the field",
            "EndpointSlice shop/web-1 endpoints[0].zone: Endpoints do not have zones (+1)",
            "EndpointSlice shop/web-1 endpoints[1].addresses: Endpoints hold only the first address of an endpoint",
            "EndpointSlice shop/web-1 endpoints[1].hints: Endpoints do not have hints",
            "EndpointSlice shop/web-1 endpoints[2].conditions.serving: Endpoints only distinguish ready and not ready",
            "EndpointSlice shop/web-1 endpoints[2].conditions.terminating: Endpoints do not have this condition",
            "EndpointSlice shop/web-2 future: this version of Roster does not know the field",
            "EndpointSlice shop/web-2 endpoints[0].deprecatedTopology: Endpoints do not have a topology",
            "EndpointSlice shop/web-2 metadata.labels[\"app\"]: another slice of the Service has a different value",
            "EndpointSlice shop/web-3 future: this version of Roster does not know the field",
            "EndpointSlice shop/web-3 endpoints: Endpoints can only hold IP addresses, not addresses of type FQDN",
        ]
    );
    assert_eq!(
        failed,
        [
            "2 EndpointSlice shop/web-1: the label kubernetes.io/service-name is missing: the slice does not belong to a Service",
        ]
    );
}

/// Objects with 40 000 members: a linear search for each member would take 15 seconds.
#[test]
fn the_time_per_member_does_not_grow() {
    let many = |prefix: &str, value: &str| {
        let members: Vec<String> = (0..40_000).map(|i| format!(r#""{prefix}{i}":{value}"#)).collect();
        members.join(",")
    };
    let (numbers, texts) = (many("f", "0"), many("f", r#""""#));
    let rest = Value::from(format!(r#"{{"spec":{{"match":{{{numbers}}}}}}}"#));
    let policy = |version: &str, spec: &str, rest: &Value| {
        format!(
            r#"{{"apiVersion":"roster.dev/{version}","kind":"EndpointPolicy","spec":{spec},
                "metadata":{{"annotations":{{"roster.dev/v1-only":{rest}}}}}}}"#
        )
    };
    let slice = |version: &str, name: &str, labels: &str, endpoints: &str| {
        format!(
            r#"{{"apiVersion":"discovery.k8s.io/{version}","kind":"EndpointSlice","addressType":"IPv4",
                "metadata":{{"name":"{name}","labels":{{{labels},"kubernetes.io/service-name":"web"}}}},
                "endpoints":[{endpoints}]}}"#
        )
    };
    let flat = policy("v1alpha1", r#"{"namespaces":["x"]}"#, &rest);
    let structured = policy("v1", &format!(r#"{{{numbers},"match":{{{numbers}}}}}"#), &Value::from(""));
    let topology = slice("v1beta1", "web-1", r#""a":"b""#, &format!(r#"{{"topology":{{{texts}}}}}"#));
    let slices = [slice("v1", "web-1", &texts, ""), slice("v1", "web-2", &many("e", r#""""#), "")];
    for (name, texts, to) in [
        ("a remainder in an annotation", &[flat][..], "roster.dev/v1"),
        ("unknown fields", &[structured], "roster.dev/v1alpha1"),
        ("topology", &[topology], "discovery.k8s.io/v1"),
        ("labels of slices, the later ones first", &slices, "Endpoints"),
    ] {
        let raws: Vec<&RawValue> = texts.iter().map(|t| serde_json::from_str(t).unwrap()).collect();
        let converted = convert_objects(&raws, to.parse().unwrap());
        assert_eq!((converted.items.len(), converted.failed), (1, vec![]), "{name}");
        assert!(converted.items[0].get().len() > 400_000, "{name}");
    }
}
