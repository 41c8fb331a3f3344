//! `EndpointPolicy` v1alpha1 ↔ v1, lossless in both directions.
//!
//! Fields with different paths are moved, and everything else stays as it is. What only one version can express (unknown
//! fields inside `match`, an empty group, a name with another meaning in the other version) is kept in an annotation for
//! the way back. A field could not keep it: an API server prunes fields that are not in the schema of a version.

use std::borrow::Cow;

use roster_engine::model::{
    installed::POLICY_KIND,
    json::raw::{JsonMembers, JsonNode},
};
use serde_json::value::RawValue;

use super::version::{FIELD_MOVES, FieldMove, PolicyVersion};

/// Annotation of an object in v1alpha1: what only v1 can express.
pub(super) const V1_ONLY: &str = "roster.dev/v1-only";
/// Annotation of an object in v1: what only v1alpha1 can express.
const V1ALPHA1_ONLY: &str = "roster.dev/v1alpha1-only";

/// The annotation for what only `version` can express.
fn annotation_of(version: PolicyVersion) -> &'static str {
    match version {
        PolicyVersion::V1alpha1 => V1ALPHA1_ONLY,
        PolicyVersion::V1 => V1_ONLY,
    }
}

/// Why a policy cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PolicyConversionError {
    #[error("the value is not an object")]
    NotAnObject,
    #[error("{0}")]
    Version(String),
    #[error("kind is {0:?}, not EndpointPolicy")]
    Kind(String),
    #[error("{0} is not an object")]
    Metadata(&'static str),
}

/// Converts a policy to version `to`. A policy that has this version already is returned unchanged.
pub(crate) fn convert(raw: &RawValue, to: PolicyVersion) -> Result<Cow<'_, RawValue>, PolicyConversionError> {
    let mut object = JsonMembers::read(raw).map_err(|_| PolicyConversionError::NotAnObject)?;
    let kind = object.text("kind");
    if kind != POLICY_KIND {
        return Err(PolicyConversionError::Kind(kind.chars().take(80).collect()));
    }
    let from: PolicyVersion = object.text("apiVersion").parse().map_err(PolicyConversionError::Version)?;
    if from == to {
        return Ok(Cow::Borrowed(raw));
    }
    let mut metadata = PolicyMetadata::of(&mut object)?;
    let mut rest = Remainder::default();
    let kept = metadata.take_remainder(to);
    if let Some(spec) = object.take("spec") {
        object.set("spec", move_fields(spec, from, &mut rest));
    }
    if let Some(kept) = kept
        && let Some(mut spec) = object.get("spec").and_then(JsonNode::open)
    {
        // A field that was edited in the meantime takes precedence.
        spec.fill_from(kept.spec);
        spec.fill_from(kept.no_groups);
        object.set("spec", JsonNode::Object(spec));
    }
    metadata.put_remainder(from, rest);
    metadata.store_in(&mut object);
    object.set("apiVersion", JsonNode::Text(Cow::Borrowed(to.api_version())));
    Ok(Cow::Owned(object.to_raw()))
}

/// What the other version cannot express, for the way back.
#[derive(Default)]
struct Remainder<'a> {
    /// Fields of the spec without a place in the other version. A group of v1 is an object at every level.
    spec: JsonMembers<'a>,
    /// Values in the place of a group of v1 that are not objects, such as null. They do not configure anything. They are
    /// kept apart, so that the remainder of a group is never mistaken for one.
    no_groups: JsonMembers<'a>,
}

/// `spec` in the other version; what that version cannot express goes into `rest`.
fn move_fields<'a>(spec: JsonNode<'a>, from: PolicyVersion, rest: &mut Remainder<'a>) -> JsonNode<'a> {
    let Some(members) = spec.open() else { return spec };
    let mut out = JsonMembers::default();
    for (name, value) in members {
        let group = FIELD_MOVES.iter().any(|m| m.path[0] == name);
        let flat = FIELD_MOVES.iter().find(|m| m.flat == name);
        match (from, group, flat) {
            (PolicyVersion::V1alpha1, false, Some(moved)) => put_at(&mut out, moved.path, value),
            (PolicyVersion::V1, true, None) => {
                let (left, no_group) = flatten(value, 0, &[name.as_ref()], &mut out);
                if let Some(no_group) = no_group {
                    rest.no_groups.push(name.clone(), no_group);
                }
                if let Some(left) = left {
                    rest.spec.push(name, left);
                }
            }
            (_, false, None) => out.push(name, value),
            // A name with another meaning in the other version.
            _ => rest.spec.push(name, value),
        }
    }
    JsonNode::Object(out)
}

