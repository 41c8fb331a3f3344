//! The examples of the rules: an object for each, what it meets in the cluster, and the policy that gives the rule a
//! mode for it. The tests beside a real API server take the same ones.

use std::{fs, num::NonZeroUsize, path::Path};

use roster_admission::{Mode, Rule};
use roster_manifests::{
    decode::{self, InputFormat, Source},
    inventory::Inventory,
};
use serde_json::{Value, json};

/// Every mode, the mildest first.
pub(crate) const MODES: [Mode; 4] = [Mode::Off, Mode::Audit, Mode::Warn, Mode::Enforce];

/// The label by which one policy is about one object.
pub(crate) const LABEL: &str = "roster.dev/case";

/// A file of `tests/data/rules`.
pub(crate) fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rules");
    fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// What the examples meet in the cluster.
pub(crate) fn cluster() -> Inventory {
    let mut inventory = Inventory::default();
    let source = Source { format: InputFormat::Yaml, threads: NonZeroUsize::MIN, ..Source::body() };
    decode::read(data("cluster").as_bytes(), &source, &mut inventory).unwrap();
    assert_eq!(inventory.len(), 7);
    inventory
}

/// The object of a rule. Nobody wants to read one that is too long: that is made here.
pub(crate) fn object(rule: Rule) -> Value {
    let mut object: Value = serde_saphyr::from_str(&data(rule.code())).unwrap();
    let ip = |i: usize| format!("10.244.{}.{}", i / 250, i % 250 + 1);
    if rule == Rule::OverCapacity {
        object["subsets"][0]["addresses"] = (0..1200).map(|i| json!({ "ip": ip(i) })).collect();
    }
    if rule == Rule::SliceOverCapacity {
        object["endpoints"] = (0..1200).map(|i| json!({ "addresses": [ip(i)] })).collect();
    }
    object
}

/// The value of [`LABEL`] for a rule in a mode.
pub(crate) fn case(rule: Rule, mode: Mode) -> String {
    format!("{rule}.{}", serde_json::to_value(mode).unwrap().as_str().unwrap())
}

/// The policy that turns every rule off but this one, for what has its label.
pub(crate) fn policy(rule: Rule, mode: Mode) -> Value {
    let case = case(rule, mode);
    json!({
        "apiVersion": "roster.dev/v1",
        "kind": "EndpointPolicy",
        "metadata": { "name": case },
        "spec": {
            "defaultMode": "off",
            "rules": [{ "name": rule, "mode": mode }],
            "match": { "services": { "selector": { "matchLabels": { LABEL: case } } } },
        },
    })
}
