//! The ways in agree: the same objects, whole and broken, through the command line and over REST.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    cli::roster_with,
    http::{JSON, app, post},
};

/// What is done to an object: at the `place`th of its fields.
#[derive(Clone, Debug)]
enum Change {
    Remove,
    Misspell,
    Replace(Value),
}

fn objects() -> [Value; 6] {
    let labels = json!({ "app": "web" });
    let container = json!({ "name": "web", "image": "web:1", "ports": [{ "name": "http", "containerPort": 8080 }] });
    [
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": "shop" },
            "spec": { "selector": labels, "type": "NodePort", "ports": [
                { "name": "http", "port": 80, "targetPort": "http", "nodePort": 30080 },
                { "name": "admin", "port": 81, "targetPort": 8081, "protocol": "TCP" },
            ] },
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "shop" },
            "spec": { "replicas": 2, "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } } },
        }),
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web-1", "namespace": "shop", "labels": labels },
            "spec": { "nodeName": "node-1", "containers": [container] },
            "status": { "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }],
                "conditions": [{ "type": "Ready", "status": "True" }] },
        }),
        json!({
            "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": "db", "namespace": "shop" },
            "subsets": [{ "addresses": [{ "ip": "192.0.2.7" }], "ports": [{ "name": "sql", "port": 5432 }] }],
        }),
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": { "name": "db-1", "namespace": "shop", "labels": { "kubernetes.io/service-name": "db" } },
            "endpoints": [{ "addresses": ["192.0.2.7"], "conditions": { "ready": true } }],
            "ports": [{ "name": "sql", "port": 5432, "protocol": "TCP" }],
        }),
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": { "name": "web", "namespace": "shop" },
            "spec": { "defaultBackend": { "service": { "name": "web", "port": { "number": 80 } } } },
        }),
    ]
}

/// The pointers to all fields of an object, but for its type.
fn fields(value: &Value, at: &str, into: &mut Vec<String>) {
    let within: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.replace('/', "~1"), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        _ => return,
    };
    for (name, value) in within {
        let at = format!("{at}/{name}");
        if !["/kind", "/apiVersion"].contains(&at.as_str()) {
            into.push(at.clone());
        }
        fields(value, &at, into);
    }
}

fn changed(mut object: Value, place: usize, change: &Change) -> Value {
    let mut all = Vec::new();
    fields(&object, "", &mut all);
    let at = &all[place % all.len()];
    let (parent, name) = at.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/");
    match (object.pointer_mut(parent).unwrap(), change) {
        (Value::Object(members), Change::Remove) => _ = members.remove(&name),
        (Value::Object(members), Change::Misspell) => {
            let value = members.remove(&name).unwrap();
            members.insert(format!("{name}x"), value);
        }
        (Value::Object(members), Change::Replace(value)) => _ = members.insert(name, value.clone()),
        (Value::Array(items), Change::Replace(value)) => items[name.parse::<usize>().unwrap()] = value.clone(),
        (Value::Array(items), _) => _ = items.remove(name.parse::<usize>().unwrap()),
        _ => unreachable!("a field is in an object or a list"),
    }
    object
}

fn change() -> impl Strategy<Value = Change> {
    let values =
        [json!(null), json!(-1), json!(70_000), json!("Wrong_Value"), json!(""), json!([]), json!({}), json!(true)];
    prop_oneof![
        Just(Change::Remove),
        Just(Change::Misspell),
        proptest::sample::select(values.to_vec()).prop_map(Change::Replace),
    ]
}

/// Up to two changes of each object.
fn broken() -> impl Strategy<Value = Vec<Value>> {
    let of_one = |object: Value| {
        proptest::collection::vec((any::<usize>(), change()), 0..3).prop_map(move |changes| {
            changes.iter().fold(object.clone(), |object, (place, change)| changed(object, *place, change))
        })
    };
    objects().map(of_one).into_iter().collect::<Vec<_>>()
}

fn cli(args: &[&str], input: &str) -> Value {
    let ran = roster_with(args, &[], input);
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err))
}

