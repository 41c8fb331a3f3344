//! Conversion of many objects to a target. Each one is converted, is left as it is, or fails on its own.

use std::{collections::BTreeMap, fmt, str::FromStr};

use roster_engine::model::{
    Interrupt, Interrupted, ObjectKey, Text,
    installed::POLICY_KIND,
    json::raw::{JsonMembers, object_key},
    slice_version::{self, SliceVersion},
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    endpoints::{self, SliceSource},
    losses::{Losses, LostField},
    slices,
};
use crate::policy::{self, PolicyVersion};

/// The target of a conversion. Objects that it does not apply to stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionTarget {
    /// `EndpointSlice`s of this version.
    Slice(SliceVersion),
    /// `EndpointSlice`s become `Endpoints`, one for each Service.
    Endpoints,
    /// `Endpoints` become `EndpointSlice`s of v1.
    EndpointSlice,
    /// `EndpointPolicy` objects of this version.
    Policy(PolicyVersion),
}

impl ConversionTarget {
    /// All targets, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::EndpointSlice,
        Self::Endpoints,
        Self::Slice(SliceVersion::V1),
        Self::Slice(SliceVersion::V1beta1),
        Self::Policy(PolicyVersion::V1),
        Self::Policy(PolicyVersion::V1alpha1),
    ];

    /// The name: a kind, or a group and a version.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slice(version) => version.api_version(),
            Self::Endpoints => "Endpoints",
            Self::EndpointSlice => "EndpointSlice",
            Self::Policy(version) => version.api_version(),
        }
    }
}

impl fmt::Display for ConversionTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ConversionTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|t| t.as_str() == text).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|t| t.as_str()).collect();
            format!("expected {}", all.join(", "))
        })
    }
}

/// Longest text of an object that is converted: it takes many times the text in memory. An API server stores 1.5 MiB.
pub const MAX_TEXT: usize = 4 << 20;

/// The result of a conversion.
#[derive(Debug, Default, Serialize)]
pub struct Conversion {
    /// The objects, in the order of the input. Endpoints made from slices come last, by namespace and name.
    pub items: Vec<Box<RawValue>>,
    /// The fields that were lost.
    pub lost: Vec<LostField>,
    /// Objects that could not be converted; they are not among the items.
    pub failed: Vec<ConversionFailure>,
}

/// An object that could not be converted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConversionFailure {
    /// Its index in the input, from 0.
    pub index: usize,
    /// The object, as far as its name can be read.
    pub object: ObjectKey,
    /// Why.
    pub why: String,
}

/// Converts objects to `to`. Objects that the target does not apply to stay as they are.
pub fn convert_objects(objects: &[&RawValue], to: ConversionTarget) -> Conversion {
    convert_each(objects, to, Interrupt::NEVER)
}

/// The same, unless it is interrupted.
pub fn convert_objects_until(
    objects: &[&RawValue],
    to: ConversionTarget,
    interrupt: Interrupt<'_>,
) -> Result<Conversion, Interrupted> {
    let conversion = convert_each(objects, to, interrupt);
    interrupt.check().map(|()| conversion)
}

/// Converts objects until it is interrupted.
fn convert_each(objects: &[&RawValue], to: ConversionTarget, interrupt: Interrupt<'_>) -> Conversion {
    let mut run = ConversionRun { to, out: Conversion::default(), services: BTreeMap::new() };
    for (index, raw) in objects.iter().enumerate() {
        if interrupt.is_requested() {
            break;
        }
        if raw.get().len() > MAX_TEXT {
            let why = format!("the object has more than {MAX_TEXT} bytes, which is more than an API server stores");
            run.out.failed.push(ConversionFailure { index, object: ObjectKey::default(), why });
            continue;
        }
        let key = object_key(raw);
        let mut losses = Losses::of(key.clone());
        match run.convert(raw, index, &key, &mut losses) {
            Ok(()) => run.out.lost.append(&mut losses.finish()),
            Err(why) => {
                run.out.failed.push(ConversionFailure { index, object: key, why: why.chars().take(400).collect() });
            }
        }
    }
    run.finish()
}

struct ConversionRun {
    to: ConversionTarget,
    out: Conversion,
    /// Slices to convert to Endpoints, by namespace and name of the Service.
    services: BTreeMap<(Text, Text), Vec<(usize, SliceSource)>>,
}

impl ConversionRun {
    fn convert(&mut self, raw: &RawValue, index: usize, key: &ObjectKey, losses: &mut Losses) -> Result<(), String> {
        let object = JsonMembers::read(raw).map_err(|_| "the value is not an object".to_owned())?;
        let api_version = object.text("apiVersion");
        let is_slice = key.kind == "EndpointSlice" && api_version.starts_with("discovery.k8s.io/");
        let is_endpoints = key.kind == "Endpoints" && matches!(api_version.as_ref(), "v1" | "");
        let is_policy = key.kind == POLICY_KIND && api_version.starts_with("roster.dev/");
        match self.to {
            _ if key.kind.is_empty() => return Err("the field `kind` is missing".to_owned()),
            ConversionTarget::Policy(version) if is_policy => {
                let converted = policy::convert(raw, version).map_err(|e| e.to_string())?;
                self.out.items.push(converted.into_owned());
            }
            ConversionTarget::Slice(version) if is_slice => {
                self.out
                    .items
                    .push(slice_version::convert(raw, version, &mut |field, why| losses.add(field, why))?.into_owned());
            }
            ConversionTarget::EndpointSlice if is_slice => {
                self.out.items.push(
                    slice_version::convert(raw, SliceVersion::V1, &mut |field, why| losses.add(field, why))?
                        .into_owned(),
                );
            }
            ConversionTarget::EndpointSlice if is_endpoints => {
                for slice in slices::from_endpoints(raw, losses)? {
                    self.out.items.push(serde_json::value::to_raw_value(&slice).map_err(|e| e.to_string())?);
                }
            }
            ConversionTarget::Endpoints if is_slice => {
                // Endpoints lose the same fields as v1: they are reported there.
                let v1 = slice_version::convert(raw, SliceVersion::V1, &mut |_, _| {})?;
                let source = SliceSource::read(&v1, Losses::of(key.clone()))?;
                self.services.entry(source.service()).or_default().push((index, source));
            }
            _ => self.out.items.push(raw.to_owned()),
        }
        Ok(())
    }

    fn finish(mut self) -> Conversion {
        for ((namespace, name), sources) in self.services {
            let (indices, mut sources): (Vec<usize>, Vec<SliceSource>) = sources.into_iter().unzip();
            let made = endpoints::from_slices(&mut sources);
            match made.and_then(|e| serde_json::value::to_raw_value(&e).map_err(|e| e.to_string())) {
                Ok(made) => self.out.items.push(made),
                Err(why) => self.out.failed.push(ConversionFailure {
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
