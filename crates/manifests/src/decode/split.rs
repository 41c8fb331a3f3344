//! Splits a stream of JSON values into objects, without parsing them.
//!
//! The splitter reads only the outermost level, token by token: documents, the members of a document, and the elements of
//! its `items`. It skips the content of a value ([`Scan`]), which another thread parses later, and validates everything
//! around the objects. Together, the two validate the whole input.

use std::collections::HashMap;

use roster_engine::model::json::message::message;

use super::{
    any_reader::{AnyReader, fill},
    budget::MemoryPool,
    error::{DecodeError, DecodeReason, Position, read_error},
    kind::TypeMeta,
    scan::Scan,
};

/// How much is read at once: large enough for a cheap hand-over, small enough for the cache.
const BATCH: usize = 1 << 20;

/// How much is read first: most inputs are small, and a buffer is zeroed.
const FIRST: usize = 16 << 10;

/// Some objects and their text; reused.
#[derive(Debug)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    end: usize,
    /// The position of the text in the input.
    pub(super) at: Position,
    /// Its objects.
    pub(super) items: Vec<Item>,
}

impl Default for Batch {
    fn default() -> Self {
        Self { bytes: Vec::new(), end: 0, at: Position::START, items: Vec::new() }
    }
}

impl Batch {
    /// The text, up to the end of the last object.
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[..self.end]
    }
}

/// An object: its place, and its type as far as it is known.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The index of its document, from 0.
    pub(super) document: usize,
    /// Its index in the list of the document; `None` if it is the document.
    pub(super) index: Option<usize>,
    /// The type of its items according to the list; `None` if the type comes after the items.
    pub(super) list: Option<TypeMeta>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a document.
    Document,
    /// In an object, before a key.
    Key { first: bool },
    /// After a key.
    Colon { items: bool },
    /// After a colon.
    Value { items: bool },
    /// After a member of the object.
    Member,
    /// In the list, before an element.
    Item { first: bool },
    /// After an element of the list.
    Element,
}

/// Splits a stream of JSON values into objects.
pub(super) struct Splitter<'n> {
    input: AnyReader<'n>,
    name: &'n str,
    batch: usize,
    max_object: usize,
    memory: &'n MemoryPool<'n>,
    /// The length of a buffer up to which it is charged.
    charged: usize,
    ended: bool,
    failed: Option<DecodeError>,
    /// Bytes that belong to the next batch.
    carry: Vec<u8>,
    /// Position of the first byte of `carry`.
    at: Position,

    // Offsets into the current batch. Everything before `unit` is finished.
    pos: usize,
    unit: usize,
    /// Start of the members that are not validated yet; `None` directly after a list.
    members: Option<usize>,
    scan: Option<(Scan, usize)>,

    state: State,
    document: usize,
    /// Number of elements in the list of this document; `None` before the list.
    elements: Option<usize>,
    /// Whether the document is a bare array.
    bare: bool,
    list: Option<TypeMeta>,
    /// Types of items that follow the items of their list.
    late: HashMap<usize, TypeMeta>,
}

impl<'n> Splitter<'n> {
    /// `at` is the position of the first byte; at most `max_object` bytes are buffered, and charged to `memory`.
    pub(super) fn new(
        input: AnyReader<'n>,
        name: &'n str,
        at: Position,
        max_object: usize,
        memory: &'n MemoryPool<'n>,
    ) -> Self {
        Self {
            input,
            name,
            // A little more than a small input needs, so that its end is seen at once.
            batch: BATCH.min(max_object.saturating_add(1)),
            max_object,
            memory,
            charged: 2 * BATCH,
            ended: false,
            failed: None,
            carry: Vec::new(),
            at,
            pos: 0,
            unit: 0,
            members: None,
            scan: None,
            state: State::Document,
            document: 0,
            elements: None,
            bare: false,
            list: None,
            late: HashMap::new(),
        }
    }

    /// Whether the whole input was read.
    pub(super) fn ended(&self) -> bool {
        self.ended && self.failed.is_none() && self.carry.is_empty()
    }

    /// Whether the input has no more than what was read so far.
    pub(super) fn is_read(&self) -> bool {
        self.ended
    }

    /// The type of the items of a document, if it follows the items.
    pub(super) fn late_kind(&self, document: usize) -> Option<&TypeMeta> {
        self.late.get(&document)
    }

