//! What to write into a configuration, as a value.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Change;

/// The annotation with the failure policies of before, by the names of the webhooks.
pub const ANNOTATION: &str = "roster.dev/failure-policies-before-disable";

/// What lets writes pass where nobody answers.
const IGNORE: &str = "Ignore";
/// What holds where nothing is written.
const DEFAULT: &str = "Fail";

/// Off or on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To `Ignore`.
    Disable,
    /// To what it was.
    Enable,
}

/// What to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// A strategic merge patch, for the version that was read only.
    pub patch: Value,
    /// What it changes.
    pub changes: Vec<Change>,
}

/// The annotation cannot be read, and only a person knows what was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the annotation {ANNOTATION} is not as it was written ({0}): set failurePolicy of its webhooks, and remove it")]
pub struct NotOurs(String);

/// What to write into `configuration`; `None` if it is so already.
pub fn plan(configuration: &Value, direction: Direction) -> Result<Option<Planned>, NotOurs> {
    let before = remembered(configuration)?;
    Ok(match direction {
        Direction::Disable => disable(configuration, before.unwrap_or_default()),
        Direction::Enable => before.map(|before| enable(configuration, &before)),
    })
}

fn disable(configuration: &Value, mut before: BTreeMap<String, String>) -> Option<Planned> {
    let mut changes = Vec::new();
    for (name, policy) in webhooks(configuration).filter(|(_, policy)| *policy != IGNORE) {
        before.insert(name.to_owned(), policy.to_owned());
        changes.push(change(name, policy, IGNORE));
    }
    let annotation = serde_json::to_string(&before).unwrap_or_default();
    (!changes.is_empty()).then(|| planned(configuration, changes, &annotation.into()))
}

/// One that was set to something else meanwhile stays so.
fn enable(configuration: &Value, before: &BTreeMap<String, String>) -> Planned {
    let ignored = webhooks(configuration).filter(|(_, policy)| *policy == IGNORE);
    let changes = ignored.filter_map(|(name, policy)| {
        let before = before.get(name).filter(|b| *b != policy)?;
        Some(change(name, policy, before))
    });
    planned(configuration, changes.collect(), &Value::Null)
}

fn change(webhook: &str, before: &str, after: &str) -> Change {
    Change { webhook: webhook.to_owned(), before: before.to_owned(), after: after.to_owned() }
}

fn planned(configuration: &Value, changes: Vec<Change>, annotation: &Value) -> Planned {
    let mut patch = json!({ "metadata": {
        // An API server refuses the patch of any other version.
        "resourceVersion": configuration["metadata"]["resourceVersion"],
        "annotations": { ANNOTATION: annotation },
    } });
    if !changes.is_empty() {
        // Merged by name: the rest of each webhook stays.
        patch["webhooks"] = changes.iter().map(|c| json!({ "name": c.webhook, "failurePolicy": c.after })).collect();
    }
    Planned { patch, changes }
}

/// Names and failure policies.
fn webhooks(configuration: &Value) -> impl Iterator<Item = (&str, &str)> {
    let list = configuration["webhooks"].as_array().into_iter().flatten();
    list.filter_map(|w| Some((w["name"].as_str()?, w["failurePolicy"].as_str().unwrap_or(DEFAULT))))
}

fn remembered(configuration: &Value) -> Result<Option<BTreeMap<String, String>>, NotOurs> {
    let Some(text) = configuration["metadata"]["annotations"][ANNOTATION].as_str() else { return Ok(None) };
    let before: BTreeMap<String, String> = serde_json::from_str(text).map_err(|e| NotOurs(e.to_string()))?;
    match before.values().find(|policy| ![IGNORE, DEFAULT].contains(&policy.as_str())) {
        Some(other) => Err(NotOurs(format!("{other:.40?} is no failure policy"))),
        None => Ok(Some(before)),
    }
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
    fn policies_go_to_ignore_and_back() {
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
                "off",
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
            ("on, by somebody else", vec![("a", Some("Fail"))], Some(before), Enable, Some(patch(None, json!([])))),
            ("on, and one is gone", vec![("c", Some("Ignore"))], Some(before), Enable, Some(patch(None, json!([])))),
        ] {
            let planned = plan(&configuration(&webhooks, annotation), direction).unwrap();
            assert_eq!(planned.map(|p| p.patch), want, "{name}");
        }
    }

    #[test]
    fn what_somebody_else_wrote_there_is_not_guessed() {
        for text in ["", "x", "[]", r#"{"a":5}"#, r#"{"a":"Maybe"}"#] {
            for direction in [Direction::Disable, Direction::Enable] {
                let error = plan(&configuration(&[("a", Some("Fail"))], Some(text)), direction).unwrap_err();
                assert!(error.to_string().contains(ANNOTATION), "{error}");
            }
        }
    }
}
