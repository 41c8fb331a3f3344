//! A path into JSON text, followed to its end and no further.
//!
//! Reading stops there: the metadata of an object and the user of a review stand before the parts that make them large.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};

use super::BorrowedText;

/// How far a path leads. Of a repeated key the first counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PathEnd {
    /// How many of its steps exist and are not null.
    pub steps: usize,
    /// The text at its end, if there is one.
    pub text: Option<String>,
}

impl PathEnd {
    /// Follows `path` from the root, which must be an object. In broken JSON, what comes before the fault counts.
    pub fn of(json: &[u8], path: &[&str]) -> Self {
        let found = PathFindings::default();
        // The result does not matter: reading stops early, which the parser takes for an error.
        let _ = serde_json::Deserializer::from_slice(json).deserialize_map(PathStep { path, found: &found });
        Self { steps: found.steps.get(), text: found.text.take() }
    }
}

/// What was found so far, in a place that an error does not lose.
#[derive(Default)]
struct PathFindings {
    steps: Cell<usize>,
    text: RefCell<Option<String>>,
}

/// A value on a path.
struct PathStep<'a> {
    /// The steps that follow.
    path: &'a [&'a str],
    found: &'a PathFindings,
}

impl<'de> DeserializeSeed<'de> for PathStep<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for PathStep<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or null")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        self.found.steps.set(self.found.steps.get() + 1);
        if !self.path.is_empty() {
            return d.deserialize_map(self);
        }
        let text = BorrowedText::deserialize(d)?;
        self.found.text.replace(Some(text.0.into_owned()));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((first, path)) = self.path.split_first() else { return Ok(()) };
        while let Some(BorrowedText(key)) = map.next_key()? {
            if key == *first {
                return map.next_value_seed(PathStep { path, found: self.found });
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_where_something_is_missing_or_null() {
        let path = ["request", "userInfo", "username"];
        for (json, steps, text) in [
            (r#"{"request":{"uid":"1","userInfo":{"groups":[],"username":"jane"},"object":"#, 3, Some("jane")),
            (r#"{"kind":[{}],"request":{"userInfo":{"username":"\u006aane"}}}"#, 3, Some("jane")),
            (r#"{"request":{"userInfo":{"username":7}}}"#, 3, None),
            (r#"{"request":{"userInfo":{"username":null}}}"#, 2, None),
            (r#"{"request":{"userInfo":{"username":"a","username":"b"}}}"#, 3, Some("a")),
            (r#"{"request":{"userInfo":null}}"#, 1, None),
            (r#"{"request":"userInfo"}"#, 1, None),
            (r#"{"other":1}"#, 0, None),
            ("[]", 0, None),
            ("", 0, None),
        ] {
            assert_eq!(PathEnd::of(json.as_bytes(), &path), PathEnd { steps, text: text.map(str::to_owned) }, "{json}");
        }
    }
}
