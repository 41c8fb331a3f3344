//! The decoder: reads the output of `kubectl get … -o json|yaml`: single objects, lists, several documents, mixed kinds.
//!
//! ```text
//! input ─ gunzip ─► JSON ──────────► split ─► batches ─► threads: kind, parse, share ─► Inventory
//!                   YAML ─ as JSON ──┘ (stream.rs has the lock)   └► Finding, for an invalid object
//! ```
//!
//! [`request`] reads the bodies of requests, with the same reader for each object.
//!
//! Kinds: `v1` Service, Pod, Node, Endpoints; `discovery.k8s.io/v1` and `v1beta1` EndpointSlice; and lists of
//! these. Objects of other kinds are counted. The decoder opens neither files nor sockets.

mod budget;
mod custom_kinds;
mod documents;
mod error;
mod fill;
mod input;
mod kind;
mod memory_account;
mod object;
mod position;
pub mod request;
mod scan;
mod source;
mod split;
mod stream;
mod strict;
#[cfg(test)]
mod tests;
mod utf16;
mod value;
mod yaml;

use std::io::Read;

pub use documents::{Document, documents, objects, policies, readable_documents, readable_text, text};
pub use error::{DecodeError, DecodeReason};
pub use memory_account::MemoryAccount;
pub use source::{InputFormat, Source};
pub use yaml::{BrokenDocument, yaml_as_json};

use crate::inventory::Inventory;
use input::BYTE_ORDER_MARK;

/// Reads all objects of a text without a byte order mark into `into`, as [`read`] does. The limits of its length do not apply.
pub fn read_text(text: &str, source: &Source<'_>, into: &mut Inventory) -> Result<(), DecodeError> {
    if input::is_json(text.as_bytes(), source.format) {
        return stream::read(text.as_bytes(), source, into);
    }
    stream::read(yaml::YamlAsJson::new(text), source, into)
}

/// Reads all objects of `input` into `into`.
///
/// An object that cannot be read becomes a finding; the others are read nevertheless. An error means that the input ends
/// early or is not well-formed: the objects before it stay.
pub fn read(input: impl Read + Send, source: &Source<'_>, into: &mut Inventory) -> Result<(), DecodeError> {
    let input = input::open(input, source.max_bytes);
    let (start, mut input) = input::peek_text(input, source)?;
    if !input::is_json(&start, source.format) {
        return yaml::read(&mut input, source, into);
    }
    if start.starts_with(BYTE_ORDER_MARK) {
        // The mark is not JSON, but harmless. The bytes are buffered: this cannot fail.
        let _ = fill::fill(&mut input, &mut [0; BYTE_ORDER_MARK.len()]);
    }
    stream::read(input, source, into)
}
