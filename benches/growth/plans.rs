//! Plans, explanations and comparisons of a Service, and plans of whole clusters.

mod repeats;
mod unlike;

use serde_json::{Value, json};

use crate::{
    objects::{
        NAMESPACE, endpoint_addresses, endpoint_ports, endpoints, entries_and, list, meta, node, of_one_uid, pod,
        ports_of_list, service, slice, slice_endpoints, workload,
    },
    sizes::{Family, Input, Sizes, pairs},
};
use repeats::{EQUAL, REPEATS, TYPED, typed_json, typed_yaml};
pub(crate) use repeats::{deployment, repeats};
use unlike::{UNLIKE, unlike};

/// The dimensions of the state of a Service.
const STATE: &[(&str, usize)] = &[
    ("pods", 1),
    ("ports", 1),
    ("ports of a pod", 1),
    ("containers", 0),
    ("addresses of a pod", 0),
    ("labels of a pod", 0),
    ("selector", 1),
    ("labels", 0),
    ("annotations", 0),
    ("pods not ready", 0),
    ("pods of others", 0),
    ("equal pods", 0),
    ("nodes", 1),
    ("existing slices", 0),
    ("endpoints of a slice", 1),
    ("ports of a slice", 1),
    ("subsets", 0),
    ("readiness gates", 0),
];

pub(crate) const FAMILIES: &[Family] = &[
    Family { name: "plan", base: STATE, without: &[], make: |s| state(s, "/v1/plan", &json!({})) },
    Family { name: "explain", base: STATE, without: &[], make: |s| state(s, "/v1/explain", &json!({})) },
    Family { name: "picture", base: STATE, without: &[], make: |s| state(s, "/v1/picture", &json!({})) },
    Family {
        name: "plan with hints",
        base: STATE,
        without: &[],
        make: |s| state(s, "/v1/plan", &json!({ "service.kubernetes.io/topology-mode": "Auto" })),
    },
    Family { name: "compare", base: STATE, without: &[], make: |s| state(s, "/v1/compare?against=1.22", &json!({})) },
    Family {
        name: "mirror Endpoints",
        base: &[
            ("subsets", 1),
            ("addresses", 1),
            ("ports", 1),
            ("labels", 0),
            ("equal addresses", 0),
            ("existing slices", 0),
            ("endpoints of a slice", 1),
            ("ports of a slice", 1),
            ("addresses of one uid", 0),
            ("subsets of one address", 0),
        ],
        without: pairs! {
            "addresses of one uid": "labels", "equal addresses", "existing slices", "endpoints of a slice", "ports of a slice";
            "subsets of one address": "labels", "endpoints of a slice";
        },
        make: mirrored,
    },
    Family { name: "plan of unlike pods", base: UNLIKE, without: OF_UNLIKE, make: |s| unlike(s, "/v1/plan") },
    Family { name: "explain unlike pods", base: UNLIKE, without: OF_UNLIKE, make: |s| unlike(s, "/v1/explain") },
    Family { name: "picture of unlike pods", base: UNLIKE, without: OF_UNLIKE, make: |s| unlike(s, "/v1/picture") },
    Family {
        name: "compare unlike pods",
        base: UNLIKE,
        without: OF_UNLIKE,
        make: |s| unlike(s, "/v1/compare?against=1.22"),
    },
    Family { name: "plan a cluster in JSON", base: CLUSTER, without: &[], make: |s| in_json(&cluster_objects(s)) },
    Family { name: "plan a cluster in NDJSON", base: CLUSTER, without: &[], make: |s| in_ndjson(&cluster_objects(s)) },
    Family { name: "plan a cluster in YAML", base: CLUSTER, without: &[], make: |s| in_yaml(&cluster_objects(s)) },
    Family {
        name: "plan a cluster that repeats objects in JSON",
        base: REPEATS,
        without: pairs! {
            "equal Services": "endpoints of one uid", "addresses of one uid";
            "equal pods": "equal slices", "equal Endpoints", "addresses of one uid";
            "equal slices": "equal workloads", "conditions", "addresses of one uid";
            "equal Endpoints": "equal workloads", "pods", "conditions", "endpoints of one uid";
            "equal workloads": "conditions", "endpoints of one uid", "addresses of one uid";
            "conditions": "endpoints of one uid", "addresses of one uid";
        },
        make: |s| in_json(&repeats(s)),
    },
    Family {
        name: "plan a cluster that repeats objects in NDJSON",
        base: EQUAL,
        without: pairs! { "equal slices": "equal pods"; },
        make: |s| in_ndjson(&repeats(s)),
    },
    Family {
        name: "plan a cluster that repeats objects in YAML",
        base: EQUAL,
        without: pairs! { "equal slices": "equal pods"; },
        make: |s| in_yaml(&repeats(s)),
    },
    Family { name: "read lists of a long type in JSON", base: TYPED, without: &[], make: typed_json },
    Family { name: "read lists of a long type in YAML", base: TYPED, without: &[], make: typed_yaml },
];