/// Sets a field, and creates the groups around it.
fn put_at<'a>(out: &mut JsonMembers<'a>, path: &'static [&'static str], value: JsonNode<'a>) {
    match path {
        [] => {}
        [name] => out.set(*name, value),
        [group, rest @ ..] => {
            let mut inner = out.take(group).map(JsonNode::into_object).unwrap_or_default();
            put_at(&mut inner, rest, value);
            out.set(*group, JsonNode::Object(inner));
        }
    }
}

/// Moves the fields of a group into `out`. Returns the remainder of the group, which has no place there, and the parts
/// that should be groups but are not objects.
fn flatten<'a>(
    group: JsonNode<'a>,
    depth: usize,
    path: &[&str],
    out: &mut JsonMembers<'a>,
) -> (Option<JsonNode<'a>>, Option<JsonNode<'a>>) {
    let Some(members) = group.open() else { return (None, Some(group)) };
    let (mut left, mut no_groups) = (JsonMembers::default(), JsonMembers::default());
    let mut moved = 0;
    for (name, value) in members {
        let within = |m: &&FieldMove| {
            m.path.len() > depth + 1 && m.path.iter().zip(path).all(|(a, b)| a == b) && m.path[depth + 1] == name
        };
        match FIELD_MOVES.iter().find(within) {
            Some(m) if m.path.len() == depth + 2 => {
                out.set(m.flat, value);
                moved += 1;
            }
            Some(m) => {
                let (rest, no_group) = flatten(value, depth + 1, &m.path[..depth + 2], out);
                if let Some(no_group) = no_group {
                    no_groups.push(name.clone(), no_group);
                }
                match rest {
                    Some(rest) => left.push(name, rest),
                    None => moved += 1,
                }
            }
            None => left.push(name, value),
        }
    }
    // A group from which no field moved is not created on the way back: it must be kept, even if it is empty.
    let left = (moved == 0 || !left.is_empty()).then_some(JsonNode::Object(left));
    (left, (!no_groups.is_empty()).then_some(JsonNode::Object(no_groups)))
}

/// The metadata of a policy, with access to its annotations.
struct PolicyMetadata<'a> {
    members: JsonMembers<'a>,
    /// Whether the object has metadata.
    exists: bool,
}

/// Fields of the annotation: the two parts of a [`Remainder`].
const SPEC: &str = "spec";
const NO_GROUPS: &str = "noGroups";
/// The value of `annotations` before the annotation was added: empty, or null.
const ANNOTATIONS: &str = "annotations";
/// The previous value of the annotation.
const ANNOTATION: &str = "annotation";
/// Present if the object did not have metadata.
const NO_METADATA: &str = "noMetadata";

impl<'a> PolicyMetadata<'a> {
    fn of(object: &mut JsonMembers<'a>) -> Result<Self, PolicyConversionError> {
        let Some(node) = object.get("metadata") else {
            return Ok(Self { members: JsonMembers::default(), exists: false });
        };
        let members = node.open().ok_or(PolicyConversionError::Metadata("metadata"))?;
        match members.get(ANNOTATIONS) {
            Some(a) if a.open().is_none() && !a.is_null() => {
                Err(PolicyConversionError::Metadata("metadata.annotations"))
            }
            _ => Ok(Self { members, exists: true }),
        }
    }

