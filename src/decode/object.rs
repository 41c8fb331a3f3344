//! Reads one object, and tells what is wrong with it if it cannot be read.

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, de::DeserializeSeed};
use serde_json::value::RawValue;

use super::{
    budget::{Budget, Pool},
    error::{DecodeError, DecodeReason},
    kind::{Kind, TypeMeta},
    position::Position,
    value::{self, Flaw, Look},
};
use crate::model::json::pointer::Pointer;
use crate::{
    engine::reason::{Finding, Reason},
    inventory::{AnyObject, Interner, Inventory, check},
    model::{EndpointSlice, Endpoints, Labels, Node, ObjectKey, Pod, Service, Text, json::message::shortened, names},
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

/// What reading objects needs: what they share, and what they may take.
pub(super) struct Means<'a> {
    pub(super) interner: Interner<'a>,
    pub(super) budget: Budget<'a>,
    /// The size of the budget, for its error.
    pub(super) max_memory: usize,
}

/// Parses `text` as `meta` says and adds it to `into`, or a problem. Only text that is no JSON, and objects that
/// are too large, are errors.
pub(super) fn add(
    text: &str,
    meta: &TypeMeta,
    place: Place<'_>,
    means: &mut Means<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    let kind = meta.kind();
    if matches!(kind, Kind::List | Kind::Other) {
        return skip(text, meta, place, means, into);
    }
    let mut look = read(OfKind(kind), text, place, means)?;
    if kind == Kind::EndpointSliceBeta {
        add_topology(&mut look, text, place, means)?;
    }
    for flaw in look.flaws {
        into.problems.add(|| problem(flaw, text, &meta.kind, place));
    }
    match look.value {
        Some(object) => keep(object, text, place.pointer, &mut means.interner, into),
        None => lose(kind, text, into),
    }
    Ok(())
}

/// Notes whose object it is that cannot be read.
fn lose(kind: Kind, text: &str, into: &mut Inventory) {
    let named = named(text);
    let service = match kind {
        Kind::Service | Kind::Endpoints => plain(named.name),
        Kind::EndpointSlice | Kind::EndpointSliceBeta => {
            let labels: Labels = named.labels.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
            labels.get(names::SERVICE_NAME).cloned().unwrap_or_default()
        }
        Kind::Pod | Kind::Node | Kind::List | Kind::Other => return,
    };
    if !service.is_empty() {
        into.cannot_read(plain(named.namespace), service);
    }
}

/// Adds an object that was read, and what an API server would not like about it.
pub(super) fn keep(
    mut object: AnyObject,
    text: &str,
    at: Pointer<'_>,
    interner: &mut Interner<'_>,
    into: &mut Inventory,
) {
    interner.share(&mut object);
    check(&object, text, &at, &mut into.problems);
    into.add(object);
}

/// A problem of an object that could not be read.
pub(super) fn invalid(text: &str, meta: &TypeMeta, place: Place<'_>, why: &str) -> Finding {
    let pointer = place.pointer.to_string();
    problem(Flaw { reason: Reason::InvalidObject, pointer, offset: 0, why: why.to_owned() }, text, &meta.kind, place)
}

/// Reads one value of an input.
pub(super) fn read<'de, S>(
    seed: S,
    text: &'de str,
    place: Place<'_>,
    means: &Means<'_>,
) -> Result<Look<S::Value>, DecodeError>
where
    S: DeserializeSeed<'de> + Copy,
{
    let look = value::read(seed, text, place.pointer, &means.budget);
    if means.budget.is_spent() {
        return Err((place.at)().error(place.input, DecodeReason::TooMuchMemory(means.max_memory)));
    }
    look.map_err(|broken| at(text, broken.offset, place).error(place.input, DecodeReason::Json(broken.why)))
}

/// A flaw as a problem of the object in `text`.
pub(super) fn problem(flaw: Flaw, text: &str, kind: &str, place: Place<'_>) -> Finding {
    let at = at(text, flaw.offset, place);
    let mut places = format!("{}:{}:{}", place.input, at.line, at.column);
    if place.document > 0 {
        places = format!("{places} (document {})", place.document + 1);
    }
    let key = ObjectKey { kind: shortened(kind).into(), ..name(text) };
    let pointer = Some(flaw.pointer).filter(|p| !p.is_empty());
    Finding { pointer, ..Finding::new(flaw.reason, key, format!("{places}: {}", flaw.why)) }
}

fn at(text: &str, offset: usize, place: Place<'_>) -> Position {
    (place.at)().after(text.as_bytes().get(..offset).unwrap_or_default())
}

/// Reads an object of this kind.
#[derive(Clone, Copy)]
pub(super) struct OfKind(pub(super) Kind);

