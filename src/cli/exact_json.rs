//! Raw JSON, written as JSON or YAML with every number exactly as it was written.

use std::{borrow::Cow, cell::RefCell, fmt::Write};

use anyhow::Context;
use roster_engine::model::json::raw::{JsonMembers, JsonNode};
use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

use super::printable::{has_hidden, has_hidden_in_lines};

/// The YAML text of a value; it ends with a line end. The value is written as JSON first, so that there is one YAML writer
/// instead of one for each type, each of which would take long to compile.
pub(super) fn to_yaml(value: &impl Serialize) -> anyhow::Result<String> {
    raw_to_yaml(&serde_json::value::to_raw_value(value).context("cannot write JSON")?)
}

/// The YAML text of a JSON value, with every number as it is; it ends with a line end. Texts with characters that cannot be seen
/// are in double quotes, with these as escapes.
pub(super) fn raw_to_yaml(raw: &RawValue) -> anyhow::Result<String> {
    let hidden = HiddenTexts::default();
    let value = ExactJson { raw, json: false, hidden: Some(&hidden) };
    let mut text = serde_saphyr::to_string(&value).context("cannot write YAML")?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(hidden.put_into(text))
}

/// The texts of a value with characters that cannot be seen, while it is written as YAML. The writer would leave these characters as
/// they are: it gets a word in the place of each text.
#[derive(Debug, Default)]
pub(super) struct HiddenTexts(RefCell<Vec<String>>);

/// How the words begin.
const WORD: &str = "hidden-text";

impl HiddenTexts {
    /// The text, or the word in its place.
    fn shown<'t>(&self, text: Cow<'t, str>, is_key: bool) -> Cow<'t, str> {
        // A text of several lines stays one.
        let has_hidden = if is_key { has_hidden(&text) } else { has_hidden_in_lines(&text) };
        if !has_hidden && !text.contains(WORD) {
            return text;
        }
        let mut texts = self.0.borrow_mut();
        texts.push(quoted(&text));
        Cow::Owned(format!("{WORD}-{}-", texts.len()))
    }

    /// The YAML with the texts in their places, which come in order.
    fn put_into(self, yaml: String) -> String {
        let (mut out, mut rest) = (String::new(), yaml.as_str());
        for (place, text) in self.0.into_inner().iter().enumerate() {
            let Some((before, after)) = rest.split_once(&format!("{WORD}-{}-", place + 1)) else { continue };
            out.extend([before, text]);
            rest = after;
        }
        if out.is_empty() { yaml } else { out + rest }
    }
}

/// A text in double quotes, as YAML reads it.
fn quoted(text: &str) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars() {
        // Writing to a string does not fail.
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            c if !has_hidden(c.encode_utf8(&mut [0; 4])) => write!(out, "{c}"),
            c if u32::from(c) <= 0xffff => write!(out, "\\u{:04x}", u32::from(c)),
            c => write!(out, "\\U{:08x}", u32::from(c)),
        };
    }
    out + "\""
}

/// A value that prints exactly as it was read.
#[derive(Clone, Copy)]
pub(super) struct ExactJson<'a> {
    pub(super) raw: &'a RawValue,
    /// Whether the serializer writes JSON, which takes any number verbatim.
    pub(super) json: bool,
    /// Where texts are kept that the serializer does not write as they are to be read.
    pub(super) hidden: Option<&'a HiddenTexts>,
}

impl ExactJson<'_> {
    fn shown<'t>(&self, text: Cow<'t, str>, is_key: bool) -> Cow<'t, str> {
        match self.hidden {
            Some(hidden) => hidden.shown(text, is_key),
            None => text,
        }
    }
}

impl Serialize for ExactJson<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let inner = |raw| ExactJson { raw, ..*self };
        let text = self.raw.get();
        match text.as_bytes().first() {
            Some(b'{') => {
                let members = JsonMembers::read(self.raw).map_err(S::Error::custom)?;
                s.collect_map(members.into_iter().filter_map(|(name, value)| match value {
                    JsonNode::Raw(raw) => Some((self.shown(name, true), inner(raw))),
                    // JsonMembers that were just read are raw.
                    _ => None,
                }))
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(S::Error::custom)?;
                s.collect_seq(items.into_iter().map(inner))
            }
            Some(b'"') => {
                let text = serde_json::from_str::<String>(text).map_err(S::Error::custom)?;
                s.serialize_str(&self.shown(text.into(), false))
            }
            Some(b't') => s.serialize_bool(true),
            Some(b'f') => s.serialize_bool(false),
            Some(b'n') => s.serialize_none(),
            _ if self.json => self.raw.serialize(s),
            _ => number(text, s),
        }
    }
}

/// Writes a number as YAML, by value: a number that no type can hold is an error, not rounded.
fn number<S: Serializer>(text: &str, s: S) -> Result<S::Ok, S::Error> {
    if let Ok(n) = text.parse::<i64>() {
        return s.serialize_i64(n);
    }
    if let Ok(n) = text.parse::<i128>() {
        return s.serialize_i128(n);
    }
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() && text.contains(['.', 'e', 'E']) => s.serialize_f64(n),
        _ => Err(S::Error::custom(format_args!("the number {text:.60} cannot be written as YAML; use -o json"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_cannot_be_seen_are_escaped() {
        let json = "{\"a\\u202eb\":\"c\u{9b}d\\n\",\"e\":\"two\\nlines\\n\",\"f\":\"hidden-text-1-\",\"g\":[\"\u{e0041}\\\"\"]}";
        let yaml = raw_to_yaml(&RawValue::from_string(json.to_owned()).unwrap()).unwrap();
        let want =
            "\"a\\u202eb\": \"c\\u009bd\\n\"\ne: |\n  two\n  lines\nf: \"hidden-text-1-\"\ng:\n- \"\\U000e0041\\\"\"\n";
        assert_eq!(yaml, want);
        let read: serde_json::Value = serde_json::from_str(
            &roster_manifests::decode::yaml_as_json(&yaml, &roster_manifests::decode::Source::file("")).unwrap(),
        )
        .unwrap();
        assert_eq!(read, serde_json::from_str::<serde_json::Value>(json).unwrap());
    }

    #[test]
    fn numbers_keep_their_digits() {
        let text = r#"{"a":9007199254740993,"b":12345678901234567890123,"c":[1.5,-0],"d":"off","e":null,"f":{}}"#;
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(serde_json::to_string(&ExactJson { raw: &raw, json: true, hidden: None }).unwrap(), text);
        let yaml = serde_saphyr::to_string(&ExactJson { raw: &raw, json: false, hidden: None }).unwrap();
        let want = "a: 9007199254740993\nb: 12345678901234567890123\nc:\n- 1.5\n- 0\nd: \"off\"\ne: null\nf: {}\n";
        assert_eq!(yaml, want);
        let huge = RawValue::from_string("[1e400]".to_owned()).unwrap();
        assert!(serde_saphyr::to_string(&ExactJson { raw: &huge, json: false, hidden: None }).is_err());
    }
}
