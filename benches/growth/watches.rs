//! Watch events: of the copy of the cluster beside the webhook, of the node proxy in each scheme, and of the controller.

use serde_json::Value;

use crate::{
    objects::{
        NAMESPACE, entries_and, list, node, of_one_uid, pod, ports_of_list, service, slice, slice_endpoints, text,
    },
    plans::cluster_objects,
    sizes::{Family, Input, Sizes, pairs},
};

/// The dimensions of the webhook's copy: objects that it has, and events.
const COPY: &[(&str, usize)] = &[
    ("stored pods", 0),
    ("stored slices", 0),
    ("pods", 1),
    ("labels of a pod", 0),
    ("ports of a pod", 1),
    ("pods of one address", 0),
    ("Services", 1),
    ("slices", 1),
    ("endpoints", 1),
    ("equal endpoints", 0),
    ("ports", 1),
    ("nodes", 1),
    ("namespaces", 0),
    ("port lists of one address", 0),
    ("endpoints of one uid", 0),
];
/// What says nothing of the copy.
const OF_COPY: &[(&str, &str)] = pairs! {
    "port lists of one address": "stored pods", "pods", "labels of a pod", "ports of a pod", "pods of one address", "Services",
        "endpoints", "nodes", "namespaces", "endpoints of one uid";
    "endpoints of one uid": "stored pods", "pods", "labels of a pod", "ports of a pod", "pods of one address", "Services",
        "endpoints", "equal endpoints", "nodes", "namespaces", "ports";
};

/// The dimensions of the node proxy's cache.
const CACHE: &[(&str, usize)] = &[
    ("stored Services", 1),
    ("stored slices", 1),
    ("stored endpoints", 1),
    ("stored nodes", 1),
    ("Services", 0),
    ("slices", 0),
    ("endpoints", 1),
    ("nodes", 0),
    ("topology keys", 0),
    ("labels of a node", 0),
    ("annotations", 0),
];

/// The dimensions of the controller's copy. The pods of one Service are those of a selector.
const CONTROLLER: &[(&str, usize)] = &[
    ("stored pods", 0),
    ("stored Services", 0),
    ("Services", 1),
    ("Services with hints", 0),
    ("pods", 1),
    ("pods of one Service", 0),
    ("namespaces", 1),
    ("selectors", 1),
    ("labels of a pod", 0),
    ("nodes", 1),
    ("slices", 0),
    ("Endpoints", 0),
];

pub(crate) const FAMILIES: &[Family] = &[
    Family { name: "watch of the webhook", base: COPY, without: OF_COPY, make: copy },
    Family { name: "watch of the node proxy, kube-proxy", base: CACHE, without: &[], make: |s| cache(s, "kube-proxy") },
    Family { name: "watch of the node proxy, SuperEdge", base: CACHE, without: &[], make: |s| cache(s, "superedge") },
    Family { name: "watch of the node proxy, OpenYurt", base: CACHE, without: &[], make: |s| cache(s, "openyurt") },
    // The pods of one Service are those of all with its selector, and each has an endpoint of its own for each.
    Family {
        name: "watch of the controller",
        base: CONTROLLER,
        without: pairs! { "Services": "pods of one Service"; },
        make: controller,
    },
];

