//! Raw JSON, written as JSON or YAML with every number exactly as it was written.

use anyhow::Context;
use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

use crate::model::json::raw::{JsonMembers, JsonNode};

/// The YAML text of a value; it ends with a line end. The value is written as JSON first, so that there is one YAML writer
/// instead of one for each type, each of which would take long to compile.
pub(super) fn to_yaml(value: &impl Serialize) -> anyhow::Result<String> {
    raw_to_yaml(&serde_json::value::to_raw_value(value).context("cannot write JSON")?)
}

/// The YAML text of a JSON value, with every number as it is; it ends with a line end.
pub(super) fn raw_to_yaml(raw: &RawValue) -> anyhow::Result<String> {
    let mut text = serde_saphyr::to_string(&ExactJson { raw, json: false }).context("cannot write YAML")?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
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
