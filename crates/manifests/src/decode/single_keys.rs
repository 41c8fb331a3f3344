//! Keys that an object repeats, and the object without what they replace.
//!
//! JSON and YAML allow a key only once, but their readers do not agree on what a second one means. `kubectl` sends the last
//! one: so does this, in the lines and columns of the input.

use std::{borrow::Cow, fmt, ops::Range};

use roster_engine::model::json::{message::shortened, pointer::Pointer, raw::text_of};
use serde::{
    Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{ignored_scalars::ignore_scalars, key_scan};

/// Larger texts are not searched: an API server stores 1.5 MiB.
const MAX_SEARCHED: usize = 2 << 20;
/// Most repeated keys of the root that are reported; and as many of its parts, and as many names.
const MAX_REPEATED: usize = 20;
/// The fields with which every object begins.
pub(crate) const FIRST_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A key that occurs in its object before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepeatedKey {
    /// JSON pointer to the member.
    pub(crate) pointer: String,
    /// The key.
    pub(crate) name: String,
    /// Offset of the key in the text.
    pub(crate) offset: usize,
}

/// A name that keys of the root have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepeatedName {
    pub(crate) name: String,
    /// How many keys after the first have it.
    pub(crate) times: usize,
    /// Offset of the first of these.
    pub(crate) offset: usize,
}

/// Repeated keys: the first ones, and the number of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RepeatedKeys {
    /// In the order of the text.
    pub(crate) listed: Vec<RepeatedKey>,
    pub(crate) more: usize,
}

/// An object whose keys are all different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SingleKeys {
    /// The text, with spaces in the place of each member that a later one replaces.
    pub(crate) text: String,
    /// The repeated keys of the root.
    pub(crate) of_root: RepeatedKeys,
    /// Their names, in the order of the text. The [first fields](FIRST_FIELDS) are among them however many there are.
    pub(crate) names: Vec<RepeatedName>,
    /// The repeated keys of its parts.
    pub(crate) of_parts: RepeatedKeys,
    /// The line before them that would separate documents of YAML if it were written otherwise.
    pub(crate) separator: Option<BrokenSeparator>,
}

/// A line that begins with `---` and does not separate documents of YAML, with its offset in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrokenSeparator {
    /// The line is indented, and continues a value.
    Indented(usize),
    /// The first key of the next document follows without a line end, and begins with `---`.
    BeforeKey(usize),
}

impl SingleKeys {
    /// The object without what later keys replace; `None` if all its keys are different, or if the text is not JSON, or
    /// too long.
    pub(crate) fn of(text: &str) -> Option<Self> {
        if text.len() > MAX_SEARCHED || !key_scan::may_repeat(text) { None } else { Self::search(text) }
    }

    /// The same of a text of any length. The search may take ten times its memory, and several times as long as a
    /// [scan](key_scan::may_repeat).
    pub(super) fn search(text: &str) -> Option<Self> {
        let mut repeats = Repeats::of(text);
        let mut json = serde_json::Deserializer::from_str(text);
        let value = RepeatSearch { at: Pointer::At(""), repeats: &mut repeats };
        value.deserialize(&mut json).and_then(|()| json.end()).ok()?;
        if repeats.replaced.is_empty() {
            return None;
        }
        let replaced = repeats.replaced_ranges();
        let mut single = text.as_bytes().to_vec();
        for place in replaced.iter().cloned().flatten() {
            if single[place] != b'\n' {
                single[place] = b' ';
            }
        }
        let Repeats { of_root, names, mut parts, more_of_parts, joined, .. } = repeats;
        parts.sort_unstable_by_key(|key| key.offset);
        // What is within a replaced member does not repeat anything.
        let stays = |offset: &usize| {
            let next = replaced.partition_point(|range| range.end <= *offset);
            replaced.get(next).is_none_or(|range| *offset <= range.start)
        };
        let more = more_of_parts.into_iter().filter(stays).count();
        let of_parts = RepeatedKeys { listed: parts, more };
        let first = names.iter().map(|name| name.offset).min();
        let indented = first.and_then(|first| indented_separator(text, first)).map(BrokenSeparator::Indented);
        let joined = joined.filter(|joined| first.is_some_and(|first| *joined < first)).map(BrokenSeparator::BeforeKey);
        Some(Self { text: String::from_utf8(single).ok()?, of_root, names, of_parts, separator: indented.or(joined) })
    }
}

