//! `EndpointPolicy` v1alpha1 ↔ v1, lossless in both directions.
//!
//! Fields that moved are moved, everything else stays as it is. What one version can say and the other
//! cannot (fields that this build does not know inside of `match`, an empty group, a name that means
//! something else in the other version) waits in an annotation of the object for the way back. The
//! annotation, not a field: an API server prunes fields that the schema of a version does not have.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::raw::{Members, Node};
use crate::admission::policy::version::{KIND, MOVED, Moved, Version};

/// What only v1 says, on an object in v1alpha1.
pub(crate) const V1_ONLY: &str = "roster.dev/v1-only";
/// What only v1alpha1 says, on an object in v1.
const V1ALPHA1_ONLY: &str = "roster.dev/v1alpha1-only";

/// The annotation that holds what only `version` can say.
fn annotation_of(version: Version) -> &'static str {
    match version {
        Version::V1alpha1 => V1ALPHA1_ONLY,
        Version::V1 => V1_ONLY,
    }
}

/// Why an object cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PolicyError {
    #[error("it is no object")]
    NoObject,
    #[error("{0}")]
    Version(String),
    #[error("kind is {0:?}, not EndpointPolicy")]
    Kind(String),
    #[error("{0} is no object")]
    Metadata(&'static str),
}

/// The object in `to`. One that is in that version already comes back as it is.
pub(crate) fn convert(raw: &RawValue, to: Version) -> Result<Cow<'_, RawValue>, PolicyError> {
    let mut object = Members::read(raw).map_err(|_| PolicyError::NoObject)?;
    let kind = object.text("kind");
    if kind != KIND {
        return Err(PolicyError::Kind(kind.chars().take(80).collect()));
    }
    let from: Version = object.text("apiVersion").parse().map_err(PolicyError::Version)?;
    if from == to {
        return Ok(Cow::Borrowed(raw));
    }
    let mut metadata = Metadata::of(&mut object)?;
    let mut back = Rest::default();
    let waiting = metadata.take_rest(to);
    if let Some(spec) = object.take("spec") {
        object.set("spec", move_fields(spec, from, &mut back));
    }
    if let Some(only) = waiting
        && let Some(mut spec) = object.get("spec").and_then(Node::open)
    {
        // Where an edit says otherwise in the meantime, the edit counts.
        spec.fill_from(only.spec);
        spec.fill_from(only.no_groups);
        object.set("spec", Node::Object(spec));
    }
    metadata.put_rest(from, back);
    metadata.back_into(&mut object);
    object.set("apiVersion", Node::Text(Cow::Borrowed(to.api_version())));
    Ok(Cow::Owned(object.to_raw()))
}

/// What waits for the way back.
#[derive(Default)]
struct Rest<'a> {
    /// Fields of the spec for which the other version has no place. A group of v1 is an object here at every level.
    spec: Members<'a>,
    /// What stands where v1 has a group and is no object, such as null: no policy says anything with it. It waits apart,
    /// so that a rest of a group is never mistaken for one.
    no_groups: Members<'a>,
}

/// `spec` in the other version; what that one cannot say goes into `rest`.
fn move_fields<'a>(spec: Node<'a>, from: Version, rest: &mut Rest<'a>) -> Node<'a> {
    let Some(members) = spec.open() else { return spec };
    let mut out = Members::default();
    for (name, value) in members {
        let group = MOVED.iter().any(|m| m.path[0] == name);
        let flat = MOVED.iter().find(|m| m.flat == name);
        match (from, group, flat) {
            (Version::V1alpha1, false, Some(moved)) => put_at(&mut out, moved.path, value),
            (Version::V1, true, None) => {
                let (left, no_group) = flatten(value, 0, &[name.as_ref()], &mut out);
                if let Some(no_group) = no_group {
                    rest.no_groups.push(name.clone(), no_group);
                }
                if let Some(left) = left {
                    rest.spec.push(name, left);
                }
            }
            (_, false, None) => out.push(name, value),
            // A name of the other version, where it means something else.
            _ => rest.spec.push(name, value),
        }
    }
    Node::Object(out)
}

/// Sets a field, and makes the groups it stands in.
fn put_at<'a>(out: &mut Members<'a>, path: &'static [&'static str], value: Node<'a>) {
    match path {
        [] => {}
        [name] => out.set(*name, value),
        [group, rest @ ..] => {
            let mut inner = out.take(group).map(Node::into_object).unwrap_or_default();
            put_at(&mut inner, rest, value);
            out.set(*group, Node::Object(inner));
        }
    }
}

