//! The changes of a call, made to its objects.

use std::collections::BTreeMap;

use roster_engine::{
    model::{
        ObjectKey, Text,
        defaults::DEFAULT_NAMESPACE,
        json::raw::ObjectIdentity,
        spelling::{did_you_mean, nearest},
    },
    phrase::{all_of, clip_name, counted},
};
use roster_manifests::decode::{self, Document};
use serde_json::{Value, json};

use super::{
    known_objects::{as_json, source, unreadable},
    tool::ToolError,
};

/// What says that an object is deleted.
const DIRECTIVE: &str = "$patch";
/// Most API groups that an error names.
const NAMED_GROUPS: usize = 4;

/// The objects after the changes.
#[derive(Debug)]
pub(super) struct ChangedObjects {
    /// All objects, as a list in JSON.
    pub(super) text: String,
    /// What was done to each object, in words.
    pub(super) done: Vec<String>,
}

/// An object by its kind, namespace, name and group. Another group may have a kind of the same name.
type Identity = (ObjectKey, Text);

/// The places of the objects in their list. Those of several groups follow each other.
struct ObjectPlaces(BTreeMap<Identity, usize>);

impl ChangedObjects {
    /// Makes the changes, each a merge patch of the object of its name.
    pub(super) fn of(objects: &str, changes: &str) -> Result<Self, ToolError> {
        let mut all = read(objects, "objects")?;
        let mut places =
            ObjectPlaces(all.iter().enumerate().map(|(place, (identity, _))| (identity.clone(), place)).collect());
        let mut done = Vec::new();
        for (identity, mut patch) in read(changes, "changes")? {
            let key = identity.0.clone();
            if key.kind.is_empty() || key.name.is_empty() {
                return Err(ToolError::at("changes", "each change needs kind and metadata.name"));
            }
            let members = patch.as_object_mut();
            let directive = members.and_then(|members| members.remove(DIRECTIVE));
            let is_versioned = take_version(&mut patch);
            let found = if is_versioned { places.one(identity.clone()) } else { places.of_any_group(&key)? };
            match (directive.as_ref().map(Value::as_str), found) {
                (None, Some((_, place))) => {
                    let before = all[place].1.clone();
                    json_patch::merge(&mut all[place].1, &patch);
                    let is_same = all[place].1 == before;
                    done.push(format!("{key}: {}", if is_same { "the patch changes nothing" } else { "patched" }));
                }
                (None, None) if !is_versioned => {
                    let why = format!("{key} has no apiVersion, and no object has this name{}", alike(&all, &key));
                    return Err(ToolError::at("changes", why));
                }
                (None, None) => {
                    done.push(format!("{key}: created, because no object has this name{}", alike(&all, &key)));
                    places.0.insert(identity.clone(), all.len());
                    all.push((identity, patch));
                }
                (Some(Some("delete")), Some((identity, place))) => {
                    all[place].1 = Value::Null;
                    places.0.remove(&identity);
                    done.push(format!("{key}: deleted"));
                }
                (Some(Some("delete")), None) => {
                    return Err(ToolError::at("changes", format!("{key} is not among the objects")));
                }
                (Some(_), _) => return Err(ToolError::at("changes", "$patch must be \"delete\"")),
            }
        }
        if done.is_empty() {
            return Err(ToolError::at("changes", "has no object"));
        }
        let items: Vec<Value> = all.into_iter().map(|(_, object)| object).filter(|object| !object.is_null()).collect();
        Ok(Self { text: json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string(), done })
    }
}

impl ObjectPlaces {
    /// The object of this identity.
    fn one(&self, identity: Identity) -> Option<(Identity, usize)> {
        let place = *self.0.get(&identity)?;
        Some((identity, place))
    }

    /// The object of this kind, namespace and name, of whichever group; an error if several groups have one.
    fn of_any_group(&self, key: &ObjectKey) -> Result<Option<(Identity, usize)>, ToolError> {
        let from = (key.clone(), Text::default());
        let found: Vec<_> = self.0.range(from..).take_while(|((other, _), _)| other == key).collect();
        if let [] | [_] = found.as_slice() {
            return Ok(found.first().map(|(identity, place)| ((*identity).clone(), **place)));
        }
        let mut groups: Vec<String> = found.iter().take(NAMED_GROUPS).map(|((_, group), _)| named(group)).collect();
        if let Some(more) = found.len().checked_sub(NAMED_GROUPS).filter(|more| *more > 0) {
            groups.push(counted(more, "other"));
        }
        let why =
            format!("{key} has no apiVersion, and these API groups have an object of this name: {}", all_of(&groups));
        Err(ToolError::at("changes", why))
    }
}

/// The group as an error names it.
fn named(group: &str) -> String {
    if group.is_empty() { "the core group".to_owned() } else { clip_name(group).to_owned() }
}

/// Takes away an `apiVersion` that says nothing, which would otherwise replace that of the object. Returns whether one is left.
fn take_version(patch: &mut Value) -> bool {
    let Some(members) = patch.as_object_mut() else { return false };
    let is_versioned = members.get("apiVersion").and_then(Value::as_str).is_some_and(|version| !version.is_empty());
    if !is_versioned {
        members.remove("apiVersion");
    }
    is_versioned
}

