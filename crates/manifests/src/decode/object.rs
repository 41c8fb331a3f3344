//! Reads one object, or reports why it cannot be read.

use std::marker::PhantomData;

use roster_engine::model::json::pointer::Pointer;
use roster_engine::{
    model::{
        EndpointSlice, Endpoints, HeapSize, Labels, Node, NodePool, ObjectKey, Pod, Resource, ResourceScope, Service,
        Text,
        defaults::Defaults,
        json::{message::shortened, path::PathEnd, raw::has_uid},
        names,
    },
    reason::{Finding, Reason},
};
use roster_validation as validation;
use serde::{Deserialize, Deserializer, de::DeserializeSeed};
use serde_json::value::RawValue;

use super::{
    budget::{Budget, MemoryPool, Spent},
    custom_kinds::{may_have_pods, target_namespace},
    error::{DecodeError, DecodeReason, Position},
    kind::{InputKind, TypeMeta},
    second_pass::FieldFault,
    source::Source,
    unread_pods::unread_pods,
    value::{self, Reading},
};
use crate::inventory::{
    AnyObject, Findings, Interner, Inventory, Referrer, ServiceRoutes, Targets, check,
    workloads::{Autoscaler, UnreadObject, Workload},
};

/// The place of an object in its input.
#[derive(Clone, Copy)]
pub(super) struct ObjectPlace<'a> {
    /// Name of the input.
    pub(super) input: &'a str,
    /// Computes the position of its text.
    pub(super) at: &'a dyn Fn() -> Position,
    /// The index of its document, from 0.
    pub(super) document: usize,
    /// Its pointer within the document.
    pub(super) pointer: Pointer<'a>,
    /// What is filled in.
    pub(super) defaults: Defaults<'a>,
    /// Whether its document is YAML in block style, where a line `---` may be missing before another one.
    pub(super) is_block: bool,
    /// How many bytes were added to its text after the first one.
    pub(super) added: usize,
    /// Whether it is compared with what an API server stores.
    pub(super) finds_refused: bool,
}

impl<'a> ObjectPlace<'a> {
    /// The place of a value at a pointer. `at` computes the position of its text.
    pub(super) fn of(source: &Source<'a>, at: &'a dyn Fn() -> Position, pointer: Pointer<'a>) -> Self {
        let Source { name: input, defaults, finds_refused, .. } = *source;
        Self { input, at, document: 0, pointer, defaults, is_block: false, added: 0, finds_refused }
    }
}

/// What all objects of an input share: interned values, and the memory budget.
pub(super) struct DecodeContext<'a> {
    pub(super) interner: Interner<'a>,
    pub(super) budget: Budget<'a>,
}

impl<'a> DecodeContext<'a> {
    pub(super) fn new(targets: &'a Targets, budget: Budget<'a>) -> Self {
        Self { interner: Interner::new(targets), budget }
    }
}

/// Parses an object of type `meta` and adds it to `into`, or a finding about it. Only text that is not JSON and objects
/// that are too large are errors.
pub(super) fn add(
    text: &str,
    meta: &TypeMeta,
    place: ObjectPlace<'_>,
    context: &mut DecodeContext<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    let (kind, before) = (meta.kind(), context.budget.spent());
    if matches!(kind, InputKind::List | InputKind::Other) {
        let Some(workload) = custom_workload(text, meta, context) else {
            return skip(text, meta, place, context, into);
        };
        let DecodeContext { interner, budget } = context;
        let charge = ObjectCharge { before, budget };
        let kept = keep(AnyObject::Workload(workload), text, place.pointer, &place.defaults, charge, interner, into);
        return kept.map_err(|reason| (place.at)().error(place.input, reason));
    }
    let mut reading = read(KindSeed(kind), text, place, context)?;
    if kind == InputKind::EndpointSliceBeta {
        add_topology(&mut reading, text, place, context)?;
    }
    for fault in reading.faults {
        report(fault, text, &meta.kind, place, &context.budget, &mut into.problems)?;
    }
    note_refused(text, meta, place, into);
    let DecodeContext { interner, budget } = context;
    let kept = if let Some(object) = reading.value {
        let charge = ObjectCharge { before, budget };
        keep(object, text, place.pointer, &place.defaults, charge, interner, into)
    } else {
        let recorded = record_unreadable(meta, text, &place.defaults, into);
        budget.settle(before, || Some(recorded))
    };
    kept.map_err(|reason| (place.at)().error(place.input, reason))
}

