//! Labels that a kustomization adds, and what gets them.

use std::collections::BTreeMap;

use serde_json::Value;

/// Labels that a kustomization adds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LabelEntry {
    pub(super) scope: LabelScope,
    pub(super) pairs: BTreeMap<String, String>,
}

/// What gets the labels: each of these, and those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LabelScope {
    /// The objects.
    Objects,
    /// The templates in them.
    Templates,
    /// The selectors in them.
    Selectors,
}

impl LabelScope {
    pub(super) const ALL: [Self; 3] = [Self::Objects, Self::Templates, Self::Selectors];
}

impl LabelEntry {
    /// Reads an element of the field `labels`.
    pub(super) fn read(entry: &Value) -> Self {
        let is_set = |field: &str| entry[field].as_bool() == Some(true);
        let scope = match (is_set("includeSelectors"), is_set("includeTemplates")) {
            (true, _) => LabelScope::Selectors,
            (false, true) => LabelScope::Templates,
            (false, false) => LabelScope::Objects,
        };
        Self { scope, pairs: pairs(&entry["pairs"]) }
    }
}

/// A map of labels; values of other types are left out.
pub(super) fn pairs(map: &Value) -> BTreeMap<String, String> {
    let pairs = map.as_object().into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// The maps of labels that kustomize changes in objects of a kind, and whether it adds one that is missing.
pub(super) fn fields(scope: LabelScope, kind: &str) -> impl Iterator<Item = (&'static [&'static str], bool)> {
    const SELECTOR: &[&str] = &["spec", "selector", "matchLabels"];
    const TEMPLATE: &[&str] = &["spec", "template", "metadata", "labels"];
    let (selector, template) = match kind {
        "Service" => (Some((&["spec", "selector"][..], true)), None),
        "ReplicationController" => (Some((&["spec", "selector"][..], true)), Some((TEMPLATE, true))),
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" => (Some((SELECTOR, true)), Some((TEMPLATE, true))),
        // An API server makes the selector of a Job.
        "Job" => (Some((SELECTOR, false)), Some((TEMPLATE, true))),
        "CronJob" => (
            Some((&["spec", "jobTemplate", "spec", "selector", "matchLabels"][..], false)),
            Some((&["spec", "jobTemplate", "spec", "template", "metadata", "labels"][..], true)),
        ),
        _ => (None, None),
    };
    let of_metadata = (&["metadata", "labels"][..], true);
    let template = template.filter(|_| scope >= LabelScope::Templates);
    let selector = selector.filter(|_| scope >= LabelScope::Selectors);
    std::iter::once(of_metadata).chain(template).chain(selector)
}
