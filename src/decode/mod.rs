//! Reads what `kubectl get … -o json|yaml` prints: single objects, lists, several documents, mixed kinds.
//!
//! ```text
//! input ─ gunzip ─► JSON ──────────► split ─► batches ─► threads: kind, parse, share ─► Inventory
//!                   YAML ─ as JSON ──┘ (stream.rs has the lock)   └► Finding, where one object is bad
//! ```
//!
//! [`request`] reads the body of a plan request, with the same reader for each object.
//!
//! Kinds: `v1` Service, Pod, Node, Endpoints; `discovery.k8s.io/v1` and `v1beta1` EndpointSlice; and lists of
//! these. Objects of other kinds are counted. Nothing here opens a file or a socket.

mod budget;
mod documents;
mod error;
mod input;
mod kind;
mod object;
mod position;
pub mod request;
mod scan;
mod split;
mod stream;
mod strict;
#[cfg(test)]
mod tests;
mod value;
mod yaml;

use std::{io::Read, num::NonZeroUsize};

pub use documents::{Document, documents, objects, policies, text};
pub use error::{DecodeError, DecodeReason};

use crate::inventory::Inventory;
use position::Position;

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
    /// How many objects there may be: a few bytes are enough for one, which then takes some hundred.
    pub max_objects: usize,
    /// How many bytes of memory lists and maps within the objects may take, all together.
    pub max_memory: usize,
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
        Self {
            name,
            format: Format::Auto,
            max_bytes: None,
            max_object_bytes: 256 << 20,
            max_objects: 20_000_000,
            max_memory: usize::MAX,
            threads,
        }
    }

    /// The body of a request: at most 64 MiB after decompression, and half a million objects.
    ///
    /// Of the 64 MiB, lists and maps may become 256 MiB: 4 bytes for each byte of text. What `kubectl` prints
    /// becomes less than half of its text, and the leanest pod that can be served (300 bytes) some 800 bytes. What
    /// elements refer to is not counted, and may be more: an endpoint `{"targetRef":{},"hints":{}}` takes 136 bytes
    /// that count, and 230 that do not. So the worst body takes 700 MiB beside its text (measured; the bound itself
    /// cuts what would become several GiB), and half a million of `{}` as pods take 260 MiB.
    pub fn body() -> Self {
        Self {
            max_bytes: Some(64 << 20),
            max_object_bytes: 64 << 20,
            max_objects: 500_000,
            max_memory: 256 << 20,
            ..Self::file("request body")
        }
    }
}

/// Reads all objects of `input` into `into`.
///
/// An object that cannot be read becomes a problem there; the others are read all the same. An error
/// means that the input ended early or cannot be followed any further: what came before stays.
pub fn read(input: impl Read + Send, source: &Source<'_>, into: &mut Inventory) -> Result<(), DecodeError> {
    let input = input::open(input, source.max_bytes);
    let (start, mut input) = input::peek(input, 512);
    if !is_json(&start, source.format) {
        return yaml::read(&mut input, source, into);
    }
    if start.starts_with(BYTE_ORDER_MARK) {
        // No JSON, but harmless. These bytes were read before: this cannot fail.
        let _ = input::fill(&mut input, &mut [0; BYTE_ORDER_MARK.len()]);
    }
    stream::read(input, source, into)
}

/// `yaml` as JSON, every token in its line; several documents follow each other.
pub fn yaml_as_json(yaml: &str, name: &str) -> Result<String, DecodeError> {
    let mut json = String::new();
    match yaml::AsJson::new(yaml).read_to_string(&mut json) {
        Ok(_) => Ok(json),
        Err(e) => Err(error::read_error(e, Position::START, name)),
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn is_json(start: &[u8], format: Format) -> bool {
    let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start();
    match format {
        Format::Json => true,
        Format::Yaml => false,
        Format::Auto => matches!(text.first(), Some(b'{' | b'[')),
    }
}
