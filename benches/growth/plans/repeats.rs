//! Clusters that repeat objects, and lists of long types.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::yaml;
use crate::{
    objects::{
        NAMESPACE, add_conditions, endpoint_addresses, endpoint_ports, endpoints, list, meta, node, of_one_uid, pod,
        service, slice, slice_endpoints,
    },
    sizes::{Input, Sizes},
};

/// The dimensions of such a cluster.
pub(crate) const REPEATS: &[(&str, usize)] = &[
    ("equal Services", 1),
    ("equal pods", 0),
    ("equal slices", 0),
    ("equal Endpoints", 0),
    ("equal workloads", 0),
    ("pods", 1),
    ("conditions", 0),
    ("endpoints of one uid", 0),
    ("addresses of one uid", 0),
];
/// The objects among them.
pub(crate) const EQUAL: &[(&str, usize)] = REPEATS.split_at(3).0;

/// The objects of such a cluster.
pub(crate) fn repeats(s: &Sizes) -> Vec<Value> {
    let mut web = service("web", 1);
    add_conditions(&mut web, s.get("conditions"));
    let mut all = list(s.get("equal Services"), |_| web.clone());
    all.extend(list(s.get("pods"), |i| pod(i, 1)));
    all.extend(list(s.get("equal pods"), |_| pod(1_000_000, 1)));
    all.extend(list(s.get("equal slices"), |_| slice("same", slice_endpoints(1, 0), 1)));
    let of_addresses = |addresses| endpoints(vec![json!({ "addresses": addresses, "ports": endpoint_ports(1) })]);
    all.extend(list(s.get("equal Endpoints"), |_| of_addresses(endpoint_addresses(1, 0))));
    all.extend(list(s.get("equal workloads"), |_| deployment("same")));
    all.extend(list(7, node));
    if s.get("endpoints of one uid") > 0 {
        all.push(slice("one", of_one_uid(slice_endpoints(s.get("endpoints of one uid"), 0)), 1));
    }
    if s.get("addresses of one uid") > 0 {
        all.push(of_addresses(of_one_uid(endpoint_addresses(s.get("addresses of one uid"), 0))));
    }
    all
}

/// A Deployment of the pods of the Service `web`.
pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(name),
        "spec": { "replicas": 1, "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "c", "image": "c:1", "ports": [{ "containerPort": 80 }] }] } } },
    })
}

/// The dimensions of lists whose items take the type of their list.
pub(crate) const TYPED: &[(&str, usize)] = &[("lists", 1), ("items", 1), ("length of the type", 1)];

/// The longest type of a list with a single item: one alone has to be read, and no more.
const LONGEST_TYPE: usize = 600;

/// The type of such a list, and its items.
fn typed_list(s: &Sizes) -> (String, String, Vec<Value>) {
    let length = s.get("length of the type").min(LONGEST_TYPE * s.get("items"));
    let items = list(s.get("items"), |i| json!({ "metadata": { "name": format!("i-{i}"), "namespace": NAMESPACE } }));
    (format!("example.com/{}", "v".repeat(length)), format!("{}List", "K".repeat(length)), items)
}

/// The lists in JSON, and something that can be read. Every second one has its type behind the items.
pub(crate) fn typed_json(s: &Sizes) -> Input {
    let (version, kind, items) = typed_list(s);
    let (of_list, items) = (format!(r#""apiVersion":"{version}","kind":"{kind}""#), Value::from(items));
    let body = (0..s.get("lists")).fold(service("web", 1).to_string() + "\n", |mut text, i| {
        let _ = match i % 2 {
            0 => writeln!(text, r#"{{{of_list},"items":{items}}}"#),
            _ => writeln!(text, r#"{{"items":{items},{of_list}}}"#),
        };
        text
    });
    Input { way: "post/json /v1/cluster".to_owned(), body, ..Input::default() }
}

/// The lists in YAML.
pub(crate) fn typed_yaml(s: &Sizes) -> Input {
    let (version, kind, items) = typed_list(s);
    let (of_list, items) = (format!("apiVersion: {version}\nkind: {kind}\n"), yaml(&items.into(), 0));
    let body = (0..s.get("lists")).fold(yaml(&service("web", 1), 0), |text, i| match i % 2 {
        0 => text + "---\n" + &of_list + "items:\n" + &items,
        _ => text + "---\nitems:\n" + &items + &of_list,
    });
    Input { way: "post/yaml /v1/cluster".to_owned(), body, ..Input::default() }
}