/// What says nothing of unlike pods.
const OF_UNLIKE: &[(&str, &str)] = pairs! {
    "conditions": "ports of a list", "pods of one uid", "slices of other ports", "endpoints of one uid", "addresses of one uid";
    "addresses of one uid": "port lists", "ports of a list", "slices of other ports";
    "endpoints of one uid": "ports of a list";
    "pods of one uid": "slices of other ports";
};

/// The dimensions of a cluster.
const CLUSTER: &[(&str, usize)] = &[
    ("Services", 1),
    ("pods", 1),
    ("namespaces", 1),
    ("selectors", 1),
    ("labels of a pod", 0),
    ("nodes", 1),
    ("slices", 0),
    ("Endpoints", 0),
    ("workloads", 0),
];

fn state(s: &Sizes, path: &str, more: &Value) -> Input {
    let mut of_cluster = service("web", s.get("ports"));
    let selector = (1..s.get("selector")).map(|i| (format!("example.com/l-{i:06}"), format!("value-{i}").into()));
    of_cluster["spec"]["selector"] =
        selector.chain([("app".to_owned(), "web".into())]).collect::<serde_json::Map<_, _>>().into();
    of_cluster["metadata"]["labels"] = entries_and(s.get("labels"), "m", &[]);
    let mut annotations = entries_and(s.get("annotations"), "a", &[]);
    for (key, value) in more.as_object().into_iter().flatten() {
        annotations[key] = value.clone();
    }
    of_cluster["metadata"]["annotations"] = annotations;
    let (ready, not_ready, others) = (s.get("pods"), s.get("pods not ready"), s.get("pods of others"));
    let pods = list(ready + not_ready + others + s.get("equal pods"), |i| {
        // The equal ones have one address.
        let mut pod = pod(i.min(ready + not_ready + others), s.get("ports of a pod"));
        pod["metadata"]["name"] = format!("web-{i}").into();
        pod["metadata"]["labels"] =
            entries_and(s.get("labels of a pod").max(s.get("selector") - 1), "l", &[("app", "web")]);
        for k in 0..s.get("containers") {
            if let Some(containers) = pod["spec"]["containers"].as_array_mut() {
                containers.push(json!({ "name": format!("c{k}"), "ports": [{ "name": format!("c{k}"), "containerPort": 1 + k % 65535 }] }));
            }
        }
        if let Some(ips) = pod["status"]["podIPs"].as_array_mut() {
            ips.extend(list(s.get("addresses of a pod"), |k| json!({ "ip": format!("fd00::{:x}:{k:x}", i) })));
        }
        for k in 0..s.get("readiness gates") {
            if let Some(conditions) = pod["status"]["conditions"].as_array_mut() {
                conditions.push(json!({ "type": format!("example.com/gate-{k}"), "status": "True" }));
            }
        }
        if (ready..ready + not_ready).contains(&i) {
            pod["status"]["conditions"][0]["status"] = "False".into();
        } else if (ready + not_ready..ready + not_ready + others).contains(&i) {
            pod["metadata"]["labels"]["app"] = "other".into();
        }
        pod
    });
    let each = s.get("endpoints of a slice");
    let slices = list(s.get("existing slices"), |i| {
        let mut slice = slice(&format!("web-{i}"), slice_endpoints(each, i * each), s.get("ports of a slice"));
        slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] =
            "endpointslice-controller.k8s.io".into();
        slice["metadata"]["generateName"] = "web-".into();
        slice["metadata"]["resourceVersion"] = "1".into();
        slice
    });
    let mut body = json!({
        "service": of_cluster, "pods": pods, "nodes": list(s.get("nodes"), node), "endpointSlices": slices,
    });
    if s.get("subsets") > 0 {
        let subset = |i| json!({ "addresses": endpoint_addresses(1, i), "ports": endpoint_ports(1) });
        body["endpoints"] = endpoints(list(s.get("subsets"), subset));
    }
    Input { way: format!("post {path}"), body: body.to_string(), ..Input::default() }
}

