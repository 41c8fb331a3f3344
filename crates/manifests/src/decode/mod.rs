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

mod any_reader;
mod budget;
mod byte_block;
mod changed_text;
mod comment_template;
mod custom_kinds;
mod document;
mod documents;
mod error;
mod field_places;
mod first_documents;
mod hidden_objects;
pub(crate) mod ignored_scalars;
mod input;
mod key_scan;
mod kind;
mod list_items;
mod object;
mod repeated_keys;
pub mod request;
pub(crate) mod scalar_scan;
mod scan;
mod second_pass;
mod single_keys;
mod source;
mod split;
mod stream;
mod strict;
#[cfg(test)]
mod tests;
mod unread_pods;
mod utf16;
mod value;
mod whole_text;
#[cfg(test)]
mod written_tests;
mod yaml;

use std::io::Read;

pub use budget::MemoryAccount;
pub use changed_text::read_changed;
pub(crate) use custom_kinds::may_have_pods;
pub use document::Document;
pub use documents::{documents, objects, policies, readable_documents, record_unread};
pub use error::{DecodeError, DecodeReason};
pub use source::{InputFormat, Source};
pub use strict::object;
pub use whole_text::{ReadableText, readable_text, readable_text_of, text};
pub use yaml::{BrokenDocument, yaml_as_json};

use crate::inventory::Inventory;
use input::{BYTE_ORDER_MARK, PeekedText};
use source::TextFormat;

/// Reads all objects of a text without a byte order mark into `into`, as [`read`] does. Of the limits of its length, only that of YAML applies.
pub fn read_text(text: &str, source: &Source<'_>, into: &mut Inventory) -> Result<(), DecodeError> {
    match input::format_of(text.as_bytes(), true, source) {
        format @ TextFormat::Json => stream::read(Box::new(text.as_bytes()), format, source, into),
        format => {
            source.check_yaml(text)?;
            stream::read(Box::new(yaml::YamlAsJson::new(text, source.interrupt)), format, source, into)
        }
    }
}

/// Reads all objects of `input` into `into`.
///
/// An object that cannot be read becomes a finding; the others are read nevertheless. An error means that the input ends
/// early or is not well-formed: the objects before it stay.
pub fn read(input: impl Read + Send, source: &Source<'_>, into: &mut Inventory) -> Result<(), DecodeError> {
    let input = input::open(input, source.max_bytes);
    let PeekedText { format, has_mark, mut reader } = input::peek_text(input, source)?;
    if format != TextFormat::Json {
        return yaml::read(&mut reader, format, source, into);
    }
    if has_mark {
        // The mark is not JSON, but harmless. The bytes are buffered: this cannot fail.
        let _ = any_reader::fill(&mut reader, &mut [0; BYTE_ORDER_MARK.len()]);
    }
    stream::read(reader, format, source, into)
}