/// The status and the body of an answer.
fn answer(path: &str, body: String) -> (u16, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async { post(&app().1, path, JSON, body).await });
    (answer.status.as_u16(), answer.json())
}

/// `PROPTEST_CASES=2000` runs more than CI does.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(48, |cases| cases.parse().unwrap());
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn lint_finds_the_same(objects in broken()) {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
        let of_cli = cli(&["lint", "-", "-o", "json"], &list).to_string();
        let (status, of_rest) = answer("/v1/lint", list);
        prop_assert_eq!((200, of_cli.replace("<stdin>", "request body")), (status, of_rest.to_string()));
    }

    #[test]
    fn review_answers_the_same(objects in broken()) {
        let of_kind = |object: &&Value| ["Service", "Endpoints", "EndpointSlice"].contains(&object["kind"].as_str().unwrap());
        for object in objects.iter().filter(of_kind) {
            let of_cli = cli(&["review", "-", "-o", "json"], &object.to_string());
            // On the command line, the object is one of its cluster.
            let field = match object["kind"].as_str() {
                Some("Service") => "services",
                Some("EndpointSlice") => "endpointSlices",
                _ => "nodes",
            };
            let known: Vec<&Value> = (field != "nodes").then_some(object).into_iter().collect();
            let (status, of_rest) = answer("/v1/review", json!({ "object": object, field: known }).to_string());
            if status != 200 {
                // It cannot be read as an object at all, which is an error of a request.
                prop_assert_eq!((status, &of_cli["items"][0]["allowed"]), (422, &json!(false)), "{}", of_rest);
                continue;
            }
            prop_assert_eq!(&of_cli["items"][0]["allowed"], &of_rest["allowed"], "{}", object);
            // The decoder and the rules read it each for itself, and say why it cannot be read in words of their own.
            let is_decided = |answer: &Value| answer["reviewed"] == true && answer["decision"]["denied"]["code"] != 400;
            if !is_decided(&of_cli["items"][0]) || !is_decided(&of_rest) {
                continue;
            }
            let of_rest: Value = serde_json::from_str(&of_rest.to_string().replace("\"/object/", "\"/")).unwrap();
            for field in ["reviewed", "allowed", "decision", "refusedByApiServer", "object"] {
                prop_assert_eq!(&of_cli["items"][0][field], &of_rest[field], "{} of {}", field, object);
            }
        }
    }

    #[test]
    fn plans_are_the_same(objects in broken()) {
        // A Service or Endpoints that cannot be read are an error over REST, and a finding of a file.
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": [objects[0], objects[2]] }).to_string();
        let of_cli = cli(&["plan", "-", "-o", "json", "--complete"], &list);
        let (status, of_rest) = answer("/v1/plan", list);
        prop_assert_eq!(status == 200, of_cli["items"].as_array().unwrap().len() == 1, "{}", of_rest);
        if status == 200 {
            for field in ["endpoints", "endpointSlices", "events", "errors"] {
                prop_assert_eq!(&of_cli["items"][0][field], &of_rest[field], "{}", field);
            }
        }
    }
    #[test]
    fn explanations_are_the_same(objects in broken()) {
        // Over REST, fewer pods are assumed of a workload: a few bytes can ask for any number.
        prop_assume!(objects[1]["spec"]["replicas"].as_u64().is_none_or(|count| count < 10_000));
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
        let of_cli = cli(&["explain", "-f", "-", "-o", "json", "--complete"], &list);
        let is_web = |item: &&Value| item["service"] == json!({ "kind": "Service", "namespace": "shop", "name": "web" });
        let Some(of_cli) = of_cli["items"].as_array().unwrap().iter().find(is_web) else { return Ok(()) };
        let (status, of_rest) = answer("/v1/explain?service=shop/web", list);
        // A Service that cannot be read is an error over REST.
        prop_assume!(status == 200);
        prop_assert_eq!(&of_cli["rows"], &of_rest["rows"]);
        // Over REST, findings about other objects follow.
        let own = of_cli["reasons"].as_array().unwrap();
        prop_assert_eq!(&own[..], &of_rest["reasons"].as_array().unwrap()[..own.len()]);
    }
}
