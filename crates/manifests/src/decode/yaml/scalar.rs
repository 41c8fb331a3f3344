//! Scalars of YAML 1.1, with the types that kubectl gives them.
//!
//! kubectl reads YAML with `sigs.k8s.io/yaml`. Its types are those of YAML 1.1, with some of YAML 1.2 and of Go: `yes`,
//! `on` and `y` are booleans, `012` and `0o12` are 10, `0x1F`, `0b1` and `1_000` are integers, but `1:30` is a string.
//! `tests/data/yaml` holds its answers.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use granit_parser::{ScalarStyle, Tag};

/// The namespace of `!!str` and the other tags of YAML.
pub(super) const NAMESPACE: &str = "tag:yaml.org,2002:";

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'t> {
    Null,
    Bool(bool),
    /// An integer of 64 bits, with or without sign.
    Integer(i128),
    Float(f64),
    Text(Cow<'t, str>),
}

impl<'t> Scalar<'t> {
    /// The value of a scalar in a document. An error means that the text does not fit the tag.
    pub(super) fn resolve(text: &'t str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Self, String> {
        let as_text = Self::Text(Cow::Borrowed(text));
        let Some(tag) = tag else {
            return Ok(if style == ScalarStyle::Plain { Self::plain(text) } else { as_text });
        };
        // Tags of other programs have no meaning here.
        let Some(name) = tag.suffix_in_namespace(NAMESPACE) else { return Ok(as_text) };
        let value = match (&*name, Self::plain(text)) {
            ("int", value @ Self::Integer(_))
            | ("float", value @ Self::Float(_))
            | ("bool", value @ Self::Bool(_))
            | ("null", value @ Self::Null) => Some(value),
            ("float", Self::Integer(value)) => i64::try_from(value).ok().map(|value| Self::Float(float(value))),
            ("int" | "float" | "bool" | "null", _) => None,
            ("binary", _) => decoded(text).map(|text| Self::Text(Cow::Owned(text))),
            _ => Some(as_text),
        };
        value.ok_or_else(|| format!("{text:?} is not of the type !!{name}"))
    }

    /// The value of a plain scalar without a tag: of its text alone.
    fn plain(text: &'t str) -> Self {
        let value = match text.as_bytes().first() {
            None => Some(Self::Null),
            Some(b'~' | b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') => word(text),
            Some(b'.') => word(text).or_else(|| fraction(text)),
            Some(b'+' | b'-' | b'0'..=b'9') => word(text).or_else(|| number(text)),
            Some(_) => None,
        };
        value.unwrap_or(Self::Text(Cow::Borrowed(text)))
    }

    /// The value as JSON. JSON has no infinite numbers.
    pub(super) fn json(&self) -> Result<Cow<'static, str>, String> {
        Ok(match self {
            Self::Null => Cow::Borrowed("null"),
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
            Self::Integer(value) => Cow::Owned(value.to_string()),
            Self::Float(value) => Cow::Owned(float_as_json(*value)?),
            Self::Text(text) => Cow::Owned(quoted(text)),
        })
    }

    /// The value as the key of a JSON object.
    pub(super) fn key(&self) -> Result<Cow<'_, str>, String> {
        Ok(match self {
            Self::Null => return Err("null cannot be a key".to_owned()),
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
            Self::Integer(value) if i64::try_from(*value).is_err() => {
                return Err(format!("{value} is too large for a key"));
            }
            Self::Integer(value) => Cow::Owned(value.to_string()),
            Self::Float(value) => Cow::Owned(float_as_key(*value)),
            Self::Text(text) => Cow::Borrowed(text),
        })
    }
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Words for null, booleans, and numbers that are not finite.
fn word(text: &str) -> Option<Scalar<'static>> {
    Some(match text {
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// A number that begins with a sign or a digit.
fn number(text: &str) -> Option<Scalar<'static>> {
    let digits = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    integer(&digits).map(Scalar::Integer).or_else(|| decimal(&digits))
}

/// An integer in the notation of Go. One without sign may have 64 bits, one with a sign 63.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', ..] => (Some(-1), &text[1..]),
        [b'+', ..] => (Some(1), &text[1..]),
        _ => (None, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        // A sign may also be behind the prefix.
        [b'0', b'b', b'+' | b'-', ..] if sign.is_none() => {
            return i64::from_str_radix(&digits[2..], 2).ok().map(i128::from);
        }
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // The parser would take another sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from(u64::from_str_radix(digits, radix).ok()?) * sign.unwrap_or(1);
    (sign.is_none() || i64::try_from(value).is_ok()).then_some(value)
}

/// A number that begins with a point. Here, an underscore must be between digits.
fn fraction(text: &str) -> Option<Scalar<'static>> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_between = |(at, _): (usize, &str)| at > 0 && is_digit(at - 1) && is_digit(at + 1);
    if text.match_indices('_').all(is_between) { decimal(&text.replace('_', "")) } else { None }
}

/// A decimal number. One that is out of range is a string: a hash may look like `12e3456`.
fn decimal(text: &str) -> Option<Scalar<'static>> {
    // The parser knows words for infinite numbers as well.
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    text.parse::<f64>().ok().filter(|value| is_plain && value.is_finite()).map(Scalar::Float)
}

#[expect(clippy::cast_precision_loss, reason = "the tag asks for a float")]
fn float(value: i64) -> f64 {
    value as f64
}

/// The text of `!!binary`. Bytes that are not UTF-8 are replaced, as in Go's JSON.
fn decoded(text: &str) -> Option<String> {
    let text: String = text.split(['\n', '\r']).collect();
    STANDARD.decode(text).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A number as Go writes it in JSON.
fn float_as_json(value: f64) -> Result<String, String> {
    let size = value.abs();
    if !size.is_finite() {
        return Err("JSON has no infinite numbers, and none that is not a number".to_owned());
    }
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        return Ok(if size < 1.0 { text } else { text.replace('e', "e+") });
    }
    Ok(value.to_string())
}

/// A number as a key: with the precision of 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "so does sigs.k8s.io/yaml")]
fn float_as_key(value: f64) -> String {
    let value = value as f32;
    if !value.is_finite() {
        let text = if value.is_nan() {
            ".nan"
        } else if value > 0.0 {
            ".inf"
        } else {
            "-.inf"
        };
        return text.to_owned();
    }
    let text = format!("{value:e}");
    match text.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?))) {
        Some((digits, exponent)) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => value.to_string(),
    }
}
