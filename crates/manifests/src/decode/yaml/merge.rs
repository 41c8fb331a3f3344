//! Merge keys: `<<: *defaults` puts the members of other mappings into this one.
//!
//! A merge key counts where it is written, as in kubectl: it replaces members before it, and members after it replace
//! what it added. Of a list of mappings, the first that has a key gives it its value.
//!
//! A member that is replaced is overwritten with spaces, so that the positions of the others stay.

use std::collections::{BTreeMap, HashMap};

use granit_parser::{ScalarStyle, Tag};
use roster_engine::model::json::raw::{JsonMembers, JsonNode};
use serde_json::value::RawValue;

use super::{
    Open, Position, YamlAsJson, YamlError, compact, error,
    scalar::{NAMESPACE, quoted},
};
use crate::decode::list_items::raw_list;

/// What is wrong with other values of a merge key.
pub(super) const WANTS_MAPPING: &str = "a merge key (<<) needs a mapping or a list of mappings";

/// Whether a key is a merge key: `<<` without quotes.
pub(super) fn is_merge_key(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    text == "<<"
        && match tag {
            None => style == ScalarStyle::Plain,
            Some(tag) => tag.suffix_in_namespace(NAMESPACE).is_some_and(|name| name == "merge"),
        }
}

/// The members of an open mapping.
#[derive(Default)]
pub(super) struct MappingKeys {
    /// The last member of each key, by where it begins.
    pub(super) last: HashMap<String, usize>,
    /// All members that are not replaced, by where they begin.
    pub(super) members: BTreeMap<usize, Member>,
}

#[derive(Clone, Copy)]
pub(super) struct Member {
    /// Where it ends.
    pub(super) end: usize,
    /// Where the comma before it is.
    pub(super) comma: Option<usize>,
    /// Whether a merge key added it.
    pub(super) merged: bool,
}

impl YamlAsJson<'_> {
    /// Notes where the value of a merge key begins. It is written like other values, and then replaced by its members.
    pub(super) fn begin_merge(&mut self, at: Position) {
        if let Some(open) = self.open.last_mut()
            && let Open::Key { first } = *open
        {
            *open = Open::Merge { first, at, start: self.json.len(), from: self.at };
        }
    }

    /// Replaces the value of a merge key, if it was just written, by its members.
    pub(super) fn merge_if_complete(&mut self) -> Result<(), YamlError> {
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        let Open::Merge { first, at, start, from } = *open else { return Ok(()) };
        *open = Open::Key { first };
        let value =
            String::from_utf8(compact(&self.json[start..])).ok().and_then(|json| RawValue::from_string(json).ok());
        self.json.truncate(start);
        self.at = from;
        let Some(value) = value else { return Err(error(at, WANTS_MAPPING)) };
        for mapping in mappings(&value).ok_or_else(|| error(at, WANTS_MAPPING))? {
            for (key, node) in mapping {
                if let JsonNode::Raw(value) = node {
                    self.merge_member(&key, value.get(), at);
                }
            }
        }
        Ok(())
    }

    /// Writes a member that a merge key adds.
    fn merge_member(&mut self, key: &str, value: &str, at: Position) {
        self.drop_member(key, |_| true);
        self.before_node(0);
        let start = self.json.len();
        self.token(at, format!("{}:{value}", quoted(key)).as_bytes());
        self.aliases += self.json.len() - start;
        self.note_member(key, start, true);
        self.end_member();
    }

    /// Notes a member that begins at `start`, behind the comma if it has one.
    pub(super) fn note_member(&mut self, key: &str, start: usize, merged: bool) {
        let Some(keys) = self.keys.as_mut().and_then(|keys| keys.last_mut()) else { return };
        let comma = start.checked_sub(1).filter(|&at| self.json[at] == b',');
        keys.last.insert(key.to_owned(), start);
        keys.members.insert(start, Member { end: start, comma, merged });
    }

    /// Notes that the last member is complete.
    pub(super) fn end_member(&mut self) {
        let keys = self.keys.as_mut().and_then(|keys| keys.last_mut());
        if let Some(mut last) = keys.and_then(|keys| keys.members.last_entry()) {
            last.get_mut().end = self.json.len();
        }
    }

    /// Removes what merge keys added under this key. Other members stay: a key that is written twice is a mistake.
    pub(super) fn drop_merged(&mut self, key: &str) {
        self.drop_member(key, |member| member.merged);
    }

    fn drop_member(&mut self, key: &str, which: impl Fn(&Member) -> bool) {
        let Some(keys) = self.keys.as_mut().and_then(|keys| keys.last_mut()) else { return };
        let Some(&start) = keys.last.get(key) else { return };
        let Some(member) = keys.members.get(&start).copied().filter(which) else { return };
        keys.members.remove(&start);
        for byte in self.json[start..member.end].iter_mut().filter(|b| **b != b'\n') {
            *byte = b' ';
        }
        // The comma behind the first member is that before the second.
        let next = keys.members.range_mut(start..).next();
        match (member.comma, next) {
            (Some(comma), _) => self.json[comma] = b' ',
            (None, Some((_, next))) => {
                if let Some(comma) = next.comma.take() {
                    self.json[comma] = b' ';
                }
            }
            (None, None) => {
                if let Some(Open::Key { first }) = self.open.last_mut() {
                    *first = true;
                }
            }
        }
    }
}

/// The mappings of a merge key, the last first: it has the least precedence. `None` if there are other values.
fn mappings(value: &RawValue) -> Option<Vec<JsonMembers<'_>>> {
    let list = if value.get().starts_with('[') { raw_list(value, usize::MAX).ok()? } else { vec![value] };
    let mapping = |raw: &&'_ RawValue| raw.get().starts_with('{');
    if !list.iter().all(mapping) {
        return None;
    }
    list.into_iter().rev().map(|raw| JsonMembers::read(raw).ok()).collect()
}