/// Moves the fields of a group into `out`. The first of what comes back is what is left of the group, for which there is
/// no place there; the second are those parts of it that are to be groups and are none.
fn flatten<'a>(
    group: Node<'a>,
    depth: usize,
    path: &[&str],
    out: &mut Members<'a>,
) -> (Option<Node<'a>>, Option<Node<'a>>) {
    let Some(members) = group.open() else { return (None, Some(group)) };
    let (mut left, mut no_groups) = (Members::default(), Members::default());
    let mut moved = 0;
    for (name, value) in members {
        let within = |m: &&Moved| {
            m.path.len() > depth + 1 && m.path.iter().zip(path).all(|(a, b)| a == b) && m.path[depth + 1] == name
        };
        match MOVED.iter().find(within) {
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
    // A group of which nothing moved is not made again on the way back: it must be remembered, also empty.
    let left = (moved == 0 || !left.is_empty()).then_some(Node::Object(left));
    (left, (!no_groups.is_empty()).then_some(Node::Object(no_groups)))
}

/// The metadata, as far as annotations need it.
struct Metadata<'a> {
    members: Members<'a>,
    /// Whether the object has any.
    given: bool,
}

/// Fields of the annotation.
const SPEC: &str = "spec";
const NO_GROUPS: &str = "noGroups";
/// What `annotations` were before the annotation came: empty, or null.
const ANNOTATIONS: &str = "annotations";
/// What the annotation of this name was before.
const ANNOTATION: &str = "annotation";
/// There where there was no metadata.
const NO_METADATA: &str = "noMetadata";

impl<'a> Metadata<'a> {
    fn of(object: &mut Members<'a>) -> Result<Self, PolicyError> {
        let Some(node) = object.get("metadata") else { return Ok(Self { members: Members::default(), given: false }) };
        let members = node.open().ok_or(PolicyError::Metadata("metadata"))?;
        match members.get(ANNOTATIONS) {
            Some(a) if a.open().is_none() && !a.is_null() => Err(PolicyError::Metadata("metadata.annotations")),
            _ => Ok(Self { members, given: true }),
        }
    }

    fn annotations(&self) -> Option<Members<'a>> {
        self.members.get(ANNOTATIONS).and_then(Node::open)
    }

    /// What waits for the version that the object is converted to, with its annotation removed.
    fn take_rest(&mut self, to: Version) -> Option<Rest<'a>> {
        let mut annotations = self.annotations()?;
        let mut rest = read_rest(annotations.get(annotation_of(to))?, to)?;
        let before = rest.take(ANNOTATION);
        match before {
            Some(before) => annotations.set(annotation_of(to), before),
            None => drop(annotations.take(annotation_of(to))),
        }
        if !annotations.is_empty() {
            self.members.set(ANNOTATIONS, Node::Object(annotations));
        } else if let Some(empty) = rest.take(ANNOTATIONS) {
            self.members.set(ANNOTATIONS, empty);
        } else {
            self.members.take(ANNOTATIONS);
        }
        if rest.take(NO_METADATA).is_some() && self.members.is_empty() {
            self.given = false;
        }
        let mut part = |name| rest.take(name).map(Node::into_object).unwrap_or_default();
        Some(Rest { spec: part(SPEC), no_groups: part(NO_GROUPS) })
    }

    /// Keeps what the other version cannot say.
    fn put_rest(&mut self, from: Version, rest: Rest<'a>) {
        let name = annotation_of(from);
        let mut annotations = self.annotations().unwrap_or_default();
        // Somebody's own annotation of this name would be taken for ours on the way back.
        let mistaken = annotations.get(name).is_some_and(|a| read_rest(a, from).is_some());
        let parts = [(SPEC, rest.spec), (NO_GROUPS, rest.no_groups)].into_iter().filter(|(_, part)| !part.is_empty());
        let mut text = Members::default();
        for (name, part) in parts {
            text.set(name, Node::Object(part));
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
        if !self.given {
            text.set(NO_METADATA, Node::Object(Members::default()));
            self.given = true;
        }
        annotations.set(name, Node::Text(Cow::Owned(text.to_raw().get().to_owned())));
        self.members.set(ANNOTATIONS, Node::Object(annotations));
    }

    fn back_into(self, object: &mut Members<'a>) {
        if self.given {
            object.set("metadata", Node::Object(self.members));
        } else {
            object.take("metadata");
        }
    }
}

/// The text of our annotation, opened; `None` if it is not one that [`Metadata::put_rest`] wrote for what only `version`
/// says.
fn read_rest<'a>(annotation: &Node<'a>, version: Version) -> Option<Members<'a>> {
    let text = annotation.text()?;
    if !text.starts_with('{') {
        return None;
    }
    let raw = Node::Owned(RawValue::from_string(text.into_owned()).ok()?);
    let rest = raw.open()?;
    let known = |name: &str| [SPEC, NO_GROUPS, ANNOTATIONS, ANNOTATION, NO_METADATA].contains(&name);
    if !rest.names().all(known) {
        return None;
    }
    let part = |part: &str, fits: fn(&str, Node<'_>, Version) -> bool| {
        let fits = |members: Members<'_>| members.into_iter().all(|(name, value)| fits(&name, value, version));
        rest.get(part).map(|part| part.open().is_some_and(|m| !m.is_empty() && fits(m)))
    };
    let ours = match (part(SPEC, is_rest), part(NO_GROUPS, is_no_group)) {
        // Then it only keeps one that would be mistaken for ours.
        (None, None) => rest.get(ANNOTATION).is_some_and(|before| read_rest(before, version).is_some()),
        (spec, no_groups) => spec != Some(false) && no_groups != Some(false),
    };
    ours.then_some(rest)
}

/// Whether [`move_fields`] leaves such a field of a spec in `version`. What both versions say is never in it: a policy is
/// what its spec says, and nobody hides an exemption in an annotation.
fn is_rest(name: &str, value: Node<'_>, version: Version) -> bool {
    let is_group = MOVED.iter().any(|m| m.path[0] == name);
    match version {
        Version::V1alpha1 => is_group,
        Version::V1 if is_group => {
            let mut moved = Members::default();
            let (_, no_group) = flatten(value, 0, &[name], &mut moved);
            moved.is_empty() && no_group.is_none()
        }
        Version::V1 => MOVED.iter().any(|m| m.flat == name),
    }
}

/// Whether it stands where `version` has a group, and holds nothing but what is none.
fn is_no_group(name: &str, value: Node<'_>, version: Version) -> bool {
    let mut moved = Members::default();
    let is_group = version == Version::V1 && MOVED.iter().any(|m| m.path[0] == name);
    is_group && flatten(value, 0, &[name], &mut moved).0.is_none() && moved.is_empty()
}
