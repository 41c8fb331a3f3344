//! Parses one object, and finds out what is wrong with it if it cannot be parsed.

use std::fmt;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::error::Category;

use super::{
    error::{DecodeError, DecodeReason},
    kind::{Kind, TypeMeta},
    position::{Position, message},
    strict::{Strict, from_str},
};
use crate::{
    inventory::{Interner, Inventory, Object, check},
    model::{EndpointSlice, Labels, ObjectKey, Text, names},
    reason::{Problem, Reason},
};

/// Where an object stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// Name of the input.
    pub(super) input: &'a str,
    /// Tells where its text begins.
    pub(super) at: &'a dyn Fn() -> Position,
    /// Which document, from 0.
    pub(super) document: usize,
    /// Where it is within the document.
    pub(super) pointer: Pointer<'a>,
}

/// JSON pointer to an object of a list, written only when it is asked for.
#[derive(Clone, Copy)]
pub(super) struct Pointer<'a> {
    /// Pointer to the list's object.
    pub(super) list: &'a str,
    /// `None` if the object is a document.
    pub(super) index: Option<usize>,
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.list)?;
        self.index.map_or(Ok(()), |i| write!(f, "/items/{i}"))
    }
}

/// Parses `text` as `meta` says and adds it to `into`, or a problem. Only text that is no JSON is an error.
pub(super) fn add(
    text: &str,
    meta: &TypeMeta,
    place: Place<'_>,
    interner: &mut Interner<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    let reader = Reader { text, meta, place };
    let object = match meta.kind() {
        Kind::Service => reader.parse(into)?.map(Object::Service),
        Kind::Pod => reader.parse(into)?.map(Object::Pod),
        Kind::Node => reader.parse(into)?.map(Object::Node),
        Kind::Endpoints => reader.parse(into)?.map(Object::Endpoints),
        Kind::EndpointSlice => reader.parse(into)?.map(Object::EndpointSlice),
        Kind::EndpointSliceBeta => reader.parse_beta(into)?.map(Object::EndpointSlice),
        Kind::List | Kind::Other => return reader.skip(into),
    };
    if let Some(mut object) = object {
        interner.share(&mut object);
        check(&object, &place.pointer, &mut into.problems);
        into.add(object);
    }
    Ok(())
}

/// A problem of an object that could not be read.
pub(super) fn invalid(text: &str, meta: &TypeMeta, place: Place<'_>, why: &str) -> Problem {
    Reader { text, meta, place }.problem(Reason::InvalidObject, (place.at)(), "", why)
}

struct Reader<'a> {
    text: &'a str,
    meta: &'a TypeMeta,
    place: Place<'a>,
}

