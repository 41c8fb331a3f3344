//! Texts of any shape, as they are read; conversions; and reviews over REST.

use serde_json::{Value, json};

use crate::{
    objects::{
        endpoint_addresses, endpoint_ports, endpoints, entries_and, list, meta, node, of_one_uid, pod, policy,
        ports_of_list, range, service, slice, slice_endpoints,
    },
    plans::yaml,
    sizes::{Family, Input, Sizes, pairs},
};

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        name: "read JSON",
        base: &[
            ("keys", 0),
            ("equal keys", 0),
            ("unknown fields", 0),
            ("escapes", 0),
            ("depth", 0),
            ("length of a string", 0),
            ("faulty pods", 0),
            ("numbers", 0),
            ("spaces", 0),
            ("nested lists", 0),
        ],
        without: &[],
        make: json_text,
    },
    Family {
        name: "read YAML",
        base: &[
            ("keys", 0),
            ("equal keys", 0),
            ("comments", 0),
            ("anchors", 0),
            ("aliases", 0),
            ("merge keys", 0),
            ("length of a line", 0),
            ("lines of a block", 0),
            ("folded lines", 0),
            ("documents", 0),
            ("empty documents", 0),
            ("empty lines", 0),
            ("tags", 0),
            ("depth", 0),
            ("flow items", 0),
            ("escapes", 0),
        ],
        without: &[("anchors", "aliases")],
        make: yaml_text,
    },
    Family {
        name: "read NDJSON",
        base: &[("lines", 1), ("empty lines", 0), ("tiny lines", 0), ("faulty lines", 0), ("length of a line", 0)],
        without: &[],
        make: lines,
    },
    Family {
        name: "convert slices to Endpoints",
        base: &[
            ("slices", 1),
            ("endpoints", 1),
            ("ports", 1),
            ("Services", 1),
            ("labels", 0),
            ("annotations", 0),
            ("unknown fields", 0),
            ("equal endpoints", 0),
            ("endpoints of one uid", 0),
            ("slices of one address", 0),
        ],
        without: pairs! {
            "endpoints of one uid": "Services", "labels", "annotations", "unknown fields", "slices of one address";
            "slices of one address": "Services", "labels", "annotations", "unknown fields", "equal endpoints";
        },
        make: |s| converted_slices(s, "Endpoints"),
    },
    Family {
        name: "convert slices to v1beta1",
        base: &[
            ("slices", 1),
            ("endpoints", 1),
            ("ports", 1),
            ("labels", 0),
            ("unknown fields", 0),
            ("hints", 0),
            ("topology", 0),
        ],
        without: &[],
        make: |s| converted_slices(s, "discovery.k8s.io/v1beta1"),
    },
    Family {
        name: "convert Endpoints to slices",
        base: &[
            ("objects", 1),
            ("subsets", 1),
            ("addresses", 1),
            ("ports", 1),
            ("labels", 0),
            ("annotations", 0),
            ("unknown fields", 0),
            ("equal addresses", 0),
            ("addresses of one uid", 0),
            ("subsets of one address", 0),
        ],
        without: pairs! {
            "addresses of one uid": "ports", "labels", "annotations", "unknown fields", "subsets of one address";
            "subsets of one address": "objects", "labels", "annotations", "unknown fields", "equal addresses";
        },
        make: converted_endpoints,
    },
    Family {
        name: "convert policies",
        base: &[("policies", 1), ("rules", 0), ("ranges", 0), ("names", 0), ("exempt users", 0), ("unknown fields", 0)],
        without: &[],
        make: converted_policies,
    },
    Family {
        name: "the conversion webhook",
        base: &[("policies", 1), ("ranges", 0), ("names", 0), ("unknown fields", 0)],
        without: &[],
        make: conversion_review,
    },
    Family {
        name: "review over REST",
        base: &[
            ("endpoints", 1),
            ("ports", 1),
            ("slices", 0),
            ("endpoints of a slice", 1),
            ("ports of a slice", 1),
            ("pods", 0),
            ("nodes", 0),
            ("policies", 0),
            ("allowed ranges", 0),
            ("denied ranges", 0),
            ("namespaces", 0),
            ("groups", 0),
            ("endpoints of one uid", 0),
        ],
        without: pairs! {
            "endpoints of one uid": "ports", "ports of a slice", "nodes", "policies", "allowed ranges", "denied ranges",
                "namespaces", "groups";
        },
        make: rest_review,
    },
];