fn mirrored(s: &Sizes) -> Input {
    let addresses = s.get("addresses");
    let mut by_hand = service("web", 1);
    by_hand["spec"]["selector"] = Value::Null;
    let mut of_cluster = endpoints(list(s.get("subsets"), |i| {
        let mut addresses = endpoint_addresses(addresses, i * addresses);
        let one = addresses[0].clone();
        addresses.extend(list(s.get("equal addresses"), |_| one.clone()));
        json!({ "addresses": addresses, "ports": endpoint_ports(s.get("ports")) })
    }));
    let one = endpoint_addresses(1, 1_000_000);
    let mut further = list(
        s.get("subsets of one address"),
        |i| json!({ "addresses": one, "ports": ports_of_list(s.get("ports"), i + 1) }),
    );
    if s.get("addresses of one uid") > 0 {
        let all = of_one_uid(endpoint_addresses(s.get("addresses of one uid"), 2_000_000));
        further.push(json!({ "addresses": all, "ports": endpoint_ports(1) }));
    }
    if let Some(subsets) = of_cluster["subsets"].as_array_mut() {
        subsets.append(&mut further);
    }
    of_cluster["metadata"]["labels"] = entries_and(s.get("labels"), "m", &[]);
    let each = s.get("endpoints of a slice");
    let slices = list(s.get("existing slices"), |i| {
        let mut slice = slice(&format!("web-{i}"), slice_endpoints(each, i * each), s.get("ports of a slice"));
        slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] =
            "endpointslicemirroring-controller.k8s.io".into();
        slice
    });
    let body = json!({ "service": by_hand, "endpoints": of_cluster, "endpointSlices": slices });
    Input { way: "post /v1/plan".to_owned(), body: body.to_string(), ..Input::default() }
}

/// The objects of a cluster.
pub(crate) fn cluster_objects(s: &Sizes) -> Vec<Value> {
    let namespaces = s.get("namespaces").max(1);
    let place = |object: &mut Value, i: usize| {
        if !i.is_multiple_of(namespaces) {
            object["metadata"]["namespace"] = format!("{NAMESPACE}-{}", i % namespaces).into();
        }
    };
    let mut all = list(s.get("Services"), |i| {
        let mut service = service(&format!("web-{i}"), 1);
        service["spec"]["selector"]["app"] = format!("web-{}", i % s.get("selectors").max(1)).into();
        place(&mut service, i);
        service
    });
    all.extend(list(s.get("pods"), |i| {
        let mut pod = pod(i, 1);
        // The pods of a selector are those of one Service, or the answer would be longer than the cluster.
        let app = format!("web-{}", if i < s.get("selectors") { i } else { 1_000_000 });
        pod["metadata"]["labels"] = entries_and(s.get("labels of a pod"), "l", &[("app", &app)]);
        place(&mut pod, i);
        pod
    }));
    all.extend(list(s.get("nodes"), node));
    all.extend(list(s.get("slices"), |i| {
        let mut slice = slice(&format!("s-{i}"), slice_endpoints(1, i), 1);
        slice["metadata"]["labels"]["kubernetes.io/service-name"] =
            format!("web-{}", i % s.get("Services").max(1)).into();
        slice
    }));
    all.extend(list(s.get("Endpoints"), |i| {
        let mut one = endpoints(vec![json!({ "addresses": endpoint_addresses(1, i), "ports": endpoint_ports(1) })]);
        one["metadata"] = meta(&format!("web-{i}"));
        one
    }));
    all.extend(list(s.get("workloads"), workload));
    all
}

fn in_json(all: &[Value]) -> Input {
    cluster("json", json!({ "apiVersion": "v1", "kind": "List", "items": all }).to_string())
}

fn in_ndjson(all: &[Value]) -> Input {
    cluster("ndjson", all.iter().fold(String::new(), |text, one| text + &one.to_string() + "\r\n"))
}

fn in_yaml(all: &[Value]) -> Input {
    cluster("yaml", all.iter().fold(String::new(), |text, one| text + "---\n" + &yaml(one, 0)))
}

fn cluster(format: &str, body: String) -> Input {
    Input { way: format!("post/{format} /v1/cluster"), body, ..Input::default() }
}

/// A value as YAML in block style.
pub(crate) fn yaml(value: &Value, indent: usize) -> String {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => map.iter().fold(String::new(), |text, (key, value)| {
            let inner = yaml(value, indent + 2);
            let is_block =
                matches!(value, Value::Object(m) if !m.is_empty()) || matches!(value, Value::Array(l) if !l.is_empty());
            text + &if is_block {
                format!("{pad}{key:?}:\n{inner}")
            } else {
                format!("{pad}{key:?}: {}\n", inner.trim())
            }
        }),
        Value::Array(values) if !values.is_empty() => values
            .iter()
            .fold(String::new(), |text, value| text + &format!("{pad}- {}", yaml(value, indent + 2).trim_start())),
        other => format!("{pad}{other}\n"),
    }
}
