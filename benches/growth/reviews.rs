//! Reviews of each kind by the webhook, with every rule.

mod long_names;

use serde_json::{Value, json};

use crate::{
    objects::{
        NAMESPACE, address, endpoint_addresses, endpoint_ports, endpoints, entries_and, list, node, other_ports, pod,
        policy, ports_of_list, range, service, service_ports, slice, slice_endpoints, text,
    },
    sizes::{Family, Input, Sizes, pairs},
};
use long_names::{LONG, long_names};

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        name: "validate EndpointSlice",
        base: &[
            ("endpoints", 1),
            ("addresses of an endpoint", 1),
            ("ports", 1),
            ("hints", 0),
            ("labels", 0),
            ("annotations", 0),
            ("equal endpoints", 0),
            ("equal ports", 0),
            ("stored slices", 1),
            ("stored equal slices", 0),
            ("stored endpoints", 1),
            ("stored ports", 1),
            ("stored pods", 0),
            ("stored nodes", 1),
            ("policies", 1),
            ("allowed ranges", 0),
            ("denied ranges", 0),
            ("groups", 0),
            ("exempt groups", 0),
            ("stored port lists", 0),
        ],
        without: pairs! {
            "stored port lists": "hints", "labels", "annotations", "equal ports", "stored slices", "stored endpoints",
                "stored pods", "stored nodes", "policies", "allowed ranges", "denied ranges", "groups", "exempt groups";
        },
        make: slice_review,
    },
    Family {
        name: "validate an update of an EndpointSlice",
        base: &[("endpoints", 1), ("old endpoints", 1), ("ports", 1), ("old ports", 1), ("findings", 0), ("labels", 0)],
        without: &[],
        make: slice_update,
    },
    Family {
        name: "validate Endpoints",
        base: &[
            ("subsets", 1),
            ("addresses", 1),
            ("not ready addresses", 0),
            ("ports", 1),
            ("equal addresses", 0),
            ("labels", 0),
            ("stored pods", 0),
            ("allowed ranges", 0),
            ("denied ranges", 0),
            ("policies", 1),
            ("subsets of one address", 0),
        ],
        without: pairs! {
            "subsets of one address": "not ready addresses", "labels", "allowed ranges", "denied ranges", "policies";
        },
        make: endpoints_review,
    },
    Family {
        name: "mutate Endpoints",
        base: &[("subsets", 1), ("addresses", 300), ("not ready addresses", 0), ("ports", 1), ("annotations", 0)],
        without: &[],
        make: endpoints_mutation,
    },
    Family {
        name: "validate an update of Endpoints",
        base: &[
            ("subsets", 1),
            ("addresses", 1),
            ("ports", 1),
            ("old subsets", 1),
            ("old addresses", 1),
            ("old ports", 1),
            ("subsets of one address", 0),
            ("old subsets of one address", 0),
        ],
        without: pairs! {
            "subsets of one address": "subsets", "addresses", "old addresses", "old ports";
            "old subsets of one address": "subsets", "addresses", "ports", "old subsets", "old addresses";
        },
        make: endpoints_update,
    },
    Family {
        name: "validate Service",
        base: &[
            ("ports", 1),
            ("external IPs", 0),
            ("selector", 1),
            ("labels", 0),
            ("annotations", 0),
            ("topology keys", 0),
            ("stored pods", 1),
            ("ports of a pod", 1),
            ("labels of a pod", 0),
            ("stored nodes", 1),
            ("allowed ranges", 0),
            ("policies", 1),
            ("old external IPs", 0),
        ],
        without: &[],
        make: service_review,
    },
    Family {
        name: "policies of a review",
        base: &[
            ("policies", 1),
            ("names", 0),
            ("wildcards", 0),
            ("length of a wildcard", 1),
            ("values of an expression", 0),
            ("expressions", 0),
            ("labels", 0),
            ("exempt users", 0),
            ("exempt groups", 0),
            ("exempt objects", 0),
            ("groups", 1),
        ],
        without: &[],
        make: many_policies,
    },
    Family {
        name: "policies of long names",
        base: LONG,
        without: pairs! {
            "names": "groups", "exempt groups", "exempt wildcards", "prefixes";
            "wildcards": "groups", "exempt groups", "exempt wildcards", "prefixes";
        },
        make: long_names,
    },
];