/// A field with unknown fields.
fn unknown(n: usize) -> Value {
    (0..n).map(|i| (format!("unknown{i}"), Value::from(i))).collect::<serde_json::Map<_, _>>().into()
}

fn with_unknown(mut object: Value, n: usize) -> Value {
    for (name, value) in unknown(n).as_object().into_iter().flatten() {
        object[name] = value.clone();
    }
    object
}

fn json_text(s: &Sizes) -> Input {
    let mut service = with_unknown(service("web", 1), s.get("unknown fields"));
    service["metadata"]["annotations"] = entries_and(
        s.get("keys"),
        "a",
        &[
            ("example.com/long", &"x".repeat(s.get("length of a string"))),
            ("example.com/escapes", &"\"\\\n\u{1}".repeat(s.get("escapes"))),
        ],
    );
    let faulty = list(s.get("faulty pods"), |i| json!({ "metadata": { "name": 5, "labels": i } }));
    let numbers = list(s.get("numbers"), |i| json!(i as f64 * 1.1));
    let mut text = json!({ "service": service, "pods": faulty }).to_string();
    let deep = s.get("depth").clamp(1, 100);
    let more = [
        format!(r#""equal":{{{}"x":1}}"#, r#""k":1,"#.repeat(s.get("equal keys"))),
        format!(r#""numbers":{}"#, Value::from(numbers)),
        format!(r#""deep":{}{}"#, "[".repeat(deep), "]".repeat(deep)),
        format!(r#""spaces":{}0"#, " ".repeat(s.get("spaces"))),
        format!(r#""lists":[{}[]]"#, "[[]],".repeat(s.get("nested lists"))),
    ];
    // Fields that a Service has not: what is not known is skipped.
    text = text.replacen(r#""spec":{"#, &format!(r#""spec":{{{},"#, more.join(",")), 1);
    Input { way: "post /v1/plan".to_owned(), body: text, ..Input::default() }
}

fn yaml_text(s: &Sizes) -> Input {
    let mut head = service("web", 1);
    head["metadata"]["annotations"] = entries_and(s.get("keys"), "a", &[]);
    let mut text = yaml(&head, 0);
    let mut add = |part: String| text.push_str(&part);
    let each = |n: usize, make: &dyn Fn(usize) -> String| (0..n).map(make).collect::<String>();
    add(each(s.get("comments"), &|i| format!("# a comment {i}\n")));
    add(each(s.get("empty lines"), &|_| "\n".to_owned()));
    add(format!("equal:\n  x: 1\n{}", each(s.get("equal keys"), &|_| "  k: 1\n".to_owned())));
    add(format!("anchors:\n  x: &a [1]\n{}", each(s.get("anchors"), &|i| format!("  k{i}: &a{i} v\n"))));
    add(format!("aliases:\n  x: 1\n{}", each(s.get("aliases"), &|i| format!("  k{i}: *a\n"))));
    add(format!(
        "merged:\n  x: &m {{ y: 1 }}\n{}",
        each(s.get("merge keys"), &|i| format!("  k{i}: {{ <<: *m, z: 1 }}\n"))
    ));
    add(format!("long: {}\n", "x".repeat(s.get("length of a line") + 1)));
    add(format!("block: |\n  x\n{}", each(s.get("lines of a block"), &|_| "  a line\n".to_owned())));
    add(format!("folded: >\n  x\n{}", each(s.get("folded lines"), &|_| "  a line\n".to_owned())));
    add(format!("tags:\n  x: 1\n{}", each(s.get("tags"), &|i| format!("  k{i}: !!str 5\n"))));
    let deep = s.get("depth").clamp(1, 90);
    add(format!("deep: {}{}\n", "[".repeat(deep), "]".repeat(deep)));
    add(format!("flow: [{}1]\n", "1, ".repeat(s.get("flow items"))));
    add(format!("escapes: \"{}\"\n", "\\n\\u0041".repeat(s.get("escapes"))));
    add(each(s.get("documents"), &|i| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: c{i} }}\n")));
    add(each(s.get("empty documents"), &|_| "---\n".to_owned()));
    Input { way: "post/yaml /v1/cluster".to_owned(), body: text, ..Input::default() }
}

fn lines(s: &Sizes) -> Input {
    let mut text = service("web", 1).to_string() + "\n";
    text.extend((0..s.get("lines")).map(|i| pod(i, 1).to_string() + "\n"));
    text.extend((0..s.get("empty lines")).map(|_| "\r\n"));
    text.extend((0..s.get("tiny lines")).map(|_| "{}\n"));
    text.extend(
        (0..s.get("faulty lines")).map(|_| r#"{"apiVersion":"v1","kind":"Pod","metadata":5}"#.to_owned() + "\n"),
    );
    text += &(json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": "x".repeat(s.get("length of a line")) })
        .to_string()
        + "\n");
    Input { way: "post/ndjson /v1/cluster".to_owned(), body: text, ..Input::default() }
}

fn converted_slices(s: &Sizes, to: &str) -> Input {
    let each = s.get("endpoints");
    let mut objects = list(s.get("slices"), |i| {
        let mut all = slice_endpoints(each, i * each);
        let one = all[0].clone();
        all.extend(list(s.get("equal endpoints"), |_| one.clone()));
        for endpoint in &mut all {
            endpoint["hints"] = json!({ "forZones": list(s.get("hints"), |k| json!({ "name": format!("zone-{k}") })) });
            if s.get("topology") > 0 {
                endpoint["deprecatedTopology"] = entries_and(s.get("topology"), "t", &[]);
            }
        }
        let mut object = with_unknown(slice(&format!("web-{i}"), all, s.get("ports")), s.get("unknown fields"));
        let service = format!("web-{}", i % s.get("Services").max(1));
        object["metadata"]["labels"] = entries_and(s.get("labels"), "l", &[("kubernetes.io/service-name", &service)]);
        object["metadata"]["annotations"] = entries_and(s.get("annotations"), "a", &[]);
        object
    });
    // One address, and other ports.
    objects.extend(list(s.get("slices of one address"), |i| {
        let mut object = slice(&format!("same-{i}"), slice_endpoints(1, 1_000_000), 0);
        object["ports"] = ports_of_list(s.get("ports"), i + 1).into();
        object["metadata"]["labels"] = json!({ "kubernetes.io/service-name": "web-0" });
        object
    }));
    if s.get("endpoints of one uid") > 0 {
        // One address, and other names.
        let mut all = of_one_uid(slice_endpoints(s.get("endpoints of one uid"), 2_000_000));
        for endpoint in &mut all {
            endpoint["addresses"] = json!(["10.1.2.3"]);
        }
        let mut object = slice("one", all, 1);
        object["metadata"]["labels"] = json!({ "kubernetes.io/service-name": "web-0" });
        objects.push(object);
    }
    convert(objects, to)
}

fn convert(objects: Vec<Value>, to: &str) -> Input {
    let body = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
    Input { way: format!("post /v1/convert?to={to}"), body, ..Input::default() }
}

fn converted_endpoints(s: &Sizes) -> Input {
    let each = s.get("addresses");
    let objects = list(s.get("objects"), |i| {
        let mut object = endpoints(list(s.get("subsets"), |k| {
            let mut addresses = endpoint_addresses(each, k * each);
            let one = addresses[0].clone();
            addresses.extend(list(s.get("equal addresses"), |_| one.clone()));
            json!({ "addresses": addresses, "ports": endpoint_ports(s.get("ports")) })
        }));
        if let Some(subsets) = object["subsets"].as_array_mut() {
            let one = endpoint_addresses(1, 1_000_000);
            subsets.extend(list(
                s.get("subsets of one address"),
                |i| json!({ "addresses": one, "ports": ports_of_list(s.get("ports"), i + 1) }),
            ));
            if s.get("addresses of one uid") > 0 {
                // One address, and other names.
                let mut all = of_one_uid(endpoint_addresses(s.get("addresses of one uid"), 2_000_000));
                for address in &mut all {
                    address["ip"] = "10.1.2.3".into();
                }
                subsets.push(json!({ "addresses": all, "ports": endpoint_ports(1) }));
            }
        }
        object["metadata"] = meta(&format!("web-{i}"));
        object["metadata"]["labels"] = entries_and(s.get("labels"), "l", &[]);
        object["metadata"]["annotations"] = entries_and(s.get("annotations"), "a", &[]);
        with_unknown(object, s.get("unknown fields"))
    });
    convert(objects, "EndpointSlice")
}

fn policies(s: &Sizes) -> Vec<Value> {
    list(s.get("policies"), |i| {
        let mut spec = json!({
            "rules": list(s.get("rules"), |_| json!({ "name": "external-ip", "mode": "warn" })),
            "addresses": { "allow": list(s.get("ranges"), |k| range(k).into()) },
        });
        if s.get("names") > 0 {
            spec["match"] = json!({ "namespaces": { "names": list(s.get("names"), |k| format!("n-{k}").into()) } });
        }
        if s.get("exempt users") > 0 {
            spec["exempt"] = json!({ "users": list(s.get("exempt users"), |k| format!("u-{k}").into()) });
        }
        with_unknown(policy(i, &spec), s.get("unknown fields"))
    })
}

fn converted_policies(s: &Sizes) -> Input {
    convert(policies(s), "roster.dev/v1alpha1")
}

fn conversion_review(s: &Sizes) -> Input {
    let body = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": { "uid": "1", "desiredAPIVersion": "roster.dev/v1alpha1", "objects": policies(s) },
    });
    Input { way: "convert".to_owned(), body: body.to_string(), ..Input::default() }
}

fn rest_review(s: &Sizes) -> Input {
    let each = s.get("endpoints of a slice");
    let denied = list(s.get("denied ranges"), |k| range(4096 + k * 2).into());
    let allowed = list(s.get("allowed ranges"), |k| range(k * 2).into());
    let mut slices = list(s.get("slices"), |i| {
        slice(&format!("web-{i}"), slice_endpoints(each, i * each), s.get("ports of a slice"))
    });
    if s.get("endpoints of one uid") > 0 {
        slices.push(slice("one", of_one_uid(slice_endpoints(s.get("endpoints of one uid"), 2_000_000)), 1));
    }
    let spec = json!({ "defaultMode": "warn", "addresses": { "allow": allowed, "deny": denied },
        "match": { "namespaces": { "selector": { "matchLabels": { "a": "b" } } } } });
    let body = json!({
        "object": slice("web-new", slice_endpoints(s.get("endpoints"), 0), s.get("ports")),
        "user": "jane", "groups": list(s.get("groups"), |i| format!("group-{i}").into()),
        "services": [service("web", 1)],
        "pods": list(s.get("pods"), |i| pod(i, 1)), "nodes": list(s.get("nodes"), node),
        "endpointSlices": slices,
        "policies": list(s.get("policies"), |i| policy(i, &spec)),
        "namespaces": list(s.get("namespaces"), |i| {
            let name = if i == 0 { "shop".to_owned() } else { format!("n-{i}") };
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": { "a": "b" } } })
        }),
    });
    Input { way: "post /v1/review".to_owned(), body: body.to_string(), ..Input::default() }
}
