//! Reads what `kubectl get … -o json|yaml` prints: single objects, lists, several documents, mixed kinds.

mod error;

use std::{io::Read, num::NonZeroUsize};

pub use error::{DecodeError, DecodeReason};

use crate::inventory::{Inventory, Object};

/// An input, and how to read it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Name for messages: a file name, `<stdin>`, `request body`.
    pub name: &'a str,
    /// What it is written in.
    pub format: Format,
    /// How many bytes it may have after decompression.
    pub max_bytes: Option<u64>,
    /// How many bytes one object (or, in YAML, the whole text) may have.
    pub max_object_bytes: usize,
    /// How many threads parse.
    pub threads: NonZeroUsize,
}

/// What an input is written in. Gzip is recognised under each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// JSON if it begins with `{` or `[`, else YAML.
    #[default]
    Auto,
    /// JSON, one value or several.
    Json,
    /// YAML, one document or several.
    Yaml,
}

impl<'a> Source<'a> {
    /// A file of any size, read on all cores.
    pub fn file(name: &'a str) -> Self {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { name, format: Format::Auto, max_bytes: None, max_object_bytes: 256 << 20, threads }
    }

    /// The body of a request: at most 64 MiB after decompression.
    pub fn body() -> Self {
        Self { max_bytes: Some(64 << 20), max_object_bytes: 64 << 20, ..Self::file("request body") }
    }
}

/// Reads all objects of `input` into `into`.
///
/// An object that cannot be read becomes a problem there; the others are read all the same. An error
/// means that the input ended early or cannot be followed any further: what came before stays.
pub fn read(input: impl Read + Send, source: &Source<'_>, into: &mut Inventory) -> Result<(), DecodeError> {
    // A first, plain version; the streaming one follows behind the same signature.
    for value in serde_json::Deserializer::from_reader(input).into_iter::<serde_json::Value>() {
        let value = value.map_err(|e| DecodeError {
            input: source.name.to_owned(),
            line: e.line(),
            column: e.column(),
            reason: DecodeReason::Json(e.to_string()),
        })?;
        add(value, into);
    }
    Ok(())
}

fn add(mut value: serde_json::Value, into: &mut Inventory) {
    if let Some(items) = value.get_mut("items").and_then(|i| i.as_array_mut()) {
        items.drain(..).for_each(|i| add(i, into));
        return;
    }
    let kind = value["kind"].as_str().unwrap_or_default().to_owned();
    let object = match kind.as_str() {
        "Service" => serde_json::from_value(value).ok().map(Object::Service),
        "Pod" => serde_json::from_value(value).ok().map(Object::Pod),
        "Node" => serde_json::from_value(value).ok().map(Object::Node),
        "Endpoints" => serde_json::from_value(value).ok().map(Object::Endpoints),
        "EndpointSlice" => serde_json::from_value(value).ok().map(Object::EndpointSlice),
        _ => None,
    };
    match object {
        Some(object) => into.add(object),
        None => into.ignore(kind.into()),
    }
}