/// The offset of a line `---` before the key at `key` that YAML takes for the end of a value, because it is indented. The JSON
/// has the value in its first line.
fn indented_separator(text: &str, key: usize) -> Option<usize> {
    let is_between = |c: char| c.is_ascii_whitespace() || [',', '}', ']'].contains(&c);
    let end = text.get(..key)?.trim_end_matches(is_between).len();
    let value = text[..end].strip_suffix("---\"")?;
    if value.ends_with('"') {
        return Some(value.len() - 1);
    }
    // A line end within the value is a space, or stays before an empty line.
    let is_folded = value.ends_with(' ') || value.ends_with("\\n");
    text[end..key].find('\n').filter(|_| is_folded).map(|at| end + at + 1)
}

/// What is found in a text.
struct Repeats<'t> {
    text: &'t str,
    of_root: RepeatedKeys,
    names: Vec<RepeatedName>,
    /// Repeated keys of the parts, and the offsets of more of them.
    parts: Vec<RepeatedKey>,
    more_of_parts: Vec<usize>,
    /// The members that later ones replace, each up to the next member.
    replaced: Vec<Range<usize>>,
    /// Offset of the first key of the root that follows others and begins with `---`.
    joined: Option<usize>,
}

impl<'t> Repeats<'t> {
    fn of(text: &'t str) -> Self {
        Self {
            text,
            of_root: RepeatedKeys::default(),
            names: Vec::new(),
            parts: Vec::new(),
            more_of_parts: Vec::new(),
            replaced: Vec::new(),
            joined: None,
        }
    }

    /// What later members replace, without what is within another one, in the order of the text.
    fn replaced_ranges(&mut self) -> Vec<Range<usize>> {
        let mut ranges = std::mem::take(&mut self.replaced);
        ranges.sort_unstable_by_key(|range| range.start);
        let mut until = 0;
        ranges.retain(|range| {
            let is_outer = range.end > until;
            until = until.max(range.end);
            is_outer
        });
        ranges
    }

    fn offset(&self, part: &RawValue) -> usize {
        // The parser returns slices of the text: the difference of the addresses is the offset.
        (part.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    /// Adds the repeated keys of an object. `members` are all its keys, with their offsets.
    fn add(&mut self, at: &Pointer<'_>, members: &[(Cow<'_, str>, usize)]) {
        let mut by_name: Vec<usize> = (0..members.len()).collect();
        by_name.sort_by(|&a, &b| members[a].0.cmp(&members[b].0));
        let (mut later, mut names) = (Vec::new(), Vec::<(usize, usize)>::new());
        for pair in by_name.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            if members[first].0 != members[second].0 {
                continue;
            }
            // The second one follows, so that there is a next member.
            let range = members[first].1..members[first + 1].1;
            self.parts.retain(|key| !range.contains(&key.offset));
            self.replaced.push(range);
            later.push(second);
            match names.last_mut() {
                Some((place, times)) if members[*place].0 == members[second].0 => *times += 1,
                _ => names.push((second, 1)),
            }
        }
        later.sort_unstable();
        let key = |place: usize| {
            let (name, offset) = &members[place];
            let pointer = Pointer::Key(at, name).to_string();
            RepeatedKey { pointer, name: shortened(name).into_owned(), offset: *offset }
        };
        if matches!(at, Pointer::At("")) {
            let listed: Vec<RepeatedKey> = later.iter().take(MAX_REPEATED).copied().map(key).collect();
            self.of_root = RepeatedKeys { more: later.len() - listed.len(), listed };
            self.names = first_names(members, names);
            self.joined = members.iter().skip(1).find(|(name, _)| name.starts_with("---")).map(|(_, offset)| *offset);
            return;
        }
        let (listed, more) = later.split_at(later.len().min(MAX_REPEATED.saturating_sub(self.parts.len())));
        self.parts.extend(listed.iter().copied().map(key));
        self.more_of_parts.extend(more.iter().map(|place| members[*place].1));
    }
}

