//! Raw JSON, printed as JSON or YAML with every number exactly as it was written.

use std::io::Write;

use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeStruct},
};
use serde_json::value::RawValue;

use super::output::{Output, OutputFormat};
use crate::model::json::raw::{JsonMembers, JsonNode};

/// Prints objects as YAML documents, as one JSON document, or as lines.
pub(super) fn print(items: &[&RawValue], format: OutputFormat) -> anyhow::Result<()> {
    let items: Vec<ExactJson<'_>> =
        items.iter().map(|raw| ExactJson { raw, json: format != OutputFormat::Yaml }).collect();
    let mut out = Output::stdout(format);
    match (format, items.as_slice()) {
        (OutputFormat::Yaml, items) => {
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.write_all(b"---\n")?;
                }
                out.document(format, item)?;
            }
        }
        (OutputFormat::Ndjson, items) => items.iter().try_for_each(|item| out.document(format, item))?,
        (_, [one]) => out.document(format, one)?,
        (_, items) => out.document(format, &ListDocument(items))?,
    }
    Ok(out.flush()?)
}

/// `v1 List`, as kubectl prints several objects.
struct ListDocument<'a>(&'a [ExactJson<'a>]);

impl Serialize for ListDocument<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut list = s.serialize_struct("List", 3)?;
        list.serialize_field("apiVersion", "v1")?;
        list.serialize_field("kind", "List")?;
        list.serialize_field("items", self.0)?;
        list.end()
    }
}

/// A value that prints exactly as it was read.
#[derive(Clone, Copy)]
pub(super) struct ExactJson<'a> {
    pub(super) raw: &'a RawValue,
    /// Whether the serializer writes JSON, which takes any number verbatim.
    pub(super) json: bool,
}

impl Serialize for ExactJson<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let inner = |raw| ExactJson { raw, json: self.json };
        let text = self.raw.get();
        match text.as_bytes().first() {
            Some(b'{') => {
                let members = JsonMembers::read(self.raw).map_err(S::Error::custom)?;
                s.collect_map(members.into_iter().filter_map(|(name, value)| match value {
                    JsonNode::Raw(raw) => Some((name, inner(raw))),
                    // JsonMembers that were just read are raw.
                    _ => None,
                }))
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(S::Error::custom)?;
                s.collect_seq(items.into_iter().map(inner))
            }
            Some(b'"') => s.serialize_str(&serde_json::from_str::<String>(text).map_err(S::Error::custom)?),
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
    fn numbers_keep_their_digits() {
        let text = r#"{"a":9007199254740993,"b":12345678901234567890123,"c":[1.5,-0],"d":"off","e":null,"f":{}}"#;
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(serde_json::to_string(&ExactJson { raw: &raw, json: true }).unwrap(), text);
        let yaml = serde_saphyr::to_string(&ExactJson { raw: &raw, json: false }).unwrap();
        let want = "a: 9007199254740993\nb: 12345678901234567890123\nc:\n- 1.5\n- 0\nd: \"off\"\ne: null\nf: {}\n";
        assert_eq!(yaml, want);
        let huge = RawValue::from_string("[1e400]".to_owned()).unwrap();
        assert!(serde_saphyr::to_string(&ExactJson { raw: &huge, json: false }).is_err());
    }
}