/// The most entries of a list in a policy.
const ENTRIES: usize = 256;

/// Policies that check every rule, with ranges: as many as hold all of them.
fn warning_policies(s: &Sizes) -> Vec<Value> {
    let wanted = ["allowed ranges", "denied ranges", "exempt groups"].map(|name| s.get(name).div_ceil(ENTRIES));
    let part = |name: &str, i: usize| i * ENTRIES..s.get(name).min((i + 1) * ENTRIES);
    list(wanted.into_iter().fold(s.get("policies"), usize::max), |i| {
        let denied: Vec<Value> = part("denied ranges", i).map(|k| range(4096 + k * 2).into()).collect();
        let allowed: Vec<Value> = part("allowed ranges", i).map(|k| range(k * 2).into()).collect();
        let groups: Vec<Value> = part("exempt groups", i).map(|k| format!("exempt-{k}-*").into()).collect();
        policy(
            i,
            &json!({ "defaultMode": "warn", "addresses": { "allow": allowed, "deny": denied }, "exempt": { "groups": groups } }),
        )
    })
}

/// An `AdmissionReview`.
fn review(object: &Value, old: Option<&Value>, groups: usize) -> String {
    review_by(object, old, list(groups, |i| format!("group-{i}").into()))
}

/// An `AdmissionReview` for a user of these groups.
fn review_by(object: &Value, old: Option<&Value>, groups: Vec<Value>) -> String {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1", "kind": { "group": group, "version": version, "kind": object["kind"] },
            "resource": { "group": group, "version": version, "resource": "any" },
            "namespace": NAMESPACE, "name": object["metadata"]["name"],
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
            "userInfo": { "username": "jane", "groups": groups }, "object": object, "oldObject": old,
        },
    })
    .to_string()
}

fn slice_review(s: &Sizes) -> Input {
    let addresses = s.get("addresses of an endpoint");
    let mut of_slice = slice_endpoints(s.get("endpoints"), 0);
    for (i, endpoint) in of_slice.iter_mut().enumerate() {
        if addresses > 1 {
            endpoint["addresses"] = list(addresses, |k| address(i * addresses + k).into()).into();
        }
        if s.get("hints") > 0 {
            endpoint["hints"] = json!({ "forZones": list(s.get("hints"), |k| json!({ "name": format!("gone-{k}") })) });
        }
    }
    let one = of_slice[0].clone();
    of_slice.extend(list(s.get("equal endpoints"), |_| one.clone()));
    let mut object = slice("web-new", of_slice, s.get("ports"));
    if let Some(ports) = object["ports"].as_array_mut() {
        let one = ports[0].clone();
        ports.extend(list(s.get("equal ports"), |_| one.clone()));
    }
    object["metadata"]["labels"] = entries_and(s.get("labels"), "l", &[("kubernetes.io/service-name", "web")]);
    object["metadata"]["annotations"] = entries_and(s.get("annotations"), "a", &[]);
    let mut stored = vec![service("web", 1)];
    stored.extend(list(s.get("stored slices"), |i| {
        let each = s.get("stored endpoints");
        let mut stored = slice(&format!("web-{i}"), slice_endpoints(each, i * each), 0);
        stored["ports"] = other_ports(s.get("stored ports")).into();
        stored
    }));
    // The slices of one address.
    stored.extend(list(s.get("stored equal slices"), |i| {
        let mut stored = slice(&format!("same-{i}"), slice_endpoints(1, 0), 0);
        stored["ports"] = other_ports(1).into();
        stored
    }));
    // The same, each with other ports.
    stored.extend(list(s.get("stored port lists"), |i| {
        let mut stored = slice(&format!("ports-{i}"), slice_endpoints(1, 0), 0);
        stored["ports"] = list(
            s.get("stored ports"),
            |k| json!({ "name": format!("r{i}-{k}"), "port": 1 + k % 65535, "protocol": "TCP" }),
        )
        .into();
        stored
    }));
    stored.extend(list(s.get("stored pods"), |i| pod(i, 1)));
    stored.extend(list(s.get("stored nodes"), node));
    Input {
        way: "validate".to_owned(),
        body: review(&object, None, s.get("groups")),
        stored: text(stored),
        policies: text(warning_policies(s)),
    }
}

