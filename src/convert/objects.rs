//! Many objects at once: each is converted, kept, or fails alone.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Discovery, Lost, Target, discovery,
    endpoints::{self, Source},
    lost::Losses,
    policy,
    raw::{Members, Node},
    slices,
};
use crate::{
    admission::policy::version::KIND,
    model::{ObjectKey, Text},
};

/// Longest text of an object that becomes another kind, which takes many times of that in memory. An API server stores
/// 1.5 MiB.
const MAX_TEXT: usize = 4 << 20;

/// What came of a conversion.
#[derive(Debug, Default, Serialize)]
pub struct Converted {
    /// The objects, in the order of the input; Endpoints that were made of slices come last, by namespace and name.
    pub items: Vec<Box<RawValue>>,
    /// What they lost.
    pub lost: Vec<Lost>,
    /// Objects that could not be converted: they are not among the items.
    pub failed: Vec<Failed>,
}

/// An object that could not be converted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// Its place in the input, from 0.
    pub index: usize,
    /// Which object, as far as that can be read.
    pub object: ObjectKey,
    /// Why.
    pub why: String,
}

/// Converts objects to `to`. Objects that it says nothing about stay as they are.
pub fn objects(objects: &[&RawValue], to: Target) -> Converted {
    let mut work = Work { to, out: Converted::default(), services: BTreeMap::new() };
    for (index, raw) in objects.iter().enumerate() {
        let key = key(raw);
        let mut losses = Losses::of(key.clone());
        match work.one(raw, index, &key, &mut losses) {
            Ok(()) => work.out.lost.append(&mut losses.finish()),
            Err(why) => work.out.failed.push(Failed { index, object: key, why: why.chars().take(400).collect() }),
        }
    }
    work.finish()
}

struct Work {
    to: Target,
    out: Converted,
    /// Slices that are to be Endpoints, by namespace and name of the Service.
    services: BTreeMap<(Text, Text), Vec<(usize, Source)>>,
}

impl Work {
    fn one(&mut self, raw: &RawValue, index: usize, key: &ObjectKey, losses: &mut Losses) -> Result<(), String> {
        let object = Members::read(raw).map_err(|_| "it is no object".to_owned())?;
        let api_version = object.text("apiVersion");
        let is_slice = key.kind == "EndpointSlice" && api_version.starts_with("discovery.k8s.io/");
        let is_endpoints = key.kind == "Endpoints" && matches!(api_version.as_ref(), "v1" | "");
        let is_policy = key.kind == KIND && api_version.starts_with("roster.dev/");
        let other_kind =
            (self.to == Target::EndpointSlice && is_endpoints) || (self.to == Target::Endpoints && is_slice);
        if other_kind && raw.get().len() > MAX_TEXT {
            return Err(format!("it has more than {MAX_TEXT} bytes, and an API server stores no such object"));
        }
        match self.to {
            _ if key.kind.is_empty() => return Err("it has no kind".to_owned()),
            Target::Policy(version) if is_policy => {
                let converted = policy::convert(raw, version).map_err(|e| e.to_string())?;
                self.out.items.push(converted.into_owned());
            }
            Target::Discovery(version) if is_slice => {
                self.out.items.push(discovery::convert(raw, version, losses)?.into_owned());
            }
            Target::EndpointSlice if is_slice => {
                self.out.items.push(discovery::convert(raw, Discovery::V1, losses)?.into_owned());
            }
            Target::EndpointSlice if is_endpoints => {
                for slice in slices::from_endpoints(raw, losses)? {
                    self.out.items.push(serde_json::value::to_raw_value(&slice).map_err(|e| e.to_string())?);
                }
            }
            Target::Endpoints if is_slice => {
                // What v1 cannot hold, Endpoints cannot hold either: it is told there.
                let v1 = discovery::convert(raw, Discovery::V1, &mut Losses::of(ObjectKey::default()))?;
                let source = Source::read(&v1, Losses::of(key.clone()))?;
                self.services.entry(source.service()).or_default().push((index, source));
            }
            _ => self.out.items.push(raw.to_owned()),
        }
        Ok(())
    }

    fn finish(mut self) -> Converted {
        for ((namespace, name), sources) in self.services {
            let (indices, mut sources): (Vec<usize>, Vec<Source>) = sources.into_iter().unzip();
            let made = endpoints::from_slices(&mut sources);
            match made.and_then(|e| serde_json::value::to_raw_value(&e).map_err(|e| e.to_string())) {
                Ok(made) => self.out.items.push(made),
                Err(why) => self.out.failed.push(Failed {
                    index: indices.first().copied().unwrap_or_default(),
                    object: ObjectKey::new("EndpointSlice", &namespace, &name),
                    why,
                }),
            }
            self.out.lost.extend(sources.into_iter().flat_map(|s| s.losses.finish()));
        }
        self.out
    }
}

/// Which object, as far as that can be read.
pub(crate) fn key(raw: &RawValue) -> ObjectKey {
    let object = Members::read(raw).unwrap_or_default();
    let metadata = object.get("metadata").and_then(Node::open).unwrap_or_default();
    let short = |text: std::borrow::Cow<'_, str>| text.chars().take(253).collect::<String>().into();
    let name = match metadata.text("name") {
        name if name.is_empty() => metadata.text("generateName"),
        name => name,
    };
    ObjectKey { kind: short(object.text("kind")), namespace: short(metadata.text("namespace")), name: short(name) }
}