    /// Fills `batch` with the next objects; `false` at the end. The objects before an error come first.
    pub(super) fn next(&mut self, batch: &mut Batch) -> Result<bool, DecodeError> {
        batch.items.clear();
        batch.end = 0;
        if let Some(error) = self.failed.take() {
            self.ended = true;
            self.carry.clear();
            return Err(error);
        }
        if self.ended() {
            return Ok(false);
        }
        batch.at = self.at;
        let mut filled = self.carry.len();
        // The memory for one huge object is released.
        if batch.bytes.len() > 8 * self.batch.max(filled) {
            batch.bytes = Vec::new();
        }
        // Zeroed once, and then reused.
        let first = FIRST.min(self.batch).max(filled + 1);
        if batch.bytes.len() < first {
            batch.bytes.resize(first, 0);
        }
        batch.bytes[..filled].copy_from_slice(&self.carry);
        let result = loop {
            let (read, failed) = fill(&mut self.input, &mut batch.bytes[filled..]);
            filled += read;
            self.ended |= failed.is_none() && filled < batch.bytes.len();
            if !self.ended && failed.is_none() && batch.bytes.len() < self.batch {
                batch.bytes.resize((2 * batch.bytes.len()).min(self.batch), 0);
                continue;
            }
            if let Err((at, why)) = self.advance(&batch.bytes[..filled], &mut batch.items) {
                let place = self.at.after(&batch.bytes[..at]);
                break Err(place.error(self.name, DecodeReason::Json(why)));
            }
            if let Some(e) = failed {
                break Err(read_error(e, self.at.after(&batch.bytes[..filled]), self.name));
            }
            if self.ended {
                break self.check_end(&batch.bytes[..filled]);
            }
            if !batch.items.is_empty() || self.unit > 0 {
                break Ok(());
            }
            if filled >= self.max_object {
                break Err(self.at.error(self.name, DecodeReason::ObjectTooLarge(self.max_object)));
            }
            // One object fills the buffer. Doubling it keeps the work linear.
            let larger = (2 * batch.bytes.len()).min(self.max_object).max(filled + 1);
            if let Err(reason) = self.charge(larger) {
                break Err(self.at.error(self.name, reason));
            }
            batch.bytes.resize(larger, 0);
        };
        batch.end = batch.items.last().map_or(0, |i| i.end);
        match result {
            Ok(()) => self.keep(&batch.bytes[..filled]),
            Err(error) if batch.items.is_empty() => {
                self.ended = true;
                self.carry.clear();
                return Err(error);
            }
            Err(error) => self.failed = Some(error),
        }
        Ok(true)
    }

    /// Charges the buffers for an object of this length: one that is filled, one that is parsed, and what is carried from
    /// one to the other.
    fn charge(&mut self, length: usize) -> Result<(), DecodeReason> {
        if length > self.charged {
            self.memory.hold(3 * (length - self.charged))?;
            self.charged = length;
        }
        Ok(())
    }

    /// Keeps unfinished bytes for the next batch.
    fn keep(&mut self, bytes: &[u8]) {
        let done = if self.ended { bytes.len() } else { self.unit };
        self.carry.clear();
        self.carry.extend_from_slice(&bytes[done..]);
        self.at = self.at.after(&bytes[..done]);
        self.pos = self.pos.saturating_sub(done);
        self.unit = 0;
        self.members = self.members.map(|m| m.saturating_sub(done));
        if let Some((_, scanned)) = &mut self.scan {
            *scanned = scanned.saturating_sub(done);
        }
    }

    fn check_end(&self, bytes: &[u8]) -> Result<(), DecodeError> {
        let within = match self.state {
            State::Document => return Ok(()),
            State::Item { .. } | State::Element => "a list",
            _ => "an object",
        };
        let why = DecodeReason::Json(format!("the input ends within {within}"));
        Err(self.at.after(bytes).error(self.name, why))
    }

    /// Reads all complete tokens. An error is an offset and a message.
    fn advance(&mut self, bytes: &[u8], items: &mut Vec<Item>) -> Result<(), (usize, String)> {
        loop {
            self.pos += bytes[self.pos..].iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count();
            // The members of a list are kept until they are validated, and a document until it is known whether it is a
            // list.
            self.unit = self.members.unwrap_or(self.pos);
            let Some(&b) = bytes.get(self.pos) else { return Ok(()) };
            let complete = match self.state {
                State::Document => self.open_document(b)?,
                State::Key { first } => self.key(b, first, bytes, items)?,
                State::Colon { items } => {
                    self.expect(b, b':', "a colon")?;
                    self.step(State::Value { items })
                }
                State::Value { items: true } if b == b'[' => self.open_list(bytes)?,
                State::Value { .. } => self.value(b, bytes)?.is_some_and(|end| self.jump(end, State::Member)),
                State::Member => self.after_member(b, bytes, items)?,
                State::Item { first: true } | State::Element if b == b']' => self.close_list(),
                State::Item { .. } => match self.value(b, bytes)? {
                    None => false,
                    Some(end) => {
                        items.push(self.element(end));
                        self.jump(end, State::Element)
                    }
                },
                State::Element => {
                    self.expect(b, b',', "a comma or the end of the list")?;
                    self.step(State::Item { first: false })
                }
            };
            if !complete {
                return Ok(());
            }
        }
    }

    fn open_document(&mut self, b: u8) -> Result<bool, (usize, String)> {
        (self.elements, self.list, self.bare) = (None, None, b == b'[');
        match b {
            b'{' => {
                self.members = Some(self.pos);
                Ok(self.step(State::Key { first: true }))
            }
            b'[' => {
                self.list = Some(TypeMeta::default());
                self.elements = Some(0);
                Ok(self.step(State::Item { first: true }))
            }
            _ => Err((self.pos, "expected an object".to_owned())),
        }
    }

