//! Which objects a patch of a kustomization changes.

use roster_engine::model::{LabelQuery, Labels, wildcard};
use serde_json::Value;

/// The objects that a patch changes. What is not given matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PatchTarget {
    group: Option<String>,
    version: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    labels: Option<String>,
    annotations: Option<String>,
    /// Whether a kustomization below has changed names or namespaces, so that it may name an object by its new name.
    pub(super) is_renamed: bool,
}

/// Whether a patch changes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TargetMatch {
    No,
    Yes,
    /// The target is an expression that is not understood here.
    Unknown,
}

impl PatchTarget {
    /// Reads the field `target`: each part of it is a regular expression.
    pub(super) fn read(target: &Value) -> Self {
        let text = |field: &str| target[field].as_str().map(str::to_owned);
        Self {
            group: text("group"),
            version: text("version"),
            kind: text("kind"),
            name: text("name"),
            namespace: text("namespace"),
            labels: text("labelSelector"),
            annotations: text("annotationSelector"),
            is_renamed: false,
        }
    }

    /// The object that a patch itself names.
    pub(super) fn of_patch(patch: &Value) -> Self {
        let (group, version) = api_version(patch);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let metadata = &patch["metadata"];
        Self {
            group: Some(group.to_owned()),
            version: Some(version.to_owned()),
            kind: text(&patch["kind"]),
            name: text(&metadata["name"]),
            namespace: text(&metadata["namespace"]),
            ..Self::default()
        }
    }

    /// Some kinds of objects of one name, in any version.
    pub(super) fn of_kind(kind: &str, name: &str) -> Self {
        Self { kind: Some(kind.to_owned()), name: Some(name.to_owned()), ..Self::default() }
    }

    /// Whether it is the object.
    pub(super) fn matches(&self, object: &Value) -> TargetMatch {
        let (group, version) = api_version(object);
        let metadata = &object["metadata"];
        let kind = object["kind"].as_str().unwrap_or_default();
        let parts = [
            matches_expression(self.group.as_deref(), group),
            matches_expression(self.version.as_deref(), version),
            matches_expression(self.kind.as_deref(), kind),
            self.matches_name(metadata["name"].as_str().unwrap_or_default()),
            self.matches_namespace(metadata["namespace"].as_str().unwrap_or_default()),
            matches_query(self.labels.as_deref(), &metadata["labels"]),
            matches_query(self.annotations.as_deref(), &metadata["annotations"]),
        ];
        if parts.contains(&TargetMatch::No) {
            return TargetMatch::No;
        }
        parts.into_iter().max().unwrap_or(TargetMatch::Yes)
    }

    fn matches_name(&self, name: &str) -> TargetMatch {
        match matches_expression(self.name.as_deref(), name) {
            TargetMatch::No if self.may_be_renamed(name) => TargetMatch::Unknown,
            found => found,
        }
    }

    fn matches_namespace(&self, namespace: &str) -> TargetMatch {
        // An object without a namespace gets one where it is applied.
        let placed = if namespace.is_empty() { "default" } else { namespace };
        match matches_expression(self.namespace.as_deref(), placed) {
            TargetMatch::No if self.is_renamed && namespace.is_empty() => TargetMatch::Yes,
            found => found,
        }
    }

    /// Whether it may mean an object of this name by another one, with a prefix or suffix.
    fn may_be_renamed(&self, name: &str) -> bool {
        self.is_renamed && !name.is_empty() && self.name.as_ref().is_some_and(|wanted| wanted.contains(name))
    }
}

/// Group and version of an object.
fn api_version(object: &Value) -> (&str, &str) {
    let text = object["apiVersion"].as_str().unwrap_or_default();
    text.split_once('/').unwrap_or(("", text))
}

/// Whether a regular expression matches a whole text. Of expressions, only alternatives and `.*` are understood.
fn matches_expression(expression: Option<&str>, text: &str) -> TargetMatch {
    let Some(expression) = expression.filter(|expression| !expression.is_empty()) else { return TargetMatch::Yes };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:|".contains(c);
    let whole = expression.strip_prefix('^').unwrap_or(expression);
    let whole = whole.strip_suffix('$').unwrap_or(whole).replace(".*", "*");
    let has_other = whole.chars().any(|c| c != '*' && !is_plain(c)) || whole.contains("**");
    // A star without a dot repeats the letter in front of it.
    if has_other || expression.replace(".*", "").contains('*') {
        return TargetMatch::Unknown;
    }
    let has = |whole: &str| whole.split('|').any(|one| wildcard::matches(one, text));
    match has(&whole) {
        true => TargetMatch::Yes,
        // A dot stands for any letter, mostly for itself.
        false if has(&whole.replace('.', "*")) => TargetMatch::Unknown,
        false => TargetMatch::No,
    }
}

fn matches_query(query: Option<&str>, map: &Value) -> TargetMatch {
    let Some(query) = query else { return TargetMatch::Yes };
    let Ok(query) = query.parse::<LabelQuery>() else { return TargetMatch::Unknown };
    let pairs = map.as_object().into_iter().flatten();
    let labels: Labels = pairs.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect();
    if query.matches(&labels) { TargetMatch::Yes } else { TargetMatch::No }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn targets_are_regular_expressions_and_selectors() {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "web-api", "labels": { "app": "web" }, "annotations": { "team": "a" } },
        });
        for (target, want) in [
            (json!({}), TargetMatch::Yes),
            (json!({ "kind": "Deployment", "name": "web-api" }), TargetMatch::Yes),
            (json!({ "kind": "Deployment", "name": "web" }), TargetMatch::No),
            (json!({ "kind": "Deployment", "name": "web.*" }), TargetMatch::Yes),
            (json!({ "kind": "Deployment|StatefulSet", "name": "^.*-api$" }), TargetMatch::Yes),
            (json!({ "kind": "StatefulSet|Service" }), TargetMatch::No),
            (json!({ "group": "apps", "version": "v1", "namespace": "default" }), TargetMatch::Yes),
            (json!({ "group": "batch" }), TargetMatch::No),
            (json!({ "namespace": "shop" }), TargetMatch::No),
            (json!({ "name": "web-(api|db)" }), TargetMatch::Unknown),
            (json!({ "name": "web-x*" }), TargetMatch::Unknown),
            (json!({ "kind": "Service", "name": "web-(api|db)" }), TargetMatch::No),
            (json!({ "labelSelector": "app in (web, db)" }), TargetMatch::Yes),
            (json!({ "labelSelector": "app!=web" }), TargetMatch::No),
            (json!({ "annotationSelector": "team=a" }), TargetMatch::Yes),
            (json!({ "annotationSelector": "team=b" }), TargetMatch::No),
            (json!({ "labelSelector": "a in (" }), TargetMatch::Unknown),
        ] {
            assert_eq!(PatchTarget::read(&target).matches(&object), want, "{target}");
        }
    }

    #[test]
    fn a_patch_names_its_object() {
        let patch = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" } });
        let target = PatchTarget::of_patch(&patch);
        let of = |kind: &str, name: &str| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name } });
        assert_eq!(target.matches(&of("Service", "web")), TargetMatch::Yes);
        assert_eq!(target.matches(&of("Service", "api")), TargetMatch::No);
        assert_eq!(target.matches(&of("Pod", "web")), TargetMatch::No);
    }
}
