//! The view of a node, row by row: what upstream's own tests expect, and what was observed of the other programs.

mod clusters;
mod kube_proxy;
mod openyurt;
mod superedge;

use serde_json::{Value, json};

/// An endpoint from a line: its last octet, then words: `on=node`, `zones=a,b` and `nodes=a` for hints, `unready`,
/// `stopped` (neither ready nor serving), `draining` (serving and terminating), `gone` (terminating, and serves no more).
fn endpoint(line: &str) -> Value {
    let mut words = line.split_whitespace();
    let address = format!("10.1.2.{}", words.next().unwrap());
    let mut endpoint =
        json!({ "addresses": [address], "conditions": { "ready": true, "serving": true, "terminating": false } });
    let names = |list: &str| list.split(',').map(|name| json!({ "name": name })).collect::<Value>();
    for word in words {
        match word.split_once('=') {
            Some(("on", node)) => endpoint["nodeName"] = node.into(),
            Some(("zones", list)) => endpoint["hints"]["forZones"] = names(list),
            Some(("nodes", list)) => endpoint["hints"]["forNodes"] = names(list),
            _ => endpoint["conditions"] = conditions(word),
        }
    }
    endpoint
}

fn conditions(word: &str) -> Value {
    let [ready, serving, terminating] = match word {
        "unready" => [false, true, false],
        "stopped" => [false, false, false],
        "draining" => [false, true, true],
        "gone" => [false, false, true],
        "unknown" => return json!({}),
        _ => panic!("{word}"),
    };
    json!({ "ready": ready, "serving": serving, "terminating": terminating })
}

/// A slice of the Service `ns/web` with these endpoints, separated by commas and spaces.
fn slice(name: &str, lines: &str) -> Value {
    let endpoints: Vec<Value> = lines.split("; ").filter(|line| !line.is_empty()).map(endpoint).collect();
    json!({
        "metadata": { "namespace": "ns", "name": name, "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4",
        "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
        "endpoints": endpoints,
    })
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}