    fn key(&mut self, b: u8, first: bool, bytes: &[u8], items: &mut Vec<Item>) -> Result<bool, (usize, String)> {
        match b {
            b'}' if first => self.close_document(bytes, items),
            b'"' => Ok(string_end(bytes, self.pos).is_some_and(|end| {
                let is_items = &bytes[self.pos..end] == b"\"items\"";
                self.jump(end, State::Colon { items: is_items })
            })),
            _ => Err((self.pos, "expected a key in quotes".to_owned())),
        }
    }

    fn after_member(&mut self, b: u8, bytes: &[u8], items: &mut Vec<Item>) -> Result<bool, (usize, String)> {
        if b == b'}' {
            return self.close_document(bytes, items);
        }
        self.expect(b, b',', "a comma or the end of the object")?;
        self.members.get_or_insert(self.pos + 1);
        Ok(self.step(State::Key { first: false }))
    }

    fn open_list(&mut self, bytes: &[u8]) -> Result<bool, (usize, String)> {
        self.check_members(bytes, self.pos, "[]}")?;
        self.elements.get_or_insert(0);
        self.members = None;
        Ok(self.step(State::Item { first: true }))
    }

    fn close_list(&mut self) -> bool {
        if self.bare {
            self.document += 1;
        }
        self.step(if self.bare { State::Document } else { State::Member })
    }

    fn close_document(&mut self, bytes: &[u8], items: &mut Vec<Item>) -> Result<bool, (usize, String)> {
        let end = self.pos + 1;
        if self.elements.is_none() {
            let start = self.members.unwrap_or(self.pos);
            items.push(Item { start, end, document: self.document, index: None, list: None });
        } else if self.members.is_some() {
            let known_before = self.list.is_some();
            self.check_members(bytes, end, "")?;
            if let (false, Some(list)) = (known_before, &self.list) {
                self.late.insert(self.document, list.clone());
            }
        }
        self.members = None;
        self.document += 1;
        Ok(self.step(State::Document))
    }

    /// Validates the members of a list from `members` to `end`, and reads its type from them.
    fn check_members(&mut self, bytes: &[u8], end: usize, close: &str) -> Result<(), (usize, String)> {
        let Some(start) = self.members else { return Ok(()) };
        let open = if bytes[start] == b'{' { "" } else { "{" };
        let text = [open.as_bytes(), &bytes[start..end], close.as_bytes()].concat();
        let wrong = |e: &serde_json::Error| {
            let place = Position::START.of(e);
            let line = text.split(|b| *b == b'\n').take(place.line - 1).map(|l| l.len() + 1).sum::<usize>();
            (start + (line + place.column - 1).saturating_sub(open.len()), message(e))
        };
        serde_json::from_slice::<serde::de::IgnoredAny>(&text).map_err(|e| wrong(&e))?;
        let text = std::str::from_utf8(&text).map_err(|e| (start + e.valid_up_to(), "not UTF-8".to_owned()))?;
        let meta = TypeMeta::of(text, true);
        if !meta.kind.is_empty() {
            self.list = Some(meta.of_items());
        }
        Ok(())
    }

    /// The end of the value at `pos`, if it is in the buffer.
    fn value(&mut self, b: u8, bytes: &[u8]) -> Result<Option<usize>, (usize, String)> {
        match b {
            b'{' | b'[' => {
                let (mut scan, scanned) = self.scan.take().unwrap_or_else(|| (Scan::default(), self.pos));
                let end = scan.end(&bytes[scanned..]).map(|end| scanned + end);
                if end.is_none() {
                    self.scan = Some((scan, bytes.len()));
                }
                Ok(end)
            }
            b'"' => Ok(string_end(bytes, self.pos)),
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                let rest = &bytes[self.pos..];
                Ok(rest.iter().position(|b| b" \n\r\t,]}".contains(b)).map(|i| self.pos + i))
            }
            _ => Err((self.pos, "expected a value".to_owned())),
        }
    }

    fn element(&mut self, end: usize) -> Item {
        let index = self.elements.get_or_insert(0);
        let item = Item { start: self.pos, end, document: self.document, index: Some(*index), list: self.list.clone() };
        *index += 1;
        item
    }

    fn expect(&self, b: u8, want: u8, name: &str) -> Result<(), (usize, String)> {
        if b == want { Ok(()) } else { Err((self.pos, format!("expected {name}"))) }
    }

    fn step(&mut self, state: State) -> bool {
        self.jump(self.pos + 1, state)
    }

    fn jump(&mut self, to: usize, state: State) -> bool {
        self.pos = to;
        self.state = state;
        true
    }
}

/// Where the string that begins at `start` ends.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut pos = start + 1;
    loop {
        pos += memchr::memchr2(b'"', b'\\', bytes.get(pos..)?)?;
        if bytes[pos] == b'"' {
            return Some(pos + 1);
        }
        pos += 2;
    }
}