/// Notes what an API server would not store of an object. One that has a uid was stored.
pub(super) fn note_refused(text: &str, meta: &TypeMeta, place: ObjectPlace<'_>, into: &mut Inventory) {
    /// It takes ten times as long as to read an object, and values take many times their text. `kubectl apply` cannot store larger
    /// objects, since the annotation with their text may have no more. Nobody writes longer lists by hand.
    const MAX_COMPARED: usize = 256 << 10;
    const MOST_COMPARED: usize = 4096;
    let index = match place.pointer {
        Pointer::Index(_, index) => index.max(place.document),
        _ => place.document,
    };
    if !place.finds_refused || index >= MOST_COMPARED || text.len() > MAX_COMPARED || has_uid(text) {
        return;
    }
    let Ok(object) = serde_json::from_str::<&RawValue>(text) else { return };
    let key = named_key(text, &meta.kind, &place.defaults);
    // The fields of a request say of which kind their objects are, not of which version.
    let api_version = match (meta.api_version.as_str(), meta.kind.as_str()) {
        ("", "EndpointSlice") => "discovery.k8s.io/v1",
        ("", _) => "v1",
        (version, _) => version,
    };
    for finding in validation::refusals_as(object, &key, api_version, &meta.kind) {
        let at = |pointer| Some(format!("{}{pointer}", place.pointer));
        into.refused.push(Finding { pointer: finding.pointer.map_or_else(|| at(String::new()), at), ..finding });
    }
}

/// Adds the finding about a fault of the object in `text`.
pub(super) fn report(
    fault: FieldFault,
    text: &str,
    kind: &str,
    place: ObjectPlace<'_>,
    budget: &Budget<'_>,
    into: &mut Findings,
) -> Result<(), DecodeError> {
    // It names keys, which may have any length. There are few of them, and a short one is not worth counting.
    let kept = budget.keep(fault.pointer.len().saturating_sub(1 << 10));
    kept.map_err(|reason| (place.at)().error(place.input, reason))?;
    into.add(fault.reason.severity(), || problem(fault, text, kind, place));
    Ok(())
}

/// Records an object that cannot be read, and its Service. Returns the memory that the record takes.
pub(super) fn record_unreadable(meta: &TypeMeta, text: &str, defaults: &Defaults<'_>, into: &mut Inventory) -> usize {
    let of_object = record_unread(meta, text, defaults, into).unwrap_or_default();
    let named = named(text);
    let service = match meta.kind() {
        InputKind::Service | InputKind::Endpoints => plain(named.name),
        InputKind::EndpointSlice | InputKind::EndpointSliceBeta => {
            let labels: Labels = named.labels.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
            labels.get(names::SERVICE_NAME).cloned().unwrap_or_default()
        }
        InputKind::Pod
        | InputKind::Node
        | InputKind::Workload(_)
        | InputKind::Autoscaler
        | InputKind::NodePool
        | InputKind::List
        | InputKind::Other => return of_object,
    };
    if service.is_empty() {
        return of_object;
    }
    let record = (placed(plain(named.namespace), defaults), service);
    // A node of the set is half full.
    let size = 2 * size_of_val(&record) + record.heap_size();
    into.cannot_read(record.0, record.1);
    of_object + size
}

/// Records that an object cannot be read, and what is known of its pods. Returns the memory that the record takes; `None` if
/// nothing asks whether it exists.
fn record_unread(meta: &TypeMeta, text: &str, defaults: &Defaults<'_>, into: &mut Inventory) -> Option<usize> {
    let pods = unread_pods(meta, text)?;
    let mut key = ObjectKey { kind: shortened(&meta.kind).into(), ..name(text) };
    key.namespace = placed(key.namespace, defaults);
    Some(into.unread.add(UnreadObject { key, pods }))
}

/// What was charged for an object: everything since `before`.
#[derive(Clone, Copy)]
pub(super) struct ObjectCharge<'a> {
    pub(super) before: Spent,
    pub(super) budget: &'a Budget<'a>,
}

/// Fills in an object and adds it, with findings about fields that an API server would refuse. Every object that is read
/// comes through here.
pub(super) fn keep(
    mut object: AnyObject,
    text: &str,
    at: Pointer<'_>,
    defaults: &Defaults<'_>,
    charge: ObjectCharge<'_>,
    interner: &mut Interner<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeReason> {
    object.fill_in(defaults, &mut into.assumed);
    object.note_hook(|| is_hook(text));
    interner.share(&mut object);
    charge.budget.settle(charge.before, || object.memory())?;
    check(&object, text, &at, &mut into.problems);
    into.add(object);
    Ok(())
}

/// Whether Helm runs the object as a hook: the annotation says when. An empty one names no moment.
fn is_hook(text: &str) -> bool {
    let when = PathEnd::of(text.as_bytes(), &["metadata", "annotations", names::HELM_HOOK]).text;
    when.is_some_and(|when| !when.trim().is_empty())
}

/// A finding about an object that cannot be read.
pub(super) fn invalid(text: &str, meta: &TypeMeta, place: ObjectPlace<'_>, why: &str) -> Finding {
    let pointer = place.pointer.to_string();
    problem(
        FieldFault { reason: Reason::InvalidObject, pointer, offset: 0, why: why.to_owned() },
        text,
        &meta.kind,
        place,
    )
}

/// Reads a value of an input.
pub(super) fn read<'de, S>(
    seed: S,
    text: &'de str,
    place: ObjectPlace<'_>,
    context: &DecodeContext<'_>,
) -> Result<Reading<S::Value>, DecodeError>
where
    S: DeserializeSeed<'de> + Copy,
{
    let reading = value::read(seed, text, place.pointer, &context.budget);
    if let Some(reason) = context.budget.refusal() {
        return Err((place.at)().error(place.input, reason));
    }
    reading.map_err(|broken| at(text, broken.offset, place).error(place.input, DecodeReason::Json(broken.why)))
}

