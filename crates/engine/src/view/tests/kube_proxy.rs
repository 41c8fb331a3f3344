//! kube-proxy: the rows of upstream's `TestCategorizeEndpoints`, and how slices are merged.

use serde_json::{Value, json};

use super::{read, slice};
use crate::{
    model::{EndpointSlice, Family, Node, Service},
    view::{ProxyView, Verdict, ViewTooLarge, Viewpoint},
};

/// A Service with a port `http`; `words` are `internal-local`, `external-local` and `node-port`.
fn service(words: &str) -> Service {
    let mut service = json!({
        "metadata": { "namespace": "ns", "name": "web" },
        "spec": {
            "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"],
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80 }],
        },
    });
    let spec = &mut service["spec"];
    for word in words.split_whitespace() {
        match word {
            "internal-local" => spec["internalTrafficPolicy"] = "Local".into(),
            "external-local" => (spec["externalTrafficPolicy"], spec["type"]) = ("Local".into(), "NodePort".into()),
            "node-port" => (spec["ports"][0]["nodePort"], spec["type"]) = (30_080.into(), "NodePort".into()),
            _ => panic!("{word}"),
        }
    }
    read(service)
}

/// The last octets of a list, or `-` for null.
fn octets<'e>(list: Option<impl Iterator<Item = &'e crate::view::ProxyEndpoint<'e>>>) -> String {
    let Some(list) = list else { return "-".to_owned() };
    let of = |e: &crate::view::ProxyEndpoint<'_>| e.ip.to_string().rsplit('.').next().unwrap().to_owned();
    list.map(of).collect::<Vec<_>>().join(" ")
}

/// Cluster, local and reachable endpoints, and whether there are any.
fn viewed(node: &str, zone: &str, words: &str, slices: &[Value]) -> String {
    let labels = if zone.is_empty() { json!({}) } else { json!({ "topology.kubernetes.io/zone": zone }) };
    let known: Node = read(json!({ "metadata": { "name": node, "labels": labels } }));
    let at = Viewpoint { name: node, node: Some(&known) };
    let services = [service(words)];
    let slices: Vec<EndpointSlice> = slices.iter().cloned().map(read).collect();
    let view = ProxyView::of(&services, &slices, Family::V4, at, usize::MAX).unwrap();
    let port = &view.ports[0];
    format!("{} | {} | {} | {}", octets(port.cluster()), octets(port.local()), octets(port.reachable()), port.has_any)
}

const HINTED: &str = "3 zones=a; 4 zones=b; 5 zones=c; 6 zones=a";
const LOCAL: &str = "3 zones=a on=n; 4 zones=b on=n; 5 zones=c; 6 zones=a";
const NODES: &str = "3 zones=a nodes=n1; 4 zones=b nodes=n2; 5 zones=c nodes=n3; 6 zones=a nodes=n4";

