//! The keys of an open mapping, as far as merge keys may change it.

use std::collections::{BTreeMap, HashMap};

use granit_parser::{ScalarStyle, Tag};

use super::scalar::NAMESPACE;

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