/// The finding about a fault of the object in `text`.
pub(super) fn problem(fault: FieldFault, text: &str, kind: &str, place: ObjectPlace<'_>) -> Finding {
    let at = at(text, fault.offset, place);
    let mut places = format!("{}:{}:{}", place.input, at.line, at.column);
    if place.document > 0 {
        places = format!("{places} (document {})", place.document + 1);
    }
    let key = named_key(text, kind, &place.defaults);
    let pointer = Some(fault.pointer).filter(|p| !p.is_empty());
    Finding { pointer, ..Finding::new(fault.reason, key, format!("{places}: {}", fault.why)) }
}

/// The key of an object in a finding.
fn named_key(text: &str, kind: &str, defaults: &Defaults<'_>) -> ObjectKey {
    let mut key = ObjectKey { kind: shortened(kind).into(), ..name(text) };
    // An object of the whole cluster has no namespace.
    if Resource::of("", kind).is_some_and(|r| r.scope() == ResourceScope::Namespaced) {
        key.namespace = placed(key.namespace, defaults);
    }
    key
}

fn at(text: &str, offset: usize, place: ObjectPlace<'_>) -> Position {
    // What was added has no line of its own.
    (place.at)().after(text.as_bytes().get(place.added..offset).unwrap_or_default())
}

/// A seed that reads an object of a kind.
#[derive(Clone, Copy)]
pub(super) struct KindSeed(pub(super) InputKind);

impl<'de> DeserializeSeed<'de> for KindSeed {
    type Value = AnyObject;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<AnyObject, D::Error> {
        match self.0 {
            InputKind::Service => Service::deserialize(d).map(AnyObject::Service),
            InputKind::Pod => Pod::deserialize(d).map(AnyObject::Pod),
            InputKind::Node => Node::deserialize(d).map(AnyObject::Node),
            InputKind::Endpoints => Endpoints::deserialize(d).map(AnyObject::Endpoints),
            InputKind::EndpointSlice | InputKind::EndpointSliceBeta => {
                EndpointSlice::deserialize(d).map(AnyObject::EndpointSlice)
            }
            InputKind::Workload(resource) => Workload::read(resource, d).map(Box::new).map(AnyObject::Workload),
            InputKind::Autoscaler => Autoscaler::deserialize(d).map(AnyObject::Autoscaler),
            InputKind::NodePool => NodePool::deserialize(d).map(AnyObject::NodePool),
            InputKind::List | InputKind::Other => Err(serde::de::Error::custom("objects of this kind are not read")),
        }
    }
}

/// A custom resource that has a pod template where a Deployment has it, and can be read. Nothing is known of its other
/// fields, so that one that cannot be read is a kind like others.
fn custom_workload(text: &str, meta: &TypeMeta, context: &DecodeContext<'_>) -> Option<Box<Workload>> {
    let may_be_one = meta.kind() == InputKind::Other && meta.is_custom();
    let template = ["spec", "template", "spec", "containers"];
    if !may_be_one || PathEnd::of(text.as_bytes(), &template).steps < template.len() {
        return None;
    }
    let reading = value::read(CustomWorkloadSeed, text, Pointer::At(""), &context.budget).ok()?;
    let mut workload = reading.value?;
    workload.set_type(&meta.api_version, &meta.kind);
    Some(Box::new(workload))
}

/// A seed that reads a custom resource with a pod template.
#[derive(Clone, Copy)]
struct CustomWorkloadSeed;

impl<'de> DeserializeSeed<'de> for CustomWorkloadSeed {
    type Value = Workload;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Workload, D::Error> {
        Workload::read_custom(d)
    }
}

