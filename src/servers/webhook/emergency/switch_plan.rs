//! What to write into a webhook configuration, as a value.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

/// The annotation with the previous failure policies by the names of the webhooks.
pub const ANNOTATION: &str = "roster.dev/failure-policies-before-disable";

/// The failure policy that allows writes while no replica answers.
const IGNORE: &str = "Ignore";
/// The failure policy of a webhook that sets none.
const DEFAULT: &str = "Fail";

/// Whether to disable or to enable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Set `Ignore`.
    Disable,
    /// Restore the previous values.
    Enable,
}

/// A patch of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchPlan {
    /// A strategic merge patch, which applies only to the version that was read.
    pub patch: Value,
    /// The changes.
    pub changes: Vec<FailurePolicyChange>,
}

/// The annotation is invalid: the previous values are unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the annotation {ANNOTATION} is invalid ({0}): set failurePolicy of the webhooks, and remove the annotation")]
pub struct AnnotationError(String);

/// The patch of `configuration`; `None` if nothing is to be done.
pub fn plan_switch(configuration: &Value, direction: Direction) -> Result<Option<SwitchPlan>, AnnotationError> {
    let before = remembered(configuration)?;
    Ok(match direction {
        Direction::Disable => disable(configuration, before.unwrap_or_default()),
        Direction::Enable => before.map(|before| enable(configuration, &before)),
    })
}

fn disable(configuration: &Value, mut before: BTreeMap<String, String>) -> Option<SwitchPlan> {
    let mut changes = Vec::new();
    for (name, policy) in webhooks(configuration).filter(|(_, policy)| *policy != IGNORE) {
        before.insert(name.to_owned(), policy.to_owned());
        changes.push(change(name, policy, IGNORE));
    }
    let annotation = serde_json::to_string(&before).unwrap_or_default();
    (!changes.is_empty()).then(|| planned(configuration, changes, &annotation.into()))
}

/// A failure policy that was changed meanwhile stays.
fn enable(configuration: &Value, before: &BTreeMap<String, String>) -> SwitchPlan {
    let ignored = webhooks(configuration).filter(|(_, policy)| *policy == IGNORE);
    let changes = ignored.filter_map(|(name, policy)| {
        let before = before.get(name).filter(|b| *b != policy)?;
        Some(change(name, policy, before))
    });
    planned(configuration, changes.collect(), &Value::Null)
}

fn change(webhook: &str, before: &str, after: &str) -> FailurePolicyChange {
    FailurePolicyChange { webhook: webhook.to_owned(), before: before.to_owned(), after: after.to_owned() }
}

fn planned(configuration: &Value, changes: Vec<FailurePolicyChange>, annotation: &Value) -> SwitchPlan {
    let mut patch = json!({ "metadata": {
        // An API server refuses the patch for any other version.
        "resourceVersion": configuration["metadata"]["resourceVersion"],
        "annotations": { ANNOTATION: annotation },
    } });
    if !changes.is_empty() {
        // Webhooks are merged by name, so the rest of each stays.
        patch["webhooks"] = changes.iter().map(|c| json!({ "name": c.webhook, "failurePolicy": c.after })).collect();
    }
    SwitchPlan { patch, changes }
}

/// The names and failure policies of the webhooks.
fn webhooks(configuration: &Value) -> impl Iterator<Item = (&str, &str)> {
    let list = configuration["webhooks"].as_array().into_iter().flatten();
    list.filter_map(|w| Some((w["name"].as_str()?, w["failurePolicy"].as_str().unwrap_or(DEFAULT))))
}

fn remembered(configuration: &Value) -> Result<Option<BTreeMap<String, String>>, AnnotationError> {
    let Some(text) = configuration["metadata"]["annotations"][ANNOTATION].as_str() else { return Ok(None) };
    let before: BTreeMap<String, String> = serde_json::from_str(text).map_err(|e| AnnotationError(e.to_string()))?;
    match before.values().find(|policy| ![IGNORE, DEFAULT].contains(&policy.as_str())) {
        Some(other) => Err(AnnotationError(format!("{other:.40?} is not a failure policy"))),
        None => Ok(Some(before)),
    }
}

/// A webhook whose failure policy was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailurePolicyChange {
    /// The name of the webhook.
    pub webhook: String,
    /// The previous failure policy.
    pub before: String,
    /// The new failure policy.
    pub after: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(webhooks: &[(&str, Option<&str>)], annotation: Option<&str>) -> Value {
        let mut found = json!({ "metadata": { "name": "roster", "resourceVersion": "7" } });
        if let Some(text) = annotation {
            found["metadata"]["annotations"] = json!({ "other": "kept", ANNOTATION: text });
        }
        found["webhooks"] = webhooks
            .iter()
            .map(|(name, policy)| match policy {
                Some(policy) => json!({ "name": name, "failurePolicy": policy, "timeoutSeconds": 2 }),
                None => json!({ "name": name }),
            })
            .collect();
        found
    }

    #[test]
    fn failure_policies_are_set_to_ignore_and_restored() {
        use Direction::{Disable, Enable};
        let before = r#"{"a":"Fail"}"#;
        let patch = |annotation: Option<&str>, webhooks: Value| {
            let mut patch =
                json!({ "metadata": { "resourceVersion": "7", "annotations": { ANNOTATION: annotation } } });
            if webhooks != json!([]) {
                patch["webhooks"] = webhooks;
            }
            patch
        };
        let (off, on) =
            (|n| json!({ "name": n, "failurePolicy": IGNORE }), |n| json!({ "name": n, "failurePolicy": "Fail" }));
        for (name, webhooks, annotation, direction, want) in [
            (
                "disable",
                vec![("a", Some("Fail")), ("b", Some("Ignore"))],
                None,
                Disable,
                Some(patch(Some(before), json!([off("a")]))),
            ),
            ("off by default", vec![("a", None)], None, Disable, Some(patch(Some(before), json!([off("a")])))),
            ("off already", vec![("a", Some("Ignore"))], Some(before), Disable, None),
            ("nothing to turn off", vec![("a", Some("Ignore"))], None, Disable, None),
            ("no webhooks", vec![], None, Disable, None),
            (
                "off, after a further one was added",
                vec![("a", Some("Ignore")), ("b", Some("Fail"))],
                Some(before),
                Disable,
                Some(patch(Some(r#"{"a":"Fail","b":"Fail"}"#), json!([off("b")]))),
            ),
            (
                "on",
                vec![("a", Some("Ignore")), ("b", Some("Ignore"))],
                Some(before),
                Enable,
                Some(patch(None, json!([on("a")]))),
            ),
            ("on already", vec![("a", Some("Fail"))], None, Enable, None),
            (
                "enabled by another client",
                vec![("a", Some("Fail"))],
                Some(before),
                Enable,
                Some(patch(None, json!([]))),
            ),
            ("on, and one is gone", vec![("c", Some("Ignore"))], Some(before), Enable, Some(patch(None, json!([])))),
        ] {
            let planned = plan_switch(&configuration(&webhooks, annotation), direction).unwrap();
            assert_eq!(planned.map(|p| p.patch), want, "{name}");
        }
    }

    #[test]
    fn an_invalid_annotation_is_an_error() {
        for text in ["", "x", "[]", r#"{"a":5}"#, r#"{"a":"Maybe"}"#] {
            for direction in [Direction::Disable, Direction::Enable] {
                let error = plan_switch(&configuration(&[("a", Some("Fail"))], Some(text)), direction).unwrap_err();
                assert!(error.to_string().contains(ANNOTATION), "{error}");
            }
        }
    }
}
