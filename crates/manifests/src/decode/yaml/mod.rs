//! YAML, converted to JSON on the fly, so that the same reader serves both.
//!
//! Each token is written in its line of the YAML and, if there is room, in its column: positions in the JSON are positions
//! in the YAML, and error messages need not be translated.
//!
//! Scalars, keys and merge keys mean what they mean to kubectl, which reads YAML 1.1.

mod broken;
mod events;
mod indentation;
mod merge;
mod scalar;

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Read},
};

use granit_parser::Event;
use memchr::memmem;
use roster_engine::model::Interrupt;

use super::{
    error::{DecodeError, DecodeReason, Position, YamlError, read_error},
    first_documents::first_documents,
    source::{Source, TextFormat},
    stream,
};
use crate::inventory::Inventory;
pub use broken::BrokenDocument;
pub(super) use broken::documents_as_json;
use events::YamlEvents;
use merge::{MappingKeys, WANTS_MAPPING, is_merge_key};
use scalar::{Scalar, quoted};

/// Most bytes that aliases and merge keys add and that are recorded for them, all together. A few aliases can expand to terabytes, and
/// nested anchors record the same text many times.
const MAX_ALIASES: usize = 16 << 20;

/// Reads all objects of a YAML input.
pub(super) fn read(
    input: &mut dyn Read,
    format: TextFormat,
    source: &Source<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    let limit = u64::try_from(source.max_object_bytes).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    if let Err(e) = input.take(limit.saturating_add(1)).read_to_end(&mut bytes) {
        return Err(read_error(e, Position::START.after(&bytes), source.name));
    }
    if bytes.len() > source.max_object_bytes {
        return Err(Position::START.error(source.name, DecodeReason::TooLarge(limit)));
    }
    let yaml = String::from_utf8(bytes).map_err(|e| {
        let at = Position::START.after(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        at.error(source.name, DecodeReason::Yaml("not UTF-8".to_owned()))
    })?;
    source.check_yaml(&yaml)?;
    stream::read(Box::new(YamlAsJson::new(&yaml, source.interrupt)), format, source, into)
        .map_err(|e| indentation::located(e, &yaml))
}

/// Converts YAML to JSON with every token in its line. Several documents follow each other. The limits of bytes do not apply.
pub fn yaml_as_json(yaml: &str, source: &Source<'_>) -> Result<String, DecodeError> {
    if let (_, Some(limit)) = first_documents(yaml, source) {
        return Err(limit);
    }
    let (json, error) = readable_yaml_as_json(yaml, source, &mut 0);
    error.map_or(Ok(json), Err)
}

/// The same, up to the first error. `aliases` counts what aliases and merge keys add, together with those of other texts.
fn readable_yaml_as_json(yaml: &str, source: &Source<'_>, aliases: &mut usize) -> (String, Option<DecodeError>) {
    // Growing would need both the old and the new memory. What is reserved and not written is not taken.
    let mut json = Vec::with_capacity(3 * yaml.len());
    let mut reader = YamlAsJson { aliases: *aliases, ..YamlAsJson::new(yaml, source.interrupt) };
    let read = reader.read_to_end(&mut json);
    *aliases = reader.aliases;
    // Reading ends between two events: no character is cut.
    let json = String::from_utf8(json).unwrap_or_default();
    (json, read.err().map(|e| indentation::located(read_error(e, Position::START, source.name), yaml)))
}

/// A reader of YAML as JSON.
pub(super) struct YamlAsJson<'a> {
    events: YamlEvents<'a>,
    json: Vec<u8>,
    /// How many bytes of `json` were read.
    read: usize,
    /// The position of the next byte of `json`.
    at: Position,
    /// The open collections.
    open: Vec<Open>,
    /// The keys of the open mappings, if the text may have merge keys.
    keys: Option<Vec<MappingKeys>>,
    /// Anchors of collections that are being written.
    recording: Vec<Recording>,
    anchors: HashMap<usize, Anchored>,
    /// The bytes that aliases and merge keys added, and that are recorded for them.
    aliases: usize,
    done: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Sequence {
        first: bool,
    },
    /// In a mapping, before a key.
    Key {
        first: bool,
    },
    /// In a mapping, before a value.
    Value,
    /// In a mapping, before what a merge key adds to it.
    Merge {
        first: bool,
        /// Where this is in the YAML.
        at: Position,
        /// Where its JSON begins, and the position of that.
        start: usize,
        from: Position,
    },
}

