//! Manifests that are alike: in their names, in their labels, or altogether.

use serde_json::{Value, json};

use super::{documents, files, workload};
use crate::{
    objects::{list, long_name, meta, pod, service, slice, slice_endpoints},
    plans::{deployment, repeats, yaml},
    sizes::{Input, Sizes},
};

/// The dimensions of texts that are almost others.
pub(crate) const MISTYPED: &[(&str, usize)] = &[
    ("long workloads", 1),
    ("mistyped selectors", 0),
    ("mistyped targets of autoscalers", 0),
    ("alike keys of a workload", 1),
    ("mistyped keys of a selector", 0),
    ("ports of a workload", 1),
    ("mistyped target ports", 0),
    ("mistyped fields", 0),
];

/// Long names that are mistyped in their first letter, and differ in their last ones.
fn mistyped(i: usize) -> String {
    long_name(i).replacen('a', "x", 1)
}

/// A Service without a cluster IP.
fn written(name: &str, selector: Value) -> Value {
    let mut service = service(name, 0);
    service["spec"] = json!({ "selector": selector, "ports": [{ "port": 80 }] });
    service
}

/// Manifests with mistakes in long texts, or in many.
pub(crate) fn lint_mistyped(s: &Sizes) -> Input {
    let mut all = list(s.get("long workloads"), |i| workload(&long_name(i), &long_name(i), 1));
    all.extend(list(s.get("mistyped selectors"), |i| written(&format!("near-{i}"), json!({ "app": mistyped(i) }))));
    all.extend(list(s.get("mistyped targets of autoscalers"), |i| {
        json!({ "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta(&format!("h-{i}")),
            "spec": { "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": mistyped(i) }, "maxReplicas": 3 } })
    }));
    // All keys have one value.
    let keys = |n: usize, of: &str| -> Value {
        (0..n).map(|i| (format!("example.com/{of}-{i:06}"), "v".into())).collect::<serde_json::Map<_, _>>().into()
    };
    let mut keyed = workload("keyed", "keyed", s.get("ports of a workload"));
    let labels = keys(s.get("alike keys of a workload"), "key");
    keyed["spec"]["selector"]["matchLabels"] = labels.clone();
    keyed["spec"]["template"]["metadata"]["labels"] = labels.clone();
    all.push(keyed);
    if s.get("mistyped keys of a selector") > 0 {
        all.push(written("keys", keys(s.get("mistyped keys of a selector"), "kye")));
    }
    if s.get("mistyped target ports") > 0 {
        let mut ports = written("ports", labels);
        ports["spec"]["ports"] = list(
            s.get("mistyped target ports"),
            |i| json!({ "name": format!("n{i}"), "port": 1 + i % 65535, "targetPort": format!("port-{i}") }),
        )
        .into();
        all.push(ports);
    }
    if s.get("mistyped fields") > 0 {
        let mut fields = written("fields", json!({ "app": "none" }));
        for i in 0..s.get("mistyped fields") {
            fields["spec"][format!("sessionAfinity{i}")] = 1.into();
        }
        all.push(fields);
    }
    lint(&documents(&all))
}

fn lint(text: &str) -> Input {
    let body = files(&[("a.yaml".to_owned(), text.to_owned())]);
    Input { way: "cli lint DIR".to_owned(), body, ..Input::default() }
}

/// The dimensions of one string.
pub(crate) const ONE_STRING: &[(&str, usize)] =
    &[("${", 0), ("{{", 0), ("}}", 0), ("$(", 0), ("quotes", 0), ("lines", 1)];

/// A string of a manifest, and of templates, which are not YAML.
pub(crate) fn lint_string(s: &Sizes) -> Input {
    let text: String = ["${", "$("].iter().map(|part| part.repeat(s.get(part))).collect();
    let mut manifest = workload("web", "web", 1);
    manifest["metadata"]["labels"] = json!({ "example.com/label": text });
    manifest["spec"]["template"]["spec"]["containers"][0]["args"] = json!([text, "{{".repeat(s.get("{{"))]);
    let quoted =
        format!("{text}{}{}{}", "{{".repeat(s.get("{{")), "\\\"".repeat(s.get("quotes")), "}}".repeat(s.get("}}")));
    let lines = format!("a: \"{quoted}\"\n").repeat(s.get("lines"));
    // Neither is YAML: one has an action, the other one a placeholder.
    let parts = [
        ("a.yaml".to_owned(), documents(&[manifest])),
        ("b.yaml".to_owned(), format!("{lines}b: {{{{ x }}}}\n")),
        ("c.yaml".to_owned(), format!("{lines}b: {{a: ${{A}}}}\n")),
    ];
    Input { way: "cli lint DIR".to_owned(), body: files(&parts), ..Input::default() }
}

/// The dimensions of manifests that are repeated.
pub(crate) const REPEATED: &[(&str, usize)] = &[
    ("equal Services", 1),
    ("equal workloads", 1),
    ("equal autoscalers", 0),
    ("equal pods", 0),
    ("equal slices", 0),
    ("Services of one node port", 0),
    ("items of a long type", 0),
];

/// Manifests that are repeated in one file.
pub(crate) fn lint_repeated(s: &Sizes) -> Input {
    let mut all = list(s.get("equal Services"), |_| written("web", json!({ "app": "web" })));
    all.extend(list(s.get("equal workloads"), |_| deployment("same")));
    all.extend(list(s.get("equal autoscalers"), |_| {
        json!({ "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta("same"),
            "spec": { "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "same" }, "maxReplicas": 3 } })
    }));
    all.extend(list(s.get("equal pods"), |_| pod(0, 1)));
    all.extend(list(s.get("equal slices"), |_| slice("same", slice_endpoints(1, 0), 1)));
    all.extend(list(s.get("Services of one node port"), |i| {
        let mut service = written(&format!("np-{i}"), json!({ "app": "web" }));
        service["spec"]["type"] = "NodePort".into();
        service["spec"]["ports"][0]["nodePort"] = 30_000.into();
        service
    }));
    let items = list(s.get("items of a long type"), |i| json!({ "metadata": { "name": format!("i-{i}") } }));
    let long = json!({ "apiVersion": format!("example.com/{}", "v".repeat(240)), "kind": format!("{}List", "K".repeat(240)), "items": items });
    lint(&(documents(&all) + "---\n" + &yaml(&long, 0)))
}

/// A cluster that repeats objects, as files.
pub(crate) fn repeated_files(s: &Sizes, command: &str) -> Input {
    let body = files(&[("all.yaml".to_owned(), documents(&repeats(s)))]);
    Input { way: format!("cli {command}"), body, ..Input::default() }
}