/// Addresses that the rules refuse come first: those of the loopback.
fn refused(of: &mut [Value], findings: usize) {
    for (i, endpoint) in of.iter_mut().take(findings).enumerate() {
        endpoint["addresses"] = json!([format!("127.{}.{}.1", i >> 8 & 255, i & 255)]);
    }
}

fn slice_update(s: &Sizes) -> Input {
    let findings = s.get("findings");
    let of = |endpoints: usize, ports: usize| {
        let mut all = slice_endpoints(endpoints.max(findings), 0);
        refused(&mut all, findings);
        let mut object = slice("web-1", all, ports);
        object["metadata"]["labels"] = entries_and(s.get("labels"), "l", &[("kubernetes.io/service-name", "web")]);
        object
    };
    let (new, old) = (of(s.get("endpoints"), s.get("ports")), of(s.get("old endpoints"), s.get("old ports")));
    Input {
        way: "validate".to_owned(),
        body: review(&new, Some(&old), 1),
        stored: text(vec![service("web", 1), old]),
        policies: text(vec![policy(0, &json!({ "defaultMode": "warn" }))]),
    }
}

/// Endpoints of these sizes; each subset has addresses and ports of its own.
fn endpoints_of(subsets: usize, addresses: usize, not_ready: usize, ports: usize) -> Value {
    let each = addresses + not_ready;
    endpoints(list(subsets, |i| {
        json!({ "addresses": endpoint_addresses(addresses, i * each), "notReadyAddresses": endpoint_addresses(not_ready, i * each + addresses),
            "ports": endpoint_ports(ports) })
    }))
}

/// Adds subsets that repeat one address, each with a list of ports of its own.
fn repeat_address(object: &mut Value, subsets: usize, ports: usize) {
    let one = endpoint_addresses(1, 1_000_000);
    if let Some(all) = object["subsets"].as_array_mut() {
        all.extend(list(subsets, |i| json!({ "addresses": one, "ports": ports_of_list(ports, i + 1) })));
    }
}

fn endpoints_review(s: &Sizes) -> Input {
    let mut object = endpoints_of(s.get("subsets"), s.get("addresses"), s.get("not ready addresses"), s.get("ports"));
    repeat_address(&mut object, s.get("subsets of one address"), s.get("ports"));
    if let Some(addresses) = object["subsets"][0]["addresses"].as_array_mut() {
        let one = addresses[0].clone();
        addresses.extend(list(s.get("equal addresses"), |_| one.clone()));
    }
    object["metadata"]["labels"] = entries_and(s.get("labels"), "l", &[]);
    let mut by_hand = service("web", 1);
    by_hand["spec"]["selector"] = Value::Null;
    let mut stored = vec![by_hand];
    stored.extend(list(s.get("stored pods"), |i| pod(i, 1)));
    Input {
        way: "validate".to_owned(),
        body: review(&object, None, 1),
        stored: text(stored),
        policies: text(warning_policies(s)),
    }
}

fn endpoints_mutation(s: &Sizes) -> Input {
    let mut object = endpoints_of(s.get("subsets"), s.get("addresses"), s.get("not ready addresses"), s.get("ports"));
    object["metadata"]["annotations"] = entries_and(s.get("annotations"), "a", &[]);
    let mut by_hand = service("web", 1);
    by_hand["spec"]["selector"] = Value::Null;
    Input { way: "mutate".to_owned(), body: review(&object, None, 1), stored: text(vec![by_hand]), ..Input::default() }
}

