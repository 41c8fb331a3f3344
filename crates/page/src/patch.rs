//! What a button of the page changes in the state: a JSON object that the script merges into it.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value, json};

/// What a button changes in the state of the page.
pub(crate) struct Patch(Map<String, Value>);

impl Patch {
    /// Shows another Service.
    pub(crate) fn service(title: &str) -> Self {
        Self::one("service", json!(title))
    }

    /// Sets one field of the request.
    pub(crate) fn one(field: &str, value: Value) -> Self {
        Self(Map::from_iter([(field.to_owned(), value)]))
    }

    /// And another one.
    pub(crate) fn and(mut self, field: &str, value: Value) -> Self {
        self.0.insert(field.to_owned(), value);
        self
    }
}

impl fmt::Display for Patch {
    /// JSON of ASCII: what nobody sees in a name is escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A map of JSON values always serializes.
        for c in serde_json::to_string(&self.0).unwrap_or_default().chars() {
            match c {
                ' '..='~' => f.write_char(c)?,
                c => c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(f, "\\u{unit:04x}"))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive() {
        for (name, want) in [
            ("shop/web", r#"{"service":"shop/web"}"#),
            ("we\u{200d}b\u{202e}\u{7f}\n", r#"{"service":"we\u200db\u202e\u007f\n"}"#),
            ("\"\\é\u{e0041}", r#"{"service":"\"\\\u00e9\udb40\udc41"}"#),
        ] {
            let patch = Patch::service(name).to_string();
            assert_eq!(patch, want);
            assert_eq!(serde_json::from_str::<Value>(&patch).ok(), Some(json!({ "service": name })));
        }
    }
}