    fn annotations(&self) -> Option<JsonMembers<'a>> {
        self.members.get(ANNOTATIONS).and_then(JsonNode::open)
    }

    /// Removes the annotation for the target version and returns its content.
    fn take_remainder(&mut self, to: PolicyVersion) -> Option<Remainder<'a>> {
        let mut annotations = self.annotations()?;
        let mut rest = read_remainder(annotations.get(annotation_of(to))?, to)?;
        let before = rest.take(ANNOTATION);
        match before {
            Some(before) => annotations.set(annotation_of(to), before),
            None => drop(annotations.take(annotation_of(to))),
        }
        if !annotations.is_empty() {
            self.members.set(ANNOTATIONS, JsonNode::Object(annotations));
        } else if let Some(empty) = rest.take(ANNOTATIONS) {
            self.members.set(ANNOTATIONS, empty);
        } else {
            self.members.take(ANNOTATIONS);
        }
        if rest.take(NO_METADATA).is_some() && self.members.is_empty() {
            self.exists = false;
        }
        let mut part = |name| rest.take(name).map(JsonNode::into_object).unwrap_or_default();
        Some(Remainder { spec: part(SPEC), no_groups: part(NO_GROUPS) })
    }

    /// Adds the annotation with what the other version cannot express.
    fn put_remainder(&mut self, from: PolicyVersion, rest: Remainder<'a>) {
        let name = annotation_of(from);
        let mut annotations = self.annotations().unwrap_or_default();
        // An annotation of this name that a user wrote would be mistaken for Roster's on the way back.
        let mistaken = annotations.get(name).is_some_and(|a| read_remainder(a, from).is_some());
        let parts = [(SPEC, rest.spec), (NO_GROUPS, rest.no_groups)].into_iter().filter(|(_, part)| !part.is_empty());
        let mut text = JsonMembers::default();
        for (name, part) in parts {
            text.set(name, JsonNode::Object(part));
        }
        if text.is_empty() && !mistaken {
            return;
        }
        if let Some(before) = annotations.take(name) {
            text.set(ANNOTATION, before);
        } else if annotations.is_empty()
            && let Some(empty) = self.members.get(ANNOTATIONS)
        {
            text.set(ANNOTATIONS, empty.clone());
        }
        if !self.exists {
            text.set(NO_METADATA, JsonNode::Object(JsonMembers::default()));
            self.exists = true;
        }
        annotations.set(name, JsonNode::Text(Cow::Owned(text.to_raw().get().to_owned())));
        self.members.set(ANNOTATIONS, JsonNode::Object(annotations));
    }

    fn store_in(self, object: &mut JsonMembers<'a>) {
        if self.exists {
            object.set("metadata", JsonNode::Object(self.members));
        } else {
            object.take("metadata");
        }
    }
}

/// Parses the annotation; `None` if [`PolicyMetadata::put_remainder`] did not write it for what only `version` can
/// express.
fn read_remainder<'a>(annotation: &JsonNode<'a>, version: PolicyVersion) -> Option<JsonMembers<'a>> {
    let text = annotation.text()?;
    if !text.starts_with('{') {
        return None;
    }
    let raw = JsonNode::Owned(RawValue::from_string(text.into_owned()).ok()?);
    let rest = raw.open()?;
    let known = |name: &str| [SPEC, NO_GROUPS, ANNOTATIONS, ANNOTATION, NO_METADATA].contains(&name);
    if !rest.names().all(known) {
        return None;
    }
    let part = |part: &str, fits: fn(&str, JsonNode<'_>, PolicyVersion) -> bool| {
        let fits = |members: JsonMembers<'_>| members.into_iter().all(|(name, value)| fits(&name, value, version));
        rest.get(part).map(|part| part.open().is_some_and(|m| !m.is_empty() && fits(m)))
    };
    let ours = match (part(SPEC, is_remainder), part(NO_GROUPS, is_no_group)) {
        // It only keeps an annotation that would be mistaken for Roster's.
        (None, None) => rest.get(ANNOTATION).is_some_and(|before| read_remainder(before, version).is_some()),
        (spec, no_groups) => spec != Some(false) && no_groups != Some(false),
    };
    ours.then_some(rest)
}

/// Whether [`move_fields`] puts such a field of `version` into the remainder. A field that both versions can express is
/// refused: an annotation must not hide an exemption.
fn is_remainder(name: &str, value: JsonNode<'_>, version: PolicyVersion) -> bool {
    let is_group = FIELD_MOVES.iter().any(|m| m.path[0] == name);
    match version {
        PolicyVersion::V1alpha1 => is_group,
        PolicyVersion::V1 if is_group => {
            let mut moved = JsonMembers::default();
            let (_, no_group) = flatten(value, 0, &[name], &mut moved);
            moved.is_empty() && no_group.is_none()
        }
        PolicyVersion::V1 => FIELD_MOVES.iter().any(|m| m.flat == name),
    }
}

/// Whether a value is in the place of a group of `version`, and contains only values that are not groups.
fn is_no_group(name: &str, value: JsonNode<'_>, version: PolicyVersion) -> bool {
    let mut moved = JsonMembers::default();
    let is_group = version == PolicyVersion::V1 && FIELD_MOVES.iter().any(|m| m.path[0] == name);
    is_group && flatten(value, 0, &[name], &mut moved).0.is_none() && moved.is_empty()
}