/// The first of the names that are repeated, in the order of the text. `names` has the place of the second member of each name,
/// and how many there are from there on.
fn first_names(members: &[(Cow<'_, str>, usize)], mut names: Vec<(usize, usize)>) -> Vec<RepeatedName> {
    names.sort_unstable_by_key(|(place, _)| (!FIRST_FIELDS.contains(&members[*place].0.as_ref()), *place));
    names.truncate(MAX_REPEATED);
    names.sort_unstable();
    let name = |(place, times): (usize, usize)| {
        let (name, offset) = &members[place];
        RepeatedName { name: shortened(name).into_owned(), times, offset: *offset }
    };
    names.into_iter().map(name).collect()
}

/// A value whose keys are searched.
struct RepeatSearch<'r, 'p, 't> {
    at: Pointer<'p>,
    repeats: &'r mut Repeats<'t>,
}

impl<'de> DeserializeSeed<'de> for RepeatSearch<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RepeatSearch<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    ignore_scalars!();

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        let Self { at, repeats } = self;
        while list.next_element_seed(RepeatSearch { at: Pointer::Index(&at, index), repeats: &mut *repeats })?.is_some()
        {
            index += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { at, repeats } = self;
        let mut members = Vec::with_capacity(8);
        while let Some(key) = map.next_key::<&'de RawValue>()? {
            // A key that has half a character has no text.
            let name = text_of(key).unwrap_or_else(|| key.get().into());
            map.next_value_seed(RepeatSearch { at: Pointer::Key(&at, &name), repeats: &mut *repeats })?;
            let offset = repeats.offset(key);
            members.push((name, offset));
        }
        repeats.add(&at, &members);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_stays_in_its_place() {
        for (text, want) in [
            (r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}"#, None),
            (r#"{"a":1,"a":2"#, None),
            (r#"{"a":1,"a":2}x"#, None),
            (r#"{"a":1,"b":2,"a":3}"#, Some((r#"{      "b":2,"a":3}"#, vec!["/a 13"]))),
            ("{\"a\":\n [1],\n\"a\":3}", Some(("{    \n     \n\"a\":3}", vec!["/a 12"]))),
            (r#"{"a":1,"\u0061":"é","a":3}"#, Some((r#"{                    "a":3}"#, vec!["/a 7", "/a 21"]))),
            (r#"[{"x/y":{"k":"é","k":2}}]"#, Some((r#"[{"x/y":{         "k":2}}]"#, vec!["/0/x~1y/k 18"]))),
            (r#"{"\ud800":1,"\ud801":2}"#, None),
            // What is replaced does not repeat anything.
            (r#"{"m":{"k":1,"k":2},"m":{"k":3}}"#, Some((r#"{                  "m":{"k":3}}"#, vec!["/m 19"]))),
        ] {
            let single = SingleKeys::of(text);
            let shown = single.as_ref().map(|single| {
                let key = |key: &RepeatedKey| format!("{} {}", key.pointer, key.offset);
                let keys = single.of_root.listed.iter().chain(&single.of_parts.listed);
                (single.text.as_str(), keys.map(key).collect::<Vec<_>>())
            });
            let want = want.map(|(text, keys)| (text, keys.into_iter().map(str::to_owned).collect()));
            assert_eq!(shown, want, "{text}");
        }
    }

    #[test]
    fn the_number_of_findings_and_the_length_are_limited() {
        let many = |key: &str, count: usize| format!("\"{key}\":1,").repeat(count + 1);
        let names = |count: usize| (0..count).map(|i| many(&format!("n{i}"), 1)).collect::<String>();
        let part = format!("{{{}\"z\":1}}", many("a", 30));
        for (text, root, names, parts) in [
            (format!("{{{}\"z\":1}}", many("a", 50)), (20, 30), vec![("a", 50)], (0, 0)),
            // The root is searched last.
            (format!("{{\"p\":{part},{}\"q\":1}}", many("kind", 2)), (2, 0), vec![("kind", 2)], (20, 10)),
            (format!("{{{}{}\"z\":1}}", names(1), many("kind", 1)), (2, 0), vec![("n0", 1), ("kind", 1)], (0, 0)),
            // What is replaced counts neither as listed nor as more.
            (format!("{{\"p\":{part},\"q\":{part},\"p\":{part}}}"), (1, 0), vec![("p", 1)], (0, 60)),
        ] {
            let single = SingleKeys::of(&text).unwrap();
            let count = |keys: &RepeatedKeys| (keys.listed.len(), keys.more);
            let found: Vec<(&str, usize)> = single.names.iter().map(|n| (n.name.as_str(), n.times)).collect();
            assert_eq!((count(&single.of_root), found, count(&single.of_parts)), (root, names, parts), "{text}");
        }
        let first = SingleKeys::of(&format!("{{{}{}\"z\":1}}", names(30), many("kind", 1))).unwrap().names;
        assert_eq!((first.len(), first.last().unwrap().name.as_str()), (MAX_REPEATED, "kind"));
        let long = format!("{{\"a\":1,\"a\":\"{}\"}}", "x".repeat(MAX_SEARCHED));
        assert_eq!(SingleKeys::of(&long), None);
        assert_eq!(SingleKeys::search(&long).unwrap().of_root.listed.len(), 1);
    }
}