#[test]
fn endpoints_are_sorted_as_upstream_sorts_them() {
    for (node, zone, words, endpoints, want) in [
        ("n", "a", "", HINTED, "3 6 | - | 3 6 | true"),
        ("n", "a", "external-local node-port", LOCAL, "3 6 | 3 4 | 3 4 6 | true"),
        ("n", "a", "internal-local node-port", LOCAL, "3 6 | 3 4 | 3 4 6 | true"),
        // Hints are ignored where none is for the zone.
        ("n", "", "", "3 zones=a", "3 | - | 3 | true"),
        ("n", "b", "", "3 zones=a", "3 | - | 3 | true"),
        ("n", "d", "", HINTED, "3 4 5 6 | - | 3 4 5 6 | true"),
        // Endpoints that are not ready do not count for hints.
        ("n", "a", "", "3 zones=a; 4 zones=b; 5 zones=c; 6 zones=a unready", "3 | - | 3 | true"),
        ("n", "a", "", "3 zones=a unready; 4 zones=b; 5 zones=c; 6 zones=a unready", "4 5 | - | 4 5 | true"),
        ("n", "a", "", "3 zones=a; 4 zones=b; 5; 6 zones=a", "3 4 5 6 | - | 3 4 5 6 | true"),
        ("n", "a", "", "3 zones=a; 4 zones=b; 5 unready; 6 zones=a", "3 6 | - | 3 6 | true"),
        ("n", "c", "", "3 zones=a,b,c; 4 zones=b,c; 5 zones=b,d; 6 zones=c", "3 4 6 | - | 3 4 6 | true"),
        // Nodes before zones.
        ("n1", "a", "", NODES, "3 | - | 3 | true"),
        ("n0", "a", "", NODES, "3 6 | - | 3 6 | true"),
        (
            "n1",
            "a",
            "",
            "3 zones=a nodes=n1; 4; 5 zones=c nodes=n3; 6 zones=a nodes=n4",
            "3 4 5 6 | - | 3 4 5 6 | true",
        ),
        ("n1", "a", "", "3 zones=a nodes=n1; 4 zones=b; 6 zones=a nodes=n4", "3 6 | - | 3 6 | true"),
        // Hints do not count for local traffic.
        (
            "n",
            "a",
            "external-local node-port",
            "3 zones=a on=n; 4 zones=b on=n; 5 zones=a; 6 zones=b",
            "3 5 | 3 4 | 3 4 5 | true",
        ),
        // internalTrafficPolicy: Local
        ("n", "", "internal-local", "", "- | - | - | false"),
        ("n", "", "internal-local", "3 on=m; 4 on=m", "- | - | - | true"),
        ("n", "", "internal-local", "3 on=n; 4 on=n", "- | 3 4 | 3 4 | true"),
        ("n", "", "internal-local", "3 on=n; 4 on=m", "- | 3 | 3 | true"),
        ("n", "", "internal-local", "3 on=m; 4 on=n unready", "- | - | - | true"),
        ("n", "", "internal-local", "3", "- | - | - | true"),
        // Nothing is ready.
        ("n", "", "", "3 unready; 4 stopped", " | - |  | false"),
        ("n", "", "", "3 unready; 4", "4 | - | 4 | true"),
        ("n", "", "", "3 draining; 4 draining", "3 4 | - | 3 4 | true"),
        ("n", "", "", "3 draining; 4 gone", "3 | - | 3 | true"),
        ("n", "", "", "3 draining; 4", "4 | - | 4 | true"),
        ("n", "", "", "3 unknown", "3 | - | 3 | true"),
        // Both policies, with a way in from outside.
        ("n", "", "internal-local node-port", "3 on=n; 4 on=m", "3 4 | 3 | 3 4 | true"),
        ("n", "", "external-local node-port", "3 on=n; 4 on=m", "3 4 | 3 | 3 4 | true"),
        ("n", "", "internal-local external-local node-port", "3 on=n; 4 on=m", "3 4 | 3 | 3 4 | true"),
        ("n", "", "internal-local external-local node-port", "3 on=m; 4 on=m", "3 4 | - | 3 4 | true"),
        (
            "n",
            "",
            "internal-local external-local node-port",
            "3 on=m draining; 4 on=m draining",
            "3 4 | - | 3 4 | true",
        ),
        (
            "n",
            "",
            "external-local node-port",
            "1 on=m; 2 on=n stopped; 3 on=n draining; 4 on=m draining",
            "1 | 3 | 1 3 | true",
        ),
        // Not reachable from outside.
        ("n", "", "external-local", "3 on=m; 4 on=n", "3 4 | - | 3 4 | true"),
    ] {
        assert_eq!(viewed(node, zone, words, &[slice("web-1", endpoints)]), want, "{node} {zone} {words}: {endpoints}");
    }
}

