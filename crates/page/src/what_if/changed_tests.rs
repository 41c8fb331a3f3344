//! A what-if says what the page says of the changed objects.

use roster_manifests::decode::{Source, yaml_as_json};
use serde_json::{Value, json};

use crate::{
    PageAnswer, examples,
    tests::{shown, text_of},
};

/// Lead, reasons and picture as text, without the places in the input.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    lead: String,
    reasons: String,
    picture: String,
}

impl Said {
    fn of(answer: &PageAnswer, picture: &str) -> Self {
        let lead = text_of(answer.lead.as_str()).replace(", after the change", "");
        // After a change, the rest is about what it broke.
        let rest = [" Why: ", " The Service is headless: ", " A pod port is "];
        let end = rest.into_iter().filter_map(|rest| lead.find(rest)).min().unwrap_or(lead.len());
        Self {
            lead: words(&lead[..end]),
            reasons: words(&text_of(answer.reasons.as_str())),
            picture: words(&text_of(picture)),
        }
    }

    fn after(text: &str, service: &str, changes: &Value) -> Self {
        let answer = shown(&json!({ "text": text, "service": service, "tab": "what-if", "changes": changes }));
        let panel = answer.panel.as_str();
        let picture = panel.split("<h3>After</h3>").nth(1).and_then(|rest| rest.split("<h3>Before</h3>").next());
        Self::of(&answer, picture.unwrap_or_else(|| panic!("{changes}: {panel}")))
    }

    fn plain(text: &str, service: &str) -> Self {
        let answer = shown(&json!({ "text": text, "service": service, "tab": "picture" }));
        Self::of(&answer, answer.panel.as_str())
    }
}

fn words(text: &str) -> String {
    let is_place = |word: &&str| word.split(':').next().is_some_and(|line| line == "body") && word.contains(':');
    text.split_whitespace().filter(|word| !is_place(word)).collect::<Vec<_>>().join(" ")
}

/// Workloads without pods, one with a pod, and Services with faults.
const WORKLOADS: &str = include_str!("workloads.yaml");

#[test]
fn findings_are_those_of_the_changed_text() {
    let selector = |service: &str, key: &str, value: &str| json!({ "change": "selector", "service": service, "key": key, "value": value });
    let target = |service: &str, port: &str, target: &str| json!({ "change": "target-port", "service": service, "port": port, "target": target });
    let label = |pod: &str, key: &str, value: &str| json!({ "change": "pod-label", "pod": pod, "of": "owner", "key": key, "value": value });
    let distribution = |value: &str| json!({ "change": "traffic-distribution", "service": "shop/web", "value": value });
    let web = "selector: {app: web}, ports";
    for (service, change, replaced, want) in [
        (
            "shop/web",
            target("shop/web", "http", "http"),
            ("targetPort: nope}, {", "targetPort: http}, {"),
            "All 4 pod ports",
        ),
        ("shop/web", target("shop/web", "http", "99999"), ("targetPort: nope}, {", "targetPort: 99999}, {"), "99999"),
        ("shop/web", target("shop/web", "m", "other"), ("targetPort: 8080", "targetPort: other"), "\"other\""),
        ("shop/web", selector("shop/web", "app", "zzz"), (web, "selector: {app: zzz}, ports"), "instead of zzz"),
        ("shop/web", selector("shop/web", "app", ""), (web, "ports"), ""),
        (
            "shop/web",
            distribution("PreferSameNode"),
            (web, "trafficDistribution: PreferSameNode, selector: {app: web}, ports"),
            "pod ports",
        ),
        (
            "shop/web",
            distribution("Nowhere"),
            (web, "trafficDistribution: Nowhere, selector: {app: web}, ports"),
            "Nowhere",
        ),
        (
            "shop/web",
            label("shop/web-assumed-1", "app", "w"),
            ("labels: {app: web, tier", "labels: {app: w, tier"),
            "app",
        ),
        ("shop/lone", selector("shop/lone", "tier", "front"), ("tier: back", "tier: front"), "All 2 pods"),
        ("shop/lone", label("shop/web-assumed-1", "tier", "back"), ("tier: front", "tier: back"), "All 2 pods"),
        ("shop/lone", label("shop/web-assumed-1", "tier", ""), (", tier: front", ""), "No pod"),
        (
            "shop/db",
            selector("shop/db", "app", "other"),
            ("{clusterIP: None, selector: {app: db}", "{clusterIP: None, selector: {app: other}"),
            "other",
        ),
        (
            "x/api",
            target("x/api", "h", "http"),
            ("targetPort: nope}]", "targetPort: http}]"),
            "The only pod gets traffic.",
        ),
        (
            "x/api",
            selector("x/api", "v", "zzz"),
            ("selector: {app: api, v: one}", "selector: {app: api, v: zzz}"),
            "zzz",
        ),
        ("x/api", label("x/api-5d8-a", "v", "two"), ("labels: {app: api, v: one}", "labels: {app: api, v: two}"), "v"),
    ] {
        let changed = WORKLOADS.replace(replaced.0, replaced.1);
        assert_ne!(changed, WORKLOADS, "{change}");
        let said = Said::after(WORKLOADS, service, &json!([change]));
        assert_eq!(said, Said::plain(&changed, service), "{change}");
        assert!(format!("{} {}", said.lead, said.reasons).contains(want), "{change}: {want:?} in {said:?}");
    }
}