/// The object of the kind whose name is most like this one, as a question.
fn alike(all: &[(Identity, Value)], key: &ObjectKey) -> String {
    let alike = all.iter().map(|(identity, _)| &identity.0).filter(|other| other.kind == key.kind);
    let meant = nearest(&key.name, alike, |other| other.name.as_str());
    let meant: Vec<String> = meant.map(|other| format!("{}/{}", other.namespace, other.name)).into_iter().collect();
    did_you_mean(&meant)
}

/// The objects of an argument.
fn read(text: &str, argument: &'static str) -> Result<Vec<(Identity, Value)>, ToolError> {
    let json = as_json(text, argument)?;
    let documents = decode::documents(&json, &source(DEFAULT_NAMESPACE, false));
    let documents = documents.map_err(|error| unreadable(argument, &error))?;
    documents
        .into_iter()
        .map(Document::with_single_keys)
        .map(|document| {
            let ObjectIdentity { key, group, .. } = document.identity().clone();
            let identity = (key.placed(DEFAULT_NAMESPACE), group);
            let value = serde_json::from_str(document.raw.get());
            value.map(|value| (identity, value)).map_err(|error| ToolError::at(argument, error.to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: &str = "
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: wbe}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop}
";

    #[test]
    fn a_change_is_a_merge_patch_of_the_object_of_its_name() {
        let service =
            |rest: &str| format!("{{apiVersion: v1, kind: Service, metadata: {{name: web, namespace: shop}}, {rest}}}");
        for (changes, done, want) in [
            (
                service("spec: {selector: {app: web}}"),
                "Service shop/web: patched",
                r#"[{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"shop"},"spec":{"ports":[{"port":80}],"selector":{"app":"web"}}},{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"shop"}}]"#,
            ),
            (
                service("spec: null"),
                "Service shop/web: patched",
                r#"[{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"shop"}},{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"shop"}}]"#,
            ),
            (
                service("$patch: delete"),
                "Service shop/web: deleted",
                r#"[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"shop"}}]"#,
            ),
        ] {
            let changed = ChangedObjects::of(WEB, &changes).unwrap();
            let text: Value = serde_json::from_str(&changed.text).unwrap();
            let want: Value = serde_json::from_str(want).unwrap();
            assert_eq!((changed.done.join("; ").as_str(), &text["items"]), (done, &want), "{changes}");
        }
        let same = ChangedObjects::of(WEB, &service("spec: {selector: {app: wbe}}")).unwrap();
        assert_eq!(same.done, ["Service shop/web: the patch changes nothing"]);
        let other = "{apiVersion: v1, kind: Service, metadata: {name: wed, namespace: shop}}";
        let created = ChangedObjects::of(WEB, other).unwrap();
        assert_eq!(
            created.done,
            ["Service shop/wed: created, because no object has this name; did you mean shop/web?"]
        );
        for (changes, why) in [
            ("kind: Service", "changes: each change needs kind and metadata.name"),
            ("{kind: Pod, metadata: {name: x}, $patch: delete}", "changes: Pod default/x is not among the objects"),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop}, $patch: replace}",
                "changes: $patch must be \"delete\"",
            ),
        ] {
            assert_eq!(ChangedObjects::of(WEB, changes).unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn a_change_without_a_version_creates_nothing() {
        let object = |version: &str, kind: &str, rest: &str| {
            format!("\n{{{version}kind: {kind}, metadata: {{name: web, namespace: shop}}{rest}}}\n---")
        };
        let one = object("apiVersion: apps/v1, ", "Deployment", ", spec: {replicas: 2}");
        let two =
            object("apiVersion: v1, ", "Service", "") + &object("apiVersion: serving.knative.dev/v1, ", "Service", "");
        let patched = r#"[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"replicas":0}}]"#;
        for (objects, version, kind, rest, want) in [
            (&one, "", "Deployment", ", spec: {replicas: 0}", Ok(("patched", patched))),
            (&one, "apiVersion: null, ", "Deployment", ", spec: {replicas: 0}", Ok(("patched", patched))),
            (&one, "apiVersion: '', ", "Deployment", ", spec: {replicas: 0}", Ok(("patched", patched))),
            (&one, "", "Deployment", ", $patch: delete", Ok(("deleted", "[]"))),
            (&one, "", "Service", "", Err("Service shop/web has no apiVersion, and no object has this name")),
            (&one, "", "Service", ", $patch: delete", Err("Service shop/web is not among the objects")),
            (
                &two,
                "",
                "Service",
                ", $patch: delete",
                Err(
                    "Service shop/web has no apiVersion, and these API groups have an object of this name: the core group \
                     and serving.knative.dev",
                ),
            ),
        ] {
            let changes = object(version, kind, rest);
            let got = ChangedObjects::of(objects, &changes)
                .map(|ChangedObjects { text, done }| {
                    (done.join("; "), serde_json::from_str::<Value>(&text).unwrap()["items"].to_string())
                })
                .map_err(|error| error.to_string());
            let want = want
                .map(|(done, items)| (format!("{kind} shop/web: {done}"), items.to_owned()))
                .map_err(|why| format!("changes: {why}"));
            assert_eq!(got, want, "{changes}");
        }
        let of_group = object("apiVersion: serving.knative.dev/v1, ", "Service", ", $patch: delete");
        let left = ChangedObjects::of(&two, &of_group).unwrap().text;
        assert!(left.contains(r#""apiVersion":"v1","kind":"Service""#) && !left.contains("knative"), "{left}");
    }
}