#[test]
fn slices_are_merged_and_broken_ones_are_harmless() {
    let with = |pointer: &str, value: Value| {
        let mut slice = slice("web-1", "3 on=n");
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        slice.pointer_mut(parent).unwrap()[key] = value;
        slice
    };
    for (name, slices, want) in [
        ("two slices", vec![slice("web-1", "5; 4"), slice("web-2", "3")], "3 4 5 | - | 3 4 5 | true"),
        ("of one name the last", vec![slice("web-1", "5"), slice("web-1", "3")], "3 | - | 3 | true"),
        ("a slice without endpoints", vec![slice("web-1", ""), slice("web-2", "3")], "3 | - | 3 | true"),
        ("one address twice", vec![slice("web-1", "3"), slice("web-2", "3 draining")], "3 | - | 3 | true"),
        ("in another order", vec![slice("web-1", "3 draining"), slice("web-2", "3")], "3 | - | 3 | true"),
        ("another family", vec![with("/addressType", json!("IPv6"))], "- | - | - | false"),
        ("names", vec![with("/addressType", json!("FQDN"))], "- | - | - | false"),
        ("another port", vec![with("/ports/0/name", json!("metrics"))], "- | - | - | false"),
        ("a port without name", vec![with("/ports/0/name", Value::Null)], "- | - | - | false"),
        ("a port without number", vec![with("/ports/0/port", Value::Null)], "- | - | - | false"),
        ("a port 0", vec![with("/ports/0/port", json!(0))], "- | - | - | false"),
        ("a port without protocol", vec![with("/ports/0/protocol", Value::Null)], "3 | - | 3 | true"),
        ("no ports", vec![with("/ports", Value::Null)], "- | - | - | false"),
        ("an endpoint without address", vec![with("/endpoints/0/addresses", json!([]))], "- | - | - | false"),
        ("no address at all", vec![with("/endpoints/0/addresses", json!(["x"]))], "- | - | - | false"),
        (
            "for headless Services",
            vec![with("/metadata/labels/service.kubernetes.io~1headless", json!(""))],
            "3 | - | 3 | true",
        ),
        ("no label", vec![with("/metadata/labels", json!({}))], "- | - | - | false"),
        ("another namespace", vec![with("/metadata/namespace", json!("other"))], "- | - | - | false"),
    ] {
        assert_eq!(viewed("n", "", "", &slices), want, "{name}");
    }
    let mut headless = slice("web-1", "3");
    headless["metadata"]["labels"]["service.kubernetes.io/headless"] = json!("");
    assert_eq!(viewed("n", "", "", &[headless]), "- | - | - | false", "kube-proxy does not ask for it");
}

#[test]
fn what_becomes_of_connections() {
    use Verdict::{Dropped, Forwarded, Rejected};
    for (words, endpoints, internal, external) in [
        ("", "3 on=m", Forwarded, None),
        ("", "", Rejected, None),
        ("", "3 unready", Rejected, None),
        ("internal-local", "3 on=m", Dropped, None),
        ("internal-local", "3 on=n", Forwarded, None),
        ("internal-local", "", Rejected, None),
        ("external-local node-port", "3 on=m", Forwarded, Some(Dropped)),
        ("external-local node-port", "3 on=n", Forwarded, Some(Forwarded)),
        ("node-port", "3 on=m", Forwarded, Some(Forwarded)),
        ("node-port", "", Rejected, Some(Rejected)),
    ] {
        let (services, slices) = ([service(words)], [read(slice("web-1", endpoints))]);
        let at = Viewpoint { name: "n", node: None };
        let view = ProxyView::of(&services, &slices, Family::V4, at, usize::MAX).unwrap();
        assert_eq!((view.ports[0].internal(), view.ports[0].external()), (internal, external), "{words}: {endpoints}");
    }
}

#[test]
fn each_endpoint_and_service_has_its_reason() {
    let reasons = |words: &str, zone: &str, endpoints: &str| {
        let known: Node =
            read(json!({ "metadata": { "name": "n", "labels": { "topology.kubernetes.io/zone": zone } } }));
        let (services, slices) = ([service(words)], [read(slice("web-1", endpoints))]);
        let at = Viewpoint { name: "n", node: Some(&known) };
        let view = ProxyView::of(&services, &slices, Family::V4, at, usize::MAX).unwrap();
        let of_endpoints = view.ports[0].endpoints.iter().map(|e| e.reason.map_or("-", |reason| reason.code()));
        of_endpoints.chain(view.reasons.iter().map(|f| f.code.code())).collect::<Vec<_>>().join(" ")
    };
    for (words, zone, endpoints, want) in [
        ("", "a", "3; 4", "- -"),
        (
            "",
            "a",
            "3 zones=a; 4 zones=b; 5 unready; 6 draining",
            "- hinted-elsewhere not-ready terminating hints-followed",
        ),
        ("", "", "3 zones=a; 4 zones=b", "- - hints-ignored"),
        ("", "c", "3 zones=a; 4 zones=b", "- - hints-ignored"),
        ("", "a", "3 zones=a; 4", "- - hints-ignored"),
        ("", "a", "3 nodes=m; 4 nodes=m", "- - hints-ignored"),
        ("", "a", "3 draining; 4 gone", "serving-terminating terminating"),
        ("", "a", "3 unready", "not-ready port-unserved"),
        ("", "a", "", "port-unserved"),
        ("internal-local", "a", "3 on=m; 4 on=n", "not-local -"),
        ("internal-local", "a", "3 on=m", "not-local no-local-endpoint"),
        ("external-local node-port", "a", "3 on=m", "- no-local-endpoint"),
    ] {
        assert_eq!(reasons(words, zone, endpoints), want, "{words} {zone}: {endpoints}");
    }
}