#[test]
fn changes_follow_each_other_and_the_status_comes_last() {
    let changes = json!([
        { "change": "pod-readiness", "pod": "shop/web-assumed-2", "to": "not-ready" },
        { "change": "target-port", "service": "shop/web", "port": "http", "target": "a" },
        { "change": "target-port", "service": "shop/web", "port": "http", "target": "http" },
    ]);
    assert!(Said::after(WORKLOADS, "shop/web", &changes).lead.contains("2 of 4 pod ports get traffic"));
    let one = json!([{ "change": "pod-label", "pod": "shop/web-assumed-2", "of": "pod", "key": "app", "value": "" }]);
    assert!(Said::after(WORKLOADS, "shop/web", &one).picture.contains("web-assumed-1"));
}

/// A change, and the objects after it.
type Case = (Value, Vec<Value>);

/// Whether an object is of this kind of the core group, and in the namespace.
fn is_of(object: &Value, kind: &str, namespace: Option<&str>) -> bool {
    let is_there = namespace.is_none_or(|namespace| namespace_of(object) == namespace);
    object["apiVersion"] == "v1" && object["kind"] == kind && object["metadata"]["name"].is_string() && is_there
}

fn namespace_of(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or("default")
}

fn title(object: &Value) -> String {
    format!("{}/{}", namespace_of(object), object["metadata"]["name"].as_str().unwrap_or_default())
}

/// The objects after `change` of those that are the same object as `one`.
fn after(all: &[Value], one: &Value, mut change: impl FnMut(&mut Value)) -> Vec<Value> {
    let mut all = all.to_vec();
    let kind = one["kind"].as_str().unwrap_or_default();
    all.iter_mut().filter(|of| is_of(of, kind, None) && title(of) == title(one)).for_each(&mut change);
    all
}

/// One change of each kind.
fn cases(all: &[Value], service: &Value) -> Vec<Case> {
    let name = title(service);
    let mut cases: Vec<Case> = Vec::new();
    let selector = service["spec"]["selector"].as_object();
    for (key, value) in selector.into_iter().flatten().take(1).flat_map(|(key, _)| [(key, "zzz"), (key, "")]) {
        let change = json!({ "change": "selector", "service": name, "key": key, "value": value });
        let changed = after(all, service, |of| set(&mut of["spec"], "selector", key, value));
        cases.push((change, changed));
    }
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    for target in ports.take(1).flat_map(|_| ["http", "nope", "8080", "99999"]) {
        let port = &service["spec"]["ports"][0];
        let named = port["name"].as_str().map_or_else(|| port["port"].to_string(), str::to_owned);
        let value = target.parse::<i32>().map_or_else(|_| json!(target), |number| json!(number));
        let changed = after(all, service, |of| of["spec"]["ports"][0]["targetPort"] = value.clone());
        cases.push((json!({ "change": "target-port", "service": name, "port": named, "target": target }), changed));
    }
    let change = json!({ "change": "traffic-distribution", "service": name, "value": "PreferSameNode" });
    cases.push((change, after(all, service, |of| of["spec"]["trafficDistribution"] = json!("PreferSameNode"))));
    let mut pods = all.iter().filter(|of| is_of(of, "Pod", Some(namespace_of(service))));
    let label = |of: &Value| of["metadata"]["labels"].as_object().and_then(|labels| labels.keys().next().cloned());
    if let Some((pod, key)) = pods.clone().find_map(|pod| Some((pod, label(pod)?))) {
        for value in ["zzz", ""] {
            let change = json!({ "change": "pod-label", "pod": title(pod), "key": key, "value": value });
            cases.push((change, after(all, pod, |of| set(&mut of["metadata"], "labels", &key, value))));
        }
    }
    if let Some(pod) = pods.find(|pod| pod["status"].is_object()) {
        for (to, status) in [("ready", "True"), ("not-ready", "False")] {
            let change = json!({ "change": "pod-readiness", "pod": title(pod), "to": to });
            cases.push((change, after(all, pod, |of| set_ready(of, status, ""))));
        }
    }
    cases.extend(node_cases(all));
    cases
}