impl<'de> DeserializeSeed<'de> for OfKind {
    type Value = AnyObject;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<AnyObject, D::Error> {
        match self.0 {
            Kind::Service => Service::deserialize(d).map(AnyObject::Service),
            Kind::Pod => Pod::deserialize(d).map(AnyObject::Pod),
            Kind::Node => Node::deserialize(d).map(AnyObject::Node),
            Kind::Endpoints => Endpoints::deserialize(d).map(AnyObject::Endpoints),
            Kind::EndpointSlice | Kind::EndpointSliceBeta => {
                EndpointSlice::deserialize(d).map(AnyObject::EndpointSlice)
            }
            Kind::List | Kind::Other => Err(serde::de::Error::custom("objects of this kind are not read")),
        }
    }
}

/// Checks that an object of no interest is JSON at all.
fn skip(
    text: &str,
    meta: &TypeMeta,
    place: Place<'_>,
    means: &Means<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    let mut look = read(PhantomData::<Skipped>, text, place, means)?;
    let why = match (look.value, meta.kind()) {
        (None, _) => look.flaws.pop().map(|f| f.why).unwrap_or_default(),
        (Some(_), _) if meta.kind.is_empty() => "it names no kind".to_owned(),
        (Some(Skipped { items: Some(_) }), Kind::List) => "items is not a list".to_owned(),
        (Some(_), Kind::List) => return Ok(()),
        (Some(_), _) => {
            into.ignore(full_kind(meta));
            return Ok(());
        }
    };
    into.problems.add(|| invalid(text, meta, place, &why));
    Ok(())
}

#[derive(Deserialize)]
struct Skipped {
    items: Option<serde::de::IgnoredAny>,
}

/// `Deployment.apps/v1`: the kind alone may be one that is read in another group.
fn full_kind(meta: &TypeMeta) -> Text {
    let TypeMeta { api_version, kind } = meta;
    let name = if api_version.is_empty() || api_version == "v1" {
        kind.to_string()
    } else {
        format!("{kind} ({api_version})")
    };
    name.chars().take(120).collect::<String>().into()
}

/// Spec E.1: `topology` becomes `zone` and `deprecatedTopology`. The flaws of `look` are told already.
fn add_topology(
    look: &mut Look<AnyObject>,
    text: &str,
    place: Place<'_>,
    means: &Means<'_>,
) -> Result<(), DecodeError> {
    let Some(AnyObject::EndpointSlice(slice)) = &mut look.value else { return Ok(()) };
    let beta = read(PhantomData::<Beta>, text, place, means)?;
    let news = beta.flaws.into_iter().filter(|f| !look.flaws.contains(f));
    look.flaws.extend(news.collect::<Vec<_>>());
    let Some(beta) = beta.value else {
        look.value = None;
        return Ok(());
    };
    for (endpoint, beta) in slice.endpoints.iter_mut().zip(beta.endpoints.unwrap_or_default()) {
        let Some(mut topology) = beta.topology else { continue };
        if let Some(zone) = topology.get(names::ZONE).cloned() {
            topology.remove(names::ZONE);
            endpoint.zone = Some(zone);
        }
        if endpoint.node_name.is_some() && topology.get(names::HOSTNAME) == endpoint.node_name.as_ref() {
            topology.remove(names::HOSTNAME);
        }
        endpoint.deprecated_topology = Some(Box::new(topology)).filter(|t| !t.is_empty());
    }
    Ok(())
}

#[derive(Deserialize)]
struct Beta {
    endpoints: Option<Vec<BetaEndpoint>>,
}

#[derive(Deserialize)]
struct BetaEndpoint {
    topology: Option<Labels>,
}

/// What an object is called, as text: what stands here may be anything.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedMeta<'a> {
    #[serde(borrow)]
    namespace: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
}

/// What an object is called, whatever else is wrong with it.
fn named(text: &str) -> NamedMeta<'_> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Named<'a> {
        #[serde(borrow)]
        metadata: NamedMeta<'a>,
    }
    // It keeps nothing that could be many.
    let pool = Pool::new(usize::MAX);
    let named = value::read(PhantomData::<Named<'_>>, text, Pointer::At(""), &Budget::new(&pool));
    named.ok().and_then(|look| look.value).unwrap_or_default().metadata
}

/// A JSON text; empty if it is something else.
fn plain(raw: Option<&RawValue>) -> Text {
    let text: Option<String> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    text.unwrap_or_default().into()
}

/// The name of an object, for a message.
fn name(text: &str) -> ObjectKey {
    let NamedMeta { namespace, name, .. } = named(text);
    let part = |raw| shortened(&plain(raw)).into();
    ObjectKey { kind: Text::default(), namespace: part(namespace), name: part(name) }
}