struct Recording {
    anchor: usize,
    /// The number of open collections around the node.
    depth: usize,
    /// Where its JSON begins.
    start: usize,
}

/// What an alias stands for.
#[derive(Clone)]
struct Anchored {
    json: Vec<u8>,
    /// Its text as a key, if it is a scalar that can be a key.
    key: Option<String>,
}

impl<'a> YamlAsJson<'a> {
    pub(super) fn new(yaml: &'a str, interrupt: Interrupt<'a>) -> Self {
        Self {
            events: YamlEvents::of(yaml, interrupt),
            json: Vec::new(),
            read: 0,
            at: Position::START,
            open: Vec::new(),
            // Few files have merge keys, and it takes time to keep all keys of the others.
            keys: memmem::find(yaml.as_bytes(), b"<<").map(|_| Vec::new()),
            recording: Vec::new(),
            anchors: HashMap::new(),
            aliases: 0,
            done: false,
        }
    }

    /// Writes the JSON of an event.
    fn event(&mut self, event: Event<'_>, at: Position) -> Result<(), YamlError> {
        match event {
            Event::StreamEnd => self.done = true,
            // The scope of an anchor is its document.
            Event::DocumentEnd => self.anchors.clear(),
            Event::Scalar(text, style, anchor, tag) => {
                if self.at_key() && self.keys.is_some() && is_merge_key(&text, style, tag.as_deref()) {
                    self.begin_merge(at);
                    return Ok(());
                }
                let wrong = |message: String| error(at, &message);
                let value = Scalar::resolve(&text, style, tag.as_deref()).map_err(wrong)?;
                // An empty document, as between two `---`.
                if self.open.is_empty() && value == Scalar::Null {
                    return Ok(());
                }
                if matches!(self.open.last(), Some(Open::Merge { .. })) {
                    return Err(error(at, WANTS_MAPPING));
                }
                if anchor != 0 {
                    self.record_scalar(anchor, &value);
                }
                if self.at_key() {
                    self.key(&value.key().map_err(wrong)?, at);
                } else {
                    self.before_node(0);
                    self.token(at, value.json().map_err(wrong)?.as_bytes());
                    self.after_node();
                }
            }
            Event::Alias(anchor) => self.alias(anchor, at)?,
            Event::SequenceStart(_, anchor, _) => self.begin(at, anchor, b"[", Open::Sequence { first: true })?,
            Event::MappingStart(_, anchor, _) => self.begin(at, anchor, b"{", Open::Key { first: true })?,
            Event::SequenceEnd => self.end(at, b"]")?,
            Event::MappingEnd => self.end(at, b"}")?,
            _ => {}
        }
        if self.aliases > MAX_ALIASES {
            return Err(error(at, "anchors and aliases expand to too much text"));
        }
        Ok(())
    }