/// Checks that an object of another kind is valid JSON.
fn skip(
    text: &str,
    meta: &TypeMeta,
    place: ObjectPlace<'_>,
    context: &DecodeContext<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    let before = context.budget.spent();
    let mut reading = read(PhantomData::<SkippedObject>, text, place, context)?;
    let settled = context.budget.settle(before, || Some(0));
    settled.map_err(|reason| (place.at)().error(place.input, reason))?;
    let why = match (reading.value, meta.kind()) {
        (None, _) => reading.faults.pop().map(|f| f.why).unwrap_or_default(),
        (Some(_), _) if meta.kind.is_empty() => {
            let kept = context.budget.keep(record_unread(meta, text, &place.defaults, into).unwrap_or_default());
            kept.map_err(|reason| (place.at)().error(place.input, reason))?;
            TypeMeta::why_without_kind(text).to_owned()
        }
        (Some(SkippedObject { items: Some(_) }), InputKind::List) => "items is not a list".to_owned(),
        (Some(_), InputKind::List) => return Ok(()),
        (Some(_), _) => {
            if !ServiceRoutes::reads(meta.group(), &meta.kind) {
                into.ignore(full_kind(meta));
            }
            let kept = context.budget.keep(record_routes(text, meta, &place.defaults, into));
            kept.map_err(|reason| (place.at)().error(place.input, reason))?;
            let unread = (!meta.is_custom()).then(|| record_unread(meta, text, &place.defaults, into)).flatten();
            if let Some(size) = unread {
                let kept = context.budget.keep(size);
                kept.map_err(|reason| (place.at)().error(place.input, reason))?;
            } else if may_have_pods(meta.group(), &meta.kind) {
                let size = record_custom_resource(text, meta, &place.defaults, into);
                let kept = context.budget.keep(size);
                kept.map_err(|reason| (place.at)().error(place.input, reason))?;
            }
            return Ok(());
        }
    };
    into.problems.add(Reason::InvalidObject.severity(), || invalid(text, meta, place, &why));
    Ok(())
}

/// Records an object of which a controller may make pods. Returns the memory that the record takes. What has no name, as the
/// files of many programs, is in no cluster.
fn record_custom_resource(text: &str, meta: &TypeMeta, defaults: &Defaults<'_>, into: &mut Inventory) -> usize {
    let mut object = ObjectKey { kind: shortened(&meta.kind).into(), ..name(text) };
    if object.name.is_empty() && !text.contains("\"generateName\"") {
        return 0;
    }
    object.namespace = placed(object.namespace, defaults);
    let namespace = target_namespace(text).unwrap_or_else(|| object.namespace.clone());
    into.custom_resources.add(namespace, object)
}

/// Records which Services a route sends requests to. Returns the memory that the record takes.
fn record_routes(text: &str, meta: &TypeMeta, defaults: &Defaults<'_>, into: &mut Inventory) -> usize {
    if !ServiceRoutes::reads(meta.group(), &meta.kind) {
        return 0;
    }
    let ObjectKey { namespace, name, .. } = name(text);
    let namespace = placed(namespace, defaults);
    into.routes.add(Referrer { kind: &meta.kind, group: meta.group(), namespace: &namespace, text }, &name)
}

#[derive(Deserialize)]
struct SkippedObject {
    items: Option<serde::de::IgnoredAny>,
}

/// The kind with its `apiVersion`: another group may have a kind of the same name that is read.
fn full_kind(meta: &TypeMeta) -> Text {
    let TypeMeta { api_version, kind } = meta;
    let name = if api_version.is_empty() || api_version == "v1" {
        kind.to_string()
    } else {
        format!("{kind} ({api_version})")
    };
    name.chars().take(120).collect::<String>().into()
}

/// Converts `topology` to `zone` and `deprecatedTopology`. The faults of `reading` are reported already.
fn add_topology(
    reading: &mut Reading<AnyObject>,
    text: &str,
    place: ObjectPlace<'_>,
    context: &DecodeContext<'_>,
) -> Result<(), DecodeError> {
    let Some(AnyObject::EndpointSlice(slice)) = &mut reading.value else { return Ok(()) };
    let beta = read(PhantomData::<Beta>, text, place, context)?;
    let news = beta.faults.into_iter().filter(|f| !reading.faults.contains(f));
    reading.faults.extend(news.collect::<Vec<_>>());
    let Some(beta) = beta.value else {
        reading.value = None;
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

/// The name of an object, not parsed: the fields may have any type.
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

/// The name of an object that may be invalid otherwise.
fn named(text: &str) -> NamedMeta<'_> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Named<'a> {
        #[serde(borrow)]
        metadata: NamedMeta<'a>,
    }
    // The result is small: the budget does not matter.
    let pool = MemoryPool::new(usize::MAX);
    let named = value::read(PhantomData::<Named<'_>>, text, Pointer::At(""), &Budget::new(&pool));
    named.ok().and_then(|reading| reading.value).unwrap_or_default().metadata
}

/// The namespace, or what it is where an object does not name one.
fn placed(namespace: Text, defaults: &Defaults<'_>) -> Text {
    if namespace.is_empty() { defaults.namespace().unwrap_or_default().into() } else { namespace }
}

/// The content of a JSON string; empty for other values.
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