fn copy(s: &Sizes) -> Input {
    let each = s.get("endpoints");
    let mut stored = list(s.get("stored pods"), |i| pod(i + 1_000_000, 1));
    stored.extend(list(s.get("stored slices"), |i| slice(&format!("old-{i}"), slice_endpoints(1, i), 1)));
    let mut events = list(s.get("pods"), |i| {
        let mut pod = pod(i, s.get("ports of a pod"));
        pod["metadata"]["labels"] = entries_and(s.get("labels of a pod"), "l", &[("app", "web")]);
        pod
    });
    events.extend(list(s.get("pods of one address"), |i| {
        let mut one = pod(0, 1);
        one["metadata"]["name"] = format!("same-{i}").into();
        one
    }));
    events.extend(list(s.get("Services"), |i| service(&format!("web-{i}"), 1)));
    events.extend(list(s.get("slices"), |i| {
        let mut all = slice_endpoints(each, i * each);
        let one = all[0].clone();
        all.extend(list(s.get("equal endpoints"), |_| one.clone()));
        slice(&format!("web-{i}"), all, s.get("ports"))
    }));
    events.extend(list(s.get("port lists of one address"), |i| {
        let mut slice = slice(&format!("ports-{i}"), slice_endpoints(1, 0), 0);
        slice["ports"] = ports_of_list(s.get("ports"), i).into();
        slice
    }));
    if s.get("endpoints of one uid") > 0 {
        events.push(slice("one", of_one_uid(slice_endpoints(s.get("endpoints of one uid"), 2_000_000)), 1));
    }
    events.extend(list(s.get("nodes"), node));
    events.extend(list(s.get("namespaces"), |i| {
        serde_json::json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": format!("n-{i}"), "labels": { "a": "b" } } })
    }));
    Input { way: "copy".to_owned(), body: text(events), stored: text(stored), ..Input::default() }
}

fn controller(s: &Sizes) -> Input {
    let mut stored = list(s.get("stored pods"), |i| pod(i + 1_000_000, 1));
    let other = |name: &str, i: usize| {
        let mut service = service(&format!("{name}-{i}"), 1);
        service["spec"]["selector"]["app"] = format!("{name}-{i}").into();
        service
    };
    stored.extend(list(s.get("stored Services"), |i| other("stored", i)));
    let mut events = cluster_objects(s);
    events.extend(list(s.get("Services with hints"), |i| {
        let mut service = other("hints", i);
        service["metadata"]["annotations"] = entries_and(0, "a", &[("service.kubernetes.io/topology-mode", "Auto")]);
        service
    }));
    events.extend(list(s.get("pods of one Service"), |i| {
        let mut pod = pod(i + 2_000_000, 1);
        pod["metadata"]["labels"]["app"] = "web-0".into();
        pod
    }));
    Input { way: "controller".to_owned(), body: text(events), stored: text(stored), ..Input::default() }
}

fn cache(s: &Sizes, scheme: &str) -> Input {
    let keys = text(list(s.get("topology keys"), |i| format!("example.com/key-{i}").into()));
    let keys: &[(&str, &str)] = match scheme {
        "superedge" if s.get("topology keys") > 0 => &[("topologyKeys", &keys)],
        "openyurt" => &[("openyurt.io/topologyKeys", "kubernetes.io/zone")],
        _ => &[],
    };
    let one_service = |i: usize| {
        let mut service = service(&if i == 0 { "web".to_owned() } else { format!("web-{i}") }, 1);
        service["metadata"]["annotations"] = entries_and(s.get("annotations"), "a", keys);
        service
    };
    let one_node = |i: usize| {
        let mut node = node(i);
        for k in 0..s.get("labels of a node") {
            node["metadata"]["labels"][format!("example.com/key-{k}")] = format!("{i}-{k}").into();
        }
        node
    };
    let one_slice = |i: usize, each: usize| {
        let mut slice = slice(&format!("web-{i}"), slice_endpoints(each, i * each), 1);
        slice["metadata"]["labels"]["kubernetes.io/service-name"] = if i.is_multiple_of(s.get("stored Services")) {
            "web".into()
        } else {
            format!("web-{}", i % s.get("stored Services")).into()
        };
        slice["metadata"]["namespace"] = NAMESPACE.into();
        slice
    };
    let mut stored: Vec<Value> = list(s.get("stored Services"), one_service);
    stored.extend(list(s.get("stored slices"), |i| one_slice(i, s.get("stored endpoints"))));
    stored.extend(list(s.get("stored nodes"), one_node));
    let mut events = list(s.get("Services"), |i| one_service(i + 1_000_000));
    events.extend(list(s.get("slices"), |i| one_slice(i + 1_000_000, s.get("endpoints"))));
    events.extend(list(s.get("nodes"), |i| one_node(i + 1_000_000)));
    Input { way: format!("edge {scheme}"), body: text(events), stored: text(stored), ..Input::default() }
}
