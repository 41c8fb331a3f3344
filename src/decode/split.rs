//! Cuts a stream of JSON values into objects, without parsing them.
//!
//! Only the outermost level is read here, token by token: documents one after the other, the members of
//! a document, the elements of its `items`. What is inside a value is skipped ([`Scan`]) and parsed
//! later, by whichever thread gets it. All that surrounds the objects is checked here, so that together
//! nothing of the input goes unread.

use std::{collections::HashMap, io::Read};

use super::{
    error::{DecodeError, DecodeReason, read_error},
    input::fill,
    kind::TypeMeta,
    position::Position,
    scan::Scan,
};
use crate::model::json::message::message;

/// How much is read at once: large enough to make the hand-over cheap, small enough for the cache.
const BATCH: usize = 1 << 20;

/// Some objects and the text they stand in. Reused.
#[derive(Debug)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    end: usize,
    /// Where the text begins in the input.
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

/// One object: where it is, and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Which document of the input, from 0.
    pub(super) document: usize,
    /// Which element of the document's list; `None` if it is the document.
    pub(super) index: Option<usize>,
    /// What the list says that its items are; `None` if it has not told its kind yet.
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

/// See the module.
pub(super) struct Splitter<'n, R> {
    input: R,
    name: &'n str,
    batch: usize,
    max_object: usize,
    ended: bool,
    failed: Option<DecodeError>,
    /// What was read and belongs to the next batch.
    carry: Vec<u8>,
    /// Place of the first byte of `carry`.
    at: Position,

    // Offsets into the current batch. Whatever comes before `unit` is done with.
    pos: usize,
    unit: usize,
    /// Where the members begin that are not checked yet; `None` directly behind a list.
    members: Option<usize>,
    scan: Option<(Scan, usize)>,

    state: State,
    document: usize,
    /// Elements so far of the list that this document is; `None` if it has none yet.
    elements: Option<usize>,
    /// Whether the document is nothing but an array.
    bare: bool,
    list: Option<TypeMeta>,
    /// Kinds of lists that told them after their items.
    late: HashMap<usize, TypeMeta>,
}

impl<'n, R: Read> Splitter<'n, R> {
    /// `at` is the place of the first byte; `max_object` bytes are the most that is kept at once.
    pub(super) fn new(input: R, name: &'n str, at: Position, max_object: usize) -> Self {
        Self {
            input,
            name,
            // A little more than a small input needs, so that its end is seen at once.
            batch: BATCH.min(max_object.saturating_add(1)),
            max_object,
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

    /// Whether the input is read to its end.
    pub(super) fn ended(&self) -> bool {
        self.ended && self.failed.is_none() && self.carry.is_empty()
    }

    /// What the items of this document are, if its list told its kind after them.
    pub(super) fn late_kind(&self, document: usize) -> Option<&TypeMeta> {
        self.late.get(&document)
    }

    /// Fills `batch` with the next objects; `false` at the end. An error comes after all the objects
    /// before it.
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
        // What one huge object needed is not kept for ever.
        if batch.bytes.len() > 8 * self.batch.max(filled) {
            batch.bytes = Vec::new();
        }
        // Zeroed once, and then reused.
        if batch.bytes.len() < self.batch.max(filled + 1) {
            batch.bytes.resize(self.batch.max(filled + 1), 0);
        }
        batch.bytes[..filled].copy_from_slice(&self.carry);
        let result = loop {
            let (read, failed) = fill(&mut self.input, &mut batch.bytes[filled..]);
            filled += read;
            self.ended |= failed.is_none() && filled < batch.bytes.len();
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
            // One object fills all of it: twice the size, so that the work stays linear.
            let larger = (2 * batch.bytes.len()).min(self.max_object);
            batch.bytes.resize(larger.max(filled + 1), 0);
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

    /// Puts what is not done with aside, for the next batch.
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

    /// Reads tokens as far as they are complete. An error is an offset and what is wrong there.
    fn advance(&mut self, bytes: &[u8], items: &mut Vec<Item>) -> Result<(), (usize, String)> {
        loop {
            self.pos += bytes[self.pos..].iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count();
            // The text of a list's own members is kept until they are checked, that of a document until
            // it is known whether it is a list.
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
            let told_before = self.list.is_some();
            self.check_members(bytes, end, "")?;
            if let (false, Some(list)) = (told_before, &self.list) {
                self.late.insert(self.document, list.clone());
            }
        }
        self.members = None;
        self.document += 1;
        Ok(self.step(State::Document))
    }

    /// Parses the members of a list's object from `members` to `end`, and takes its kind from them.
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

    /// Where the value at `pos` ends, if its end was read.
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
