//! Views of a node in each scheme.

use serde_json::{Value, json};

use crate::{
    objects::{
        endpoint_addresses, endpoint_ports, endpoints, list, node, of_one_uid, ports_of_list, service, slice,
        slice_endpoints, text,
    },
    sizes::{Family, Input, Sizes, pairs},
};

/// The dimensions of what a node sees.
const SEEN: &[(&str, usize)] = &[
    ("Services", 1),
    ("ports", 1),
    ("slices", 1),
    ("endpoints", 1),
    ("equal endpoints", 0),
    ("ports of a slice", 1),
    ("hints", 0),
    ("addresses", 1),
    ("subsets", 0),
    ("nodes", 1),
    ("labels of a node", 0),
    ("topology keys", 0),
    ("pools", 0),
    ("nodes of a pool", 1),
];
/// The dimensions of slices that are unlike in their ports.
const UNLIKE: &[(&str, usize)] = &[
    ("port lists", 1),
    ("ports of a list", 1),
    ("endpoints", 1),
    // Each slice has the same address.
    ("port lists of one address", 0),
    ("numbers of one name", 1),
    ("endpoints of one uid", 0),
];
/// What says nothing of them.
const OF_UNLIKE: &[(&str, &str)] = pairs! { "endpoints of one uid": "ports of a list", "port lists of one address"; };

/// What kube-proxy does not read.
const POOLS: usize = SEEN.len() - 3;

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        name: "view of kube-proxy",
        base: SEEN.split_at(POOLS).0,
        without: &[],
        make: |s| view(s, "kube-proxy", "any", ""),
    },
    Family {
        name: "view of SuperEdge, any key",
        base: SEEN.split_at(POOLS + 1).0,
        without: &[],
        make: |s| view(s, "superedge", "any", "topologyKeys"),
    },
    Family {
        name: "view of SuperEdge, keys in order",
        base: SEEN.split_at(POOLS + 1).0,
        without: &[],
        make: |s| view(s, "superedge", "ordered", "topologyKeys"),
    },
    Family {
        name: "view of OpenYurt",
        base: SEEN,
        without: &[],
        make: |s| view(s, "openyurt", "any", "openyurt.io/topologyKeys"),
    },
    Family {
        name: "view of kube-proxy, unlike slices",
        base: UNLIKE,
        without: OF_UNLIKE,
        make: |s| view_of_unlike(s, "kube-proxy"),
    },
    Family {
        name: "view of SuperEdge, unlike slices",
        base: UNLIKE,
        without: OF_UNLIKE,
        make: |s| view_of_unlike(s, "superedge"),
    },
];

/// Slices of one Service that have other numbers under the same names of ports.
fn view_of_unlike(s: &Sizes, scheme: &str) -> Input {
    // An answer lists each endpoint for each port, and no more than so many.
    let [ports, numbers] = ["ports of a list", "numbers of one name"].map(|name| s.get(name).min(150));
    let each = s.get("endpoints");
    let mut service = service("web", ports);
    service["metadata"]["annotations"] = json!({ "topologyKeys": r#"["kubernetes.io/hostname"]"# });
    let unlike = |name: String, endpoints: Vec<Value>, number: usize| {
        let mut slice = slice(&name, endpoints, 0);
        let mut all = ports_of_list(ports, number);
        all.extend((1..numbers).map(|k| json!({ "name": "p0", "port": 1 + k % 65535, "protocol": "TCP" })));
        slice["ports"] = all.into();
        slice
    };
    let mut slices = list(s.get("port lists"), |i| unlike(format!("web-{i}"), slice_endpoints(each, i * each), i));
    slices.extend(list(s.get("port lists of one address"), |i| {
        unlike(format!("same-{i}"), slice_endpoints(1, 1_000_000), i)
    }));
    if s.get("endpoints of one uid") > 0 {
        slices.push(unlike("one".to_owned(), of_one_uid(slice_endpoints(s.get("endpoints of one uid"), 2_000_000)), 0));
    }
    let body = json!({
        "node": "node-0", "scheme": scheme, "nodes": list(7, node), "services": [service], "endpointSlices": slices,
        "options": { "topologyMode": "any" },
    });
    Input { way: "post /v1/view".to_owned(), body: body.to_string(), ..Input::default() }
}

fn view(s: &Sizes, scheme: &str, order: &str, annotation: &str) -> Input {
    let keys = list(s.get("topology keys"), |i| format!("example.com/key-{i}").into());
    let keys = if scheme == "openyurt" { "openyurt.io/nodepool".to_owned() } else { text(keys) };
    let services = list(s.get("Services"), |i| {
        let mut service = service(&if i == 0 { "web".to_owned() } else { format!("web-{i}") }, s.get("ports"));
        if !annotation.is_empty() {
            service["metadata"]["annotations"] = json!({ annotation: keys });
        }
        service
    });
    let each = s.get("endpoints");
    let slices = list(s.get("slices"), |i| {
        let mut all = slice_endpoints(each, i * each);
        let one = all[0].clone();
        all.extend(list(s.get("equal endpoints"), |_| one.clone()));
        for (k, endpoint) in all.iter_mut().enumerate() {
            if s.get("hints") > 0 {
                endpoint["hints"] =
                    json!({ "forZones": list(s.get("hints"), |k| json!({ "name": format!("zone-{k}") })) });
            }
            if s.get("addresses") > 1 {
                endpoint["addresses"] =
                    list(s.get("addresses"), |j| format!("10.{}.{}.{}", k & 255, j >> 8, j & 255).into()).into();
            }
        }
        slice(&format!("web-{i}"), all, s.get("ports of a slice"))
    });
    let nodes = list(s.get("nodes"), |i| {
        let mut node = node(i);
        node["metadata"]["labels"]["apps.openyurt.io/nodepool"] = format!("pool-{i}").into();
        for k in 0..s.get("labels of a node") {
            node["metadata"]["labels"][format!("example.com/key-{k}")] = format!("{i}-{k}").into();
        }
        node
    });
    let subset = |i| json!({ "addresses": endpoint_addresses(1, i), "ports": endpoint_ports(1) });
    let pools = if scheme == "openyurt" { s.get("pools") } else { 0 };
    let pools: Vec<Value> = list(pools, |i| {
        let members = list(s.get("nodes of a pool"), |k| format!("node-{}", i * s.get("nodes of a pool") + k).into());
        json!({ "metadata": { "name": format!("pool-{i}") }, "status": { "nodes": members } })
    });
    let mut body = json!({
        "node": "node-0", "scheme": scheme, "nodes": nodes, "services": services, "endpointSlices": slices,
        "endpoints": if s.get("subsets") > 0 { vec![endpoints(list(s.get("subsets"), subset))] } else { Vec::new() },
        "options": { "topologyMode": order, "poolTopology": true },
    });
    if scheme == "openyurt" {
        body["nodePools"] = pools.into();
    }
    Input { way: "post /v1/view".to_owned(), body: body.to_string(), ..Input::default() }
}