/// The changes of a node and of a zone, where no pod is assumed.
fn node_cases(all: &[Value]) -> Vec<Case> {
    let is_assumed =
        |of: &Value| of["spec"]["template"].is_object() || of["kind"] == "Pod" && !of["status"].is_object();
    let Some(node) = all.iter().find(|of| is_of(of, "Node", None)).filter(|_| !all.iter().any(is_assumed)) else {
        return Vec::new();
    };
    let name = &node["metadata"]["name"];
    let mut drained = after(all, node, |node| node["spec"]["unschedulable"] = json!(true));
    for pod in drained.iter_mut().filter(|of| of["kind"] == "Pod" && of["spec"]["nodeName"] == *name) {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let mut cases = vec![(json!({ "change": "drain-node", "node": name }), drained)];
    let zone_of = |node: &Value| node["metadata"]["labels"]["topology.kubernetes.io/zone"].clone();
    let zone = zone_of(node);
    if zone.is_string() {
        let mut lost = all.to_vec();
        let is_lost = |of: &&mut Value| is_of(of, "Node", None) && zone_of(of) == zone;
        let nodes = lost.iter_mut().filter(is_lost).map(|node| {
            set_ready(node, "False", "");
            node["metadata"]["name"].clone()
        });
        let nodes: Vec<Value> = nodes.collect();
        let pods = lost.iter_mut().filter(|of| of["kind"] == "Pod" && nodes.contains(&of["spec"]["nodeName"]));
        pods.for_each(|pod| set_ready(pod, "False", "NodeNotReady"));
        cases.push((json!({ "change": "lose-zone", "zone": zone }), lost));
    }
    cases
}

fn set(parent: &mut Value, map: &str, key: &str, value: &str) {
    if !value.is_empty() {
        parent[map][key] = json!(value);
    } else if let Some(members) = parent[map].as_object_mut() {
        members.remove(key);
        let is_empty = members.is_empty();
        parent.as_object_mut().filter(|_| is_empty).and_then(|parent| parent.remove(map));
    }
}

fn set_ready(object: &mut Value, status: &str, reason: &str) {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let mut conditions: Vec<Value> = conditions.into_iter().filter(|of| of["type"] != "Ready").collect();
    conditions.push(json!({ "type": "Ready", "status": status, "reason": reason }));
    object["status"]["conditions"] = json!(conditions);
}

/// The objects of an example, each by itself.
fn objects(text: &str) -> Vec<Value> {
    let json = yaml_as_json(text, &Source::body()).unwrap();
    let values = serde_json::Deserializer::from_str(&json).into_iter::<Value>().map(Result::unwrap);
    values
        .flat_map(|mut value| match value["items"].take() {
            Value::Array(items) => items,
            _ => vec![value],
        })
        .filter(Value::is_object)
        .map(|mut object| {
            object.as_object_mut().unwrap().retain(|_, member| !member.is_null());
            object
        })
        .collect()
}

fn written(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_change_of_every_example_says_what_the_changed_objects_say() {
    /// Larger ones take their time and show nothing else.
    const LONG: usize = 40_000;
    let (mut compared, mut different) = (0, Vec::new());
    for example in examples::all().iter().filter(|example| example.text.len() < LONG) {
        let all = objects(example.text);
        let text = written(&all);
        for service in all.iter().filter(|of| is_of(of, "Service", None) && of["spec"].is_object()).take(1) {
            let name = title(service);
            let differs = |said: &Said| said.reasons.contains("stored-differs");
            let before = Said::plain(&text, &name);
            for (change, changed) in cases(&all, service) {
                let plain = Said::plain(&written(&changed), &name);
                if differs(&plain) && !differs(&before) {
                    // Nobody has written yet what the controllers would write then.
                    continue;
                }
                let said = Said::after(&text, &name, &json!([change]));
                compared += 1;
                if said != plain {
                    different.push(format!("{} {change}\n what-if: {said:?}\n changed: {plain:?}", example.code));
                }
            }
        }
    }
    assert!(different.is_empty(), "{} of {compared}:\n{}", different.len(), different.join("\n"));
    assert!(compared > 400, "{compared}");
}