#[test]
fn services_that_kube_proxy_does_not_serve() {
    for (spec, family, want) in [
        (
            json!({ "clusterIP": "None" }),
            Family::V4,
            "not-proxied: the Service has no cluster IP, so clients get addresses from DNS",
        ),
        (json!({}), Family::V4, "not-proxied: the Service has no cluster IP, so clients get addresses from DNS"),
        (
            json!({ "clusterIP": "10.0.0.1", "type": "ExternalName" }),
            Family::V4,
            "not-proxied: type is ExternalName, so clients follow a CNAME",
        ),
        (json!({ "clusterIP": "10.0.0.1" }), Family::V6, "not-proxied: the Service has no IPv6 cluster IP"),
        (
            json!({ "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4", "IPv6"] }),
            Family::V6,
            "not-proxied: the Service has no IPv6 cluster IP",
        ),
        (
            json!({ "clusterIP": "fd00::1", "clusterIPs": ["fd00::1", "10.0.0.1"], "ipFamilies": ["IPv6", "IPv4"] }),
            Family::V4,
            "",
        ),
        (json!({ "clusterIP": "10.0.0.1" }), Family::V4, ""),
    ] {
        let services = [read(json!({ "metadata": { "namespace": "ns", "name": "web" }, "spec": spec }))];
        let view = ProxyView::of(&services, &[], family, Viewpoint { name: "n", node: None }, usize::MAX).unwrap();
        let got: Vec<String> = view.reasons.iter().map(|f| format!("{}: {}", f.code.code(), f.message)).collect();
        assert_eq!(got.join("; "), want, "{spec}");
    }
}

#[test]
fn a_view_has_a_bound() {
    let (services, slices) = ([service("")], [read(slice("web-1", "3; 4; 5"))]);
    let at = Viewpoint { name: "n", node: None };
    let most = |most| ProxyView::of(&services, &slices, Family::V4, at, most).map(|view| view.lines()).ok();
    assert_eq!((most(3), most(2)), (Some(3), None));
}

/// What a view repeats is added up before it is made.
#[test]
fn views_have_a_budget() {
    let ports = |count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({ "name": format!("p{n}"), "protocol": "TCP", "port": 1 + n })).collect()
    };
    let endpoints = |count: usize, name: &str| -> Vec<Value> {
        let target = json!({ "kind": "Pod", "name": name });
        (0..count)
            .map(|n| json!({ "addresses": [format!("10.1.{}.{}", n / 250, n % 250)], "targetRef": target }))
            .collect()
    };
    let same = |count: usize| -> Vec<Value> { vec![json!({ "addresses": ["10.1.2.3"] }); count] };
    let junk = |count: usize| -> Vec<Value> { vec![json!({ "addresses": ["no address"] }); count] };
    for (case, asked, endpoints, want) in [
        ("within", 10, endpoints(10, "pod"), Ok(100)),
        ("one line too many", 10, endpoints(11, "pod"), Err(ViewTooLarge::Endpoints(100))),
        ("endpoints that share an address", 10, same(1000), Err(ViewTooLarge::Duplicates(1600))),
        ("addresses that cannot be read", 10, junk(1000), Err(ViewTooLarge::Duplicates(1600))),
        ("long names", 10, endpoints(1, &"x".repeat(20_000)), Err(ViewTooLarge::Names(102_400))),
    ] {
        let mut posted = json!(slice("web-1", ""));
        (posted["ports"], posted["endpoints"]) = (json!(ports(asked)), json!(endpoints));
        let mut asking: Value = json!({ "metadata": { "namespace": "ns", "name": "web" }, "spec": {
            "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"] } });
        asking["spec"]["ports"] = json!(ports(asked));
        let (services, slices): ([Service; 1], [EndpointSlice; 1]) = ([read(asking)], [read(posted)]);
        let view = ProxyView::of(&services, &slices, Family::V4, Viewpoint { name: "n", node: None }, 100);
        assert_eq!(view.map(|view| view.lines()), want, "{case}");
    }
}