    fn at_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Key { .. }))
    }

    /// Writes a key of a mapping.
    fn key(&mut self, key: &str, at: Position) {
        self.drop_merged(key);
        self.before_node(0);
        let start = self.json.len();
        self.token(at, quoted(key).as_bytes());
        self.note_member(key, start, false);
        self.after_node();
    }

    fn begin(&mut self, at: Position, anchor: usize, bracket: &[u8], open: Open) -> Result<(), YamlError> {
        if self.at_key() {
            return Err(error(at, "a key must be a string"));
        }
        self.before_node(anchor);
        self.token(at, bracket);
        self.open.push(open);
        if let (Some(keys), Open::Key { .. }) = (&mut self.keys, open) {
            keys.push(MappingKeys::default());
        }
        Ok(())
    }

    fn end(&mut self, at: Position, bracket: &[u8]) -> Result<(), YamlError> {
        if let (Some(Open::Key { .. }), Some(keys)) = (self.open.pop(), &mut self.keys) {
            keys.pop();
        }
        self.token(at, bracket);
        self.after_node();
        self.merge_if_complete()
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Result<(), YamlError> {
        let Some(Anchored { json, key }) = self.anchors.get(&anchor).cloned() else {
            return Err(error(at, "an alias refers to a node that contains it"));
        };
        self.aliases += json.len();
        if self.at_key() {
            let key = key.ok_or_else(|| error(at, "a key must be a string"))?;
            self.key(&key, at);
            return Ok(());
        }
        if matches!(self.open.last(), Some(Open::Merge { .. })) && !json.starts_with(b"{") {
            return Err(error(at, WANTS_MAPPING));
        }
        self.before_node(0);
        self.token(at, &json);
        self.after_node();
        self.merge_if_complete()
    }

    /// Writes the comma before a node, and starts to record it if it has an anchor.
    fn before_node(&mut self, anchor: usize) {
        match self.open.last_mut() {
            Some(Open::Sequence { first } | Open::Key { first }) => {
                if !std::mem::take(first) {
                    // Directly behind the previous node, so that it does not move this one.
                    self.write(b",");
                }
            }
            Some(Open::Value | Open::Merge { .. }) | None => {}
        }
        if anchor != 0 {
            self.recording.push(Recording { anchor, depth: self.open.len(), start: self.json.len() });
        }
    }

    /// Ends the recording of a node, and writes the colon behind a key.
    fn after_node(&mut self) {
        let depth = self.open.len();
        while let Some(last) = self.recording.pop_if(|r| r.depth == depth) {
            let json = &self.json[last.start..];
            self.aliases += json.len();
            // Otherwise, the event fails.
            if self.aliases <= MAX_ALIASES {
                self.anchors.insert(last.anchor, Anchored { json: compact(json), key: None });
            }
        }
        match self.open.last_mut() {
            Some(open @ Open::Key { .. }) => {
                *open = Open::Value;
                self.write(b":");
            }
            Some(open @ Open::Value) => {
                *open = Open::Key { first: false };
                self.end_member();
            }
            Some(Open::Sequence { .. } | Open::Merge { .. }) => {}
            // A line break separates documents.
            None => self.write(b"\n"),
        }
    }

    /// An alias of a scalar may be a key or a value, whichever the scalar itself is.
    fn record_scalar(&mut self, anchor: usize, value: &Scalar<'_>) {
        // What is not JSON cannot be a value, but a key.
        let json = value.json().unwrap_or_default().into_owned().into_bytes();
        let key = value.key().ok().map(Cow::into_owned);
        self.aliases += json.len();
        self.anchors.insert(anchor, Anchored { json, key });
    }

    /// Writes `json` at its position in the YAML, unless that position has passed.
    fn token(&mut self, at: Position, json: &[u8]) {
        if at.line > self.at.line {
            self.pad(b'\n', at.line - self.at.line);
        }
        if at.line == self.at.line && at.column > self.at.column {
            self.pad(b' ', at.column - self.at.column);
        }
        self.write(json);
    }

    fn pad(&mut self, with: u8, count: usize) {
        self.json.resize(self.json.len() + count, with);
        self.at = match with {
            b'\n' => Position { line: self.at.line + count, column: 1 },
            _ => Position { column: self.at.column + count, ..self.at },
        };
    }

    fn write(&mut self, json: &[u8]) {
        self.json.extend_from_slice(json);
        self.at = self.at.after(json);
    }

    /// Whether the JSON so far is needed again: to record it, or because a merge key may change it.
    fn is_held(&self) -> bool {
        !self.recording.is_empty() || self.keys.is_some() && !self.open.is_empty()
    }
}

impl Read for YamlAsJson<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.json.len() {
            self.json.clear();
            self.read = 0;
        }
        while (self.json.is_empty() || self.is_held()) && !self.done {
            match self.events.next()? {
                None => self.done = true,
                Some((event, at)) => self.event(event, at).map_err(io::Error::other)?,
            }
        }
        let count = buffer.len().min(self.json.len() - self.read);
        buffer[..count].copy_from_slice(&self.json[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

/// JSON without the white space between its tokens.
fn compact(json: &[u8]) -> Vec<u8> {
    let (mut in_string, mut escaped) = (false, false);
    let mut compact = Vec::with_capacity(json.len());
    for &byte in json {
        if in_string || !byte.is_ascii_whitespace() {
            compact.push(byte);
        }
        in_string ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
    }
    compact
}

fn error(at: Position, message: &str) -> YamlError {
    YamlError { at, message: message.to_owned() }
}