impl Reader<'_> {
    fn parse<T: DeserializeOwned>(&self, into: &mut Inventory) -> Result<Option<T>, DecodeError> {
        match from_str(self.text) {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.classify() == Category::Data => Ok(self.parse_again(&error, into)),
            Err(error) => Err(self.no_json(&error)),
        }
    }

    fn no_json(&self, error: &serde_json::Error) -> DecodeError {
        (self.place.at)().of(error).error(self.place.input, DecodeReason::Json(message(error)))
    }

    /// Tells what is wrong with an object, and reads it all the same if some key is only there twice:
    /// Kubernetes takes the last one, and so does a tree of values.
    fn parse_again<T: DeserializeOwned>(&self, error: &serde_json::Error, into: &mut Inventory) -> Option<T> {
        let why = message(error);
        let duplicate = why.starts_with("duplicate field");
        into.problems.add(|| {
            // The first parse is the fast one, and knows no path.
            let mut text = serde_json::Deserializer::from_str(self.text);
            let again = serde_path_to_error::deserialize::<_, T>(Strict(&mut text)).err();
            let path = again.map(|e| pointer(e.path())).unwrap_or_default();
            let at = (self.place.at)().of(error);
            if duplicate {
                return self.problem(Reason::DuplicateKey, at, &path, &format!("{why}; the last one counts"));
            }
            self.problem(Reason::InvalidObject, at, &path, &why)
        });
        if !duplicate {
            return None;
        }
        let tree: serde_json::Value = serde_json::from_str(self.text).ok()?;
        serde_path_to_error::deserialize(Strict(tree))
            .map_err(|error| {
                let (path, why) = (pointer(error.path()), message(error.inner()));
                into.problems.add(|| self.problem(Reason::InvalidObject, (self.place.at)(), &path, &why));
            })
            .ok()
    }

    /// Checks that an object of no interest is JSON at all.
    fn skip(&self, into: &mut Inventory) -> Result<(), DecodeError> {
        let probe: Result<Skipped, _> = from_str(self.text);
        let why = match probe {
            Err(error) if error.classify() != Category::Data => return Err(self.no_json(&error)),
            Err(error) => message(&error),
            Ok(_) if self.meta.kind.is_empty() => "it names no kind".to_owned(),
            Ok(probe) if self.meta.kind() == Kind::List && probe.items.is_some() => "items is not a list".to_owned(),
            Ok(_) if self.meta.kind() == Kind::List => return Ok(()),
            Ok(_) => {
                into.ignore(self.full_kind());
                return Ok(());
            }
        };
        into.problems.add(|| self.problem(Reason::InvalidObject, (self.place.at)(), "", &why));
        Ok(())
    }

    /// `Deployment.apps/v1`: the kind alone may be one that is read in another group.
    fn full_kind(&self) -> Text {
        let TypeMeta { api_version, kind } = self.meta;
        let name = if api_version.is_empty() || api_version == "v1" {
            kind.to_string()
        } else {
            format!("{kind} ({api_version})")
        };
        name.chars().take(120).collect::<String>().into()
    }

    /// Spec E.1: `topology` becomes `zone` and `deprecatedTopology`.
    fn parse_beta(&self, into: &mut Inventory) -> Result<Option<EndpointSlice>, DecodeError> {
        let Some(mut slice) = self.parse::<EndpointSlice>(into)? else { return Ok(None) };
        let Some(beta) = self.parse::<Beta>(into)? else { return Ok(None) };
        for (endpoint, beta) in slice.endpoints.iter_mut().zip(beta.endpoints.unwrap_or_default()) {
            let Some(mut topology) = beta.topology else { continue };
            if let Some(zone) = topology.get(names::ZONE).cloned() {
                topology.remove(names::ZONE);
                endpoint.zone = Some(zone);
            }
            if endpoint.node_name.is_some() && topology.get(HOSTNAME) == endpoint.node_name.as_ref() {
                topology.remove(HOSTNAME);
            }
            endpoint.deprecated_topology = Some(Box::new(topology)).filter(|t| !t.is_empty());
        }
        Ok(Some(slice))
    }

    fn problem(&self, reason: Reason, at: Position, path: &str, why: &str) -> Problem {
        let Place { input, document, pointer, .. } = self.place;
        let mut places = format!("{input}:{}:{}", at.line, at.column);
        if document > 0 {
            places = format!("{places} (document {})", document + 1);
        }
        let named: Named = serde_json::from_str(self.text).unwrap_or_default();
        let key = ObjectKey { kind: shortened(&self.meta.kind), ..named.key() };
        let pointer = Some(format!("{pointer}{path}")).filter(|p| !p.is_empty());
        Problem { pointer, ..Problem::new(reason, key, format!("{places}: {why}")) }
    }
}

/// Label of a node, and up to v1beta1 of an endpoint.
const HOSTNAME: &str = "kubernetes.io/hostname";

#[derive(Deserialize)]
struct Skipped {
    items: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Beta {
    endpoints: Option<Vec<BetaEndpoint>>,
}

#[derive(Deserialize)]
struct BetaEndpoint {
    topology: Option<Labels>,
}

/// Just the name of an object, whatever else is wrong with it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    metadata: NamedMeta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedMeta {
    namespace: serde_json::Value,
    name: serde_json::Value,
}

impl Named {
    fn key(&self) -> ObjectKey {
        let text = |v: &serde_json::Value| shortened(v.as_str().unwrap_or_default());
        ObjectKey { kind: Text::default(), namespace: text(&self.metadata.namespace), name: text(&self.metadata.name) }
    }
}

fn shortened(text: &str) -> Text {
    match text.char_indices().nth(300) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

/// A path as a JSON pointer (RFC 6901).
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => {
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
            Segment::Map { key } => {
                pointer.push('/');
                pointer.push_str(&shortened(&key.replace('~', "~0").replace('/', "~1")));
            }
            // Which variant is meant is no part of the document.
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}
