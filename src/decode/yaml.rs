//! YAML, converted to JSON on the fly, so that the same reader serves both.
//!
//! Each token is written in its line of the YAML and, if there is room, in its column: positions in the JSON are positions
//! in the YAML, and error messages need not be translated.
//!
//! Scalars follow YAML 1.2 and `kubectl get -o yaml`: only `true` and `false` are booleans (`yes`, `on` and `y` are
//! strings), only JSON numbers are numbers, and quoted or `!!str` scalars are strings.

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Read},
};

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

use super::{
    error::{DecodeError, DecodeReason, YamlError, read_error},
    position::Position,
    source::Source,
    stream,
};
use crate::inventory::Inventory;

/// Most bytes that aliases add and that are recorded for them, all together. A few aliases can expand to terabytes, and
/// nested anchors record the same text many times.
const MAX_ALIASES: usize = 16 << 20;

/// Reads all objects of a YAML input.
pub(super) fn read(input: &mut impl Read, source: &Source<'_>, into: &mut Inventory) -> Result<(), DecodeError> {
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
    stream::read(YamlAsJson::new(&yaml), source, into)
}

/// Converts YAML to JSON with every token in its line. Several documents follow each other.
pub fn yaml_as_json(yaml: &str, name: &str) -> Result<String, DecodeError> {
    // Growing would need both the old and the new memory. What is reserved and not written is not taken.
    let mut json = String::with_capacity(3 * yaml.len());
    match YamlAsJson::new(yaml).read_to_string(&mut json) {
        Ok(_) => Ok(json),
        Err(e) => Err(read_error(e, Position::START, name)),
    }
}

/// A reader of YAML as JSON.
pub(super) struct YamlAsJson<'a> {
    parser: Parser<'a, StrInput<'a>>,
    json: Vec<u8>,
    /// How many bytes of `json` were read.
    read: usize,
    /// The position of the next byte of `json`.
    at: Position,
    /// The open collections.
    open: Vec<Open>,
    /// Anchors of nodes that are being written, with their JSON so far.
    recording: Vec<Recording>,
    anchors: HashMap<usize, Vec<u8>>,
    /// The bytes that aliases added, and that are recorded for them.
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
}

struct Recording {
    anchor: usize,
    /// The number of open collections around the node.
    depth: usize,
    json: Vec<u8>,
}

impl<'a> YamlAsJson<'a> {
    pub(super) fn new(yaml: &'a str) -> Self {
        Self {
            parser: Parser::new_from_str(yaml),
            json: Vec::new(),
            read: 0,
            at: Position::START,
            open: Vec::new(),
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
                // An empty document, as between two `---`.
                if self.open.is_empty() && is_null(&text, style, tag.as_deref()) {
                    return Ok(());
                }
                let json = if self.at_key() { Cow::Owned(quoted(&text)) } else { scalar(&text, style, tag.as_deref()) };
                if self.at_key() && text == "<<" && style == ScalarStyle::Plain {
                    return Err(error(at, "merge keys (<<) are not supported"));
                }
                self.before_node(anchor);
                self.token(at, json.as_bytes());
                self.after_node();
            }
            Event::Alias(anchor) => self.alias(anchor, at)?,
            Event::SequenceStart(_, anchor, _) => self.begin(at, anchor, b"[", Open::Sequence { first: true })?,
            Event::MappingStart(_, anchor, _) => self.begin(at, anchor, b"{", Open::Key { first: true })?,
            Event::SequenceEnd => self.end(at, b"]"),
            Event::MappingEnd => self.end(at, b"}"),
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

    fn begin(&mut self, at: Position, anchor: usize, bracket: &[u8], open: Open) -> Result<(), YamlError> {
        if self.at_key() {
            return Err(error(at, "a key must be a string"));
        }
        self.before_node(anchor);
        self.token(at, bracket);
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self, at: Position, bracket: &[u8]) {
        self.open.pop();
        self.token(at, bracket);
        self.after_node();
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Result<(), YamlError> {
        let Some(json) = self.anchors.get(&anchor).cloned() else {
            return Err(error(at, "an alias refers to a node that contains it"));
        };
        if self.at_key() && !json.starts_with(b"\"") {
            return Err(error(at, "a key must be a string"));
        }
        self.aliases += json.len();
        self.before_node(0);
        self.token(at, &json);
        self.after_node();
        Ok(())
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
            Some(Open::Value) | None => {}
        }
        if anchor != 0 {
            self.recording.push(Recording { anchor, depth: self.open.len(), json: Vec::new() });
        }
    }

    /// Ends the recording of a node, and writes the colon behind a key.
    fn after_node(&mut self) {
        let depth = self.open.len();
        while let Some(last) = self.recording.pop_if(|r| r.depth == depth) {
            self.anchors.insert(last.anchor, last.json);
        }
        match self.open.last_mut() {
            Some(open @ Open::Key { .. }) => {
                *open = Open::Value;
                self.write(b":");
            }
            Some(open @ Open::Value) => *open = Open::Key { first: false },
            Some(Open::Sequence { .. }) => {}
            // A line break separates documents.
            None => self.write(b"\n"),
        }
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
        self.aliases += json.len() * self.recording.len();
        for recording in &mut self.recording {
            recording.json.extend_from_slice(json);
        }
    }
}

impl Read for YamlAsJson<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.json.len() && !self.done {
            self.json.clear();
            self.read = 0;
            match self.parser.next_event() {
                None => self.done = true,
                Some(Ok((event, span))) => self.event(event, place(&span)).map_err(io::Error::other)?,
                Some(Err(e)) => {
                    let at = Position { line: e.marker().line(), column: e.marker().col() + 1 };
                    return Err(io::Error::other(error(at, &e.info())));
                }
            }
        }
        let count = buffer.len().min(self.json.len() - self.read);
        buffer[..count].copy_from_slice(&self.json[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

fn error(at: Position, message: &str) -> YamlError {
    YamlError { at, message: message.to_owned() }
}

fn place(span: &Span) -> Position {
    Position { line: span.start.line(), column: span.start.col() + 1 }
}

fn is_text(style: ScalarStyle, tag: Option<&Tag>) -> bool {
    style != ScalarStyle::Plain || tag.is_some_and(|t| t.core_suffix() == Some("str"))
}

fn is_null(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    !is_text(style, tag) && matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn scalar<'t>(text: &'t str, style: ScalarStyle, tag: Option<&Tag>) -> Cow<'t, str> {
    match text {
        _ if is_text(style, tag) => Cow::Owned(quoted(text)),
        _ if is_null(text, style, tag) => Cow::Borrowed("null"),
        "true" | "True" | "TRUE" => Cow::Borrowed("true"),
        "false" | "False" | "FALSE" => Cow::Borrowed("false"),
        _ if is_number(text) => Cow::Borrowed(text),
        _ => Cow::Owned(quoted(text)),
    }
}

/// Whether a scalar is a JSON number. A number out of range is a string, as in kubectl: a hash may look like `12e3456`.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && text.parse::<f64>().is_ok_and(f64::is_finite)
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok_and(|raw| raw.get() == text)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
