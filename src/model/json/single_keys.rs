//! Keys that an object repeats, and the object without what they replace.
//!
//! JSON and YAML allow a key only once, but their readers do not agree on what a second one means. `kubectl` sends the last
//! one: so does this, in the lines and columns of the input.

use std::{borrow::Cow, fmt, ops::Range};

use serde::{
    Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{message::shortened, pointer::Pointer, raw::text_of};

/// Larger texts are not searched: an API server stores 1.5 MiB.
const MAX_SEARCHED: usize = 2 << 20;
/// Most repeated keys of one object that are reported.
const MAX_REPEATED: usize = 20;

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

impl RepeatedKey {
    /// Whether it is a key of the object itself, and not of a part of it.
    pub(crate) fn is_of_root(&self) -> bool {
        self.pointer.matches('/').count() == 1
    }
}

/// An object whose keys are all different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SingleKeys {
    /// The text, with spaces in the place of each member that a later one replaces.
    pub(crate) text: String,
    /// The keys that occurred before, in the order of the text.
    pub(crate) repeated: Vec<RepeatedKey>,
}

impl SingleKeys {
    /// The object without what later keys replace; `None` if all its keys are different, or if the text is not JSON.
    pub(crate) fn of(text: &str) -> Option<Self> {
        if text.len() > MAX_SEARCHED {
            return None;
        }
        let mut repeats = Repeats { text, repeated: Vec::new(), replaced: Vec::new() };
        let mut json = serde_json::Deserializer::from_str(text);
        let value = RepeatSearch { at: Pointer::At(""), repeats: &mut repeats };
        value.deserialize(&mut json).and_then(|()| json.end()).ok()?;
        let Repeats { mut repeated, replaced, .. } = repeats;
        if replaced.is_empty() {
            return None;
        }
        let mut single = text.as_bytes().to_vec();
        for place in replaced.into_iter().flatten() {
            if single[place] != b'\n' {
                single[place] = b' ';
            }
        }
        repeated.sort_by_key(|key| key.offset);
        Some(Self { text: String::from_utf8(single).ok()?, repeated })
    }
}

/// What is found in a text.
struct Repeats<'t> {
    text: &'t str,
    repeated: Vec<RepeatedKey>,
    /// The members that later ones replace, each up to the next member.
    replaced: Vec<Range<usize>>,
}

impl Repeats<'_> {
    fn offset(&self, part: &RawValue) -> usize {
        // The parser returns slices of the text: the difference of the addresses is the offset.
        (part.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    /// Adds the repeated keys of an object. `members` are all its keys, with their offsets.
    fn add(&mut self, at: &Pointer<'_>, members: &[(Cow<'_, str>, usize)]) {
        let mut by_name: Vec<usize> = (0..members.len()).collect();
        by_name.sort_by(|&a, &b| members[a].0.cmp(&members[b].0));
        let mut later = Vec::new();
        for pair in by_name.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            if members[first].0 != members[second].0 {
                continue;
            }
            // The second one follows, so that there is a next member.
            let range = members[first].1..members[first + 1].1;
            self.repeated.retain(|key| !range.contains(&key.offset));
            self.replaced.push(range);
            later.push(second);
        }
        later.sort_unstable();
        for (name, offset) in later.into_iter().map(|place| &members[place]) {
            if self.repeated.len() < MAX_REPEATED {
                let pointer = Pointer::Key(at, name).to_string();
                self.repeated.push(RepeatedKey { pointer, name: shortened(name).into_owned(), offset: *offset });
            }
        }
    }
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

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

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
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<&'de RawValue>()? {
            // A key that has half a character has no text.
            let name = text_of(key).unwrap_or_else(|| key.get().into());
            members.push((name.clone(), repeats.offset(key)));
            map.next_value_seed(RepeatSearch { at: Pointer::Key(&at, &name), repeats: &mut *repeats })?;
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
                (single.text.as_str(), single.repeated.iter().map(key).collect::<Vec<_>>())
            });
            let want = want.map(|(text, keys)| (text, keys.into_iter().map(str::to_owned).collect()));
            assert_eq!(shown, want, "{text}");
        }
    }

    #[test]
    fn the_number_of_findings_and_the_length_are_limited() {
        let many = format!("{{{}\"a\":1}}", r#""a":1,"#.repeat(50));
        assert_eq!(SingleKeys::of(&many).unwrap().repeated.len(), MAX_REPEATED);
        let long = format!("{{\"a\":1,\"a\":\"{}\"}}", "x".repeat(MAX_SEARCHED));
        assert_eq!(SingleKeys::of(&long), None);
    }
}