fn endpoints_update(s: &Sizes) -> Input {
    let mut new = endpoints_of(s.get("subsets"), s.get("addresses"), 0, s.get("ports"));
    repeat_address(&mut new, s.get("subsets of one address"), s.get("ports"));
    let mut old = endpoints_of(s.get("old subsets"), s.get("old addresses"), 0, s.get("old ports"));
    repeat_address(&mut old, s.get("old subsets of one address"), s.get("old ports"));
    let mut by_hand = service("web", 1);
    by_hand["spec"]["selector"] = Value::Null;
    Input {
        way: "validate".to_owned(),
        body: review(&new, Some(&old), 1),
        stored: text(vec![by_hand]),
        policies: text(vec![policy(0, &json!({ "defaultMode": "warn" }))]),
    }
}

fn service_review(s: &Sizes) -> Input {
    let with_ips = |n: usize| {
        let mut object = service("web", s.get("ports"));
        object["spec"]["externalIPs"] = list(n, |i| address(i).into()).into();
        let selector = (1..s.get("selector")).map(|i| (format!("example.com/l-{i:06}"), format!("value-{i}").into()));
        object["spec"]["selector"] =
            selector.chain([("app".to_owned(), "web".into())]).collect::<serde_json::Map<_, _>>().into();
        object["metadata"]["labels"] = entries_and(s.get("labels"), "l", &[]);
        let keys = text(list(s.get("topology keys"), |i| format!("example.com/key-{i}").into()));
        let keys: &[(&str, &str)] = if s.get("topology keys") > 0 { &[("topologyKeys", &keys)] } else { &[] };
        object["metadata"]["annotations"] = entries_and(s.get("annotations"), "a", keys);
        object
    };
    let old = with_ips(s.get("old external IPs"));
    let object = with_ips(s.get("external IPs"));
    let mut stored = list(s.get("stored pods"), |i| {
        let mut pod = pod(i, s.get("ports of a pod"));
        pod["metadata"]["labels"] = entries_and(s.get("labels of a pod"), "l", &[("app", "web")]);
        pod
    });
    stored.extend(list(s.get("stored nodes"), node));
    Input {
        way: "validate".to_owned(),
        body: review(&object, (s.get("old external IPs") > 0).then_some(&old), 1),
        stored: text(stored),
        policies: text(warning_policies(s)),
    }
}

fn many_policies(s: &Sizes) -> Input {
    let long = "a".repeat(s.get("length of a wildcard"));
    let policies = list(s.get("policies"), |i| {
        let mut names = list(s.get("names").min(ENTRIES), |k| format!("name-{k}").into());
        names.extend(list(s.get("wildcards").min(ENTRIES), |k| format!("*{long}*{k}*b").into()));
        let values = list(s.get("values of an expression").min(ENTRIES), |k| format!("value-{k}").into());
        let mut expressions = list(
            s.get("expressions").min(ENTRIES),
            |k| json!({ "key": format!("example.com/k-{k}"), "operator": "DoesNotExist" }),
        );
        if !values.is_empty() {
            expressions.push(json!({ "key": "example.com/l-000000", "operator": "NotIn", "values": values }));
        }
        let mut matches = json!({ "services": { "selector": { "matchExpressions": expressions } } });
        if !names.is_empty() {
            matches["services"]["names"] = names.into();
        }
        policy(
            i,
            &json!({
                "defaultMode": "warn", "match": matches,
                "exempt": {
                    "users": list(s.get("exempt users").min(ENTRIES), |k| format!("user-{k}-*").into()),
                    "groups": list(s.get("exempt groups").min(ENTRIES), |k| format!("exempt-{k}-*").into()),
                    "objects": list(s.get("exempt objects").min(ENTRIES), |k| json!({ "kind": "Service", "name": format!("no-{k}-*") })),
                },
            }),
        )
    });
    let mut object = service(&"a".repeat(s.get("length of a wildcard")), 1);
    object["metadata"]["labels"] = entries_and(s.get("labels"), "l", &[]);
    object["spec"]["ports"] = service_ports(1).into();
    Input {
        way: "validate".to_owned(),
        body: review(&object, None, s.get("groups")),
        stored: text(Vec::new()),
        policies: text(policies),
    }
}
