//! The fields that `roster lint` reports are those of the cases. `tests/cluster/fields.rs` compares them with an API server.

use std::process::Command;

use serde_json::Value;

use crate::field_cases::{cases, linted};

#[test]
fn single_fields_are_refused_and_accepted() {
    let all = cases::all();
    let roster = Command::new(crate::program());
    let errors = linted::errors(roster, all.iter().map(|case| &case.object), "node-1", "IPv4");
    let mut wrong = Vec::new();
    for (index, case) in all.iter().enumerate() {
        // What is accepted may still not fit: a Service without pods, for example.
        let counts = |finding: &&Value| case.refused.is_some() || finding["effect"] == "invalid";
        let found = errors.get(&index).into_iter().flatten().filter(counts);
        let fields: Vec<&str> = found.filter_map(|f| f["field"].as_str()).collect();
        let is_right = match &case.refused {
            Some(field) => fields.contains(&field.as_str()),
            None => fields.is_empty(),
        };
        if !is_right {
            wrong.push(format!("{}\n  expected {:?}, found {fields:?}", case.name, case.refused));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}
