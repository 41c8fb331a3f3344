//! Values that Kubernetes allows in many places: names, labels, port numbers; and readers that pass over wrong types.

use std::borrow::Cow;

use roster_engine::{
    model::{
        json::pointer::Pointer,
        spelling::{did_you_mean, mistyped},
    },
    reason::Reason,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::faults::{Faults, quoted};

/// `apiVersion` and `kind`; empty where they are missing.
pub(super) struct TypeMeta {
    pub(super) api_version: String,
    pub(super) kind: String,
}

impl TypeMeta {
    /// Reads both fields; `None` if one of them is not a string.
    pub(super) fn read(object: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields<'a> {
            #[serde(borrow)]
            api_version: Option<Cow<'a, str>>,
            #[serde(borrow)]
            kind: Option<Cow<'a, str>>,
        }
        let Fields { api_version, kind } = serde_json::from_str(object.get()).ok()?;
        let text = |field: Option<Cow<'_, str>>| field.map(Cow::into_owned).unwrap_or_default();
        Some(Self { api_version: text(api_version), kind: text(kind) })
    }

    /// The same type, with the parts that it lacks.
    pub(super) fn or(self, api_version: &str, kind: &str) -> Self {
        let or = |own: String, other: &str| if own.is_empty() { other.to_owned() } else { own };
        Self { api_version: or(self.api_version, api_version), kind: or(self.kind, kind) }
    }
}

/// Reports a value that is not one of those allowed. An empty one is filled in.
pub(super) fn one_of(value: &str, allowed: &[&str], at: Pointer<'_>, faults: &mut Faults<'_>) {
    one_of_given(Some(value).filter(|value| !value.is_empty()), allowed, at, faults);
}

/// Reports a value that is not one of those allowed, also if it is empty.
pub(super) fn one_of_given(value: Option<&str>, allowed: &[&str], at: Pointer<'_>, faults: &mut Faults<'_>) {
    if let Some(value) = value.filter(|value| !allowed.contains(value)) {
        let message = format!("{} {}", quoted(value), not_one_of(value, allowed));
        faults.add(Reason::InvalidValue, at, message);
    }
}

/// That a value is not one of those allowed, and which of them was probably meant.
pub(super) fn not_one_of(value: &str, allowed: &[&str]) -> String {
    match allowed {
        [only] => format!("is not {only}, the only value that is allowed"),
        several => {
            let meant = mistyped(value, several, |word| word);
            format!("is not one of {}{}", several.join(", "), did_you_mean(meant.as_slice()))
        }
    }
}

/// Why a text is not a qualified name, as keys of labels and annotations are: `example.com/name`.
pub(super) fn not_qualified(key: &str) -> Option<String> {
    let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if let Some(prefix) = prefix
        && !roster_engine::model::dns::is_subdomain(prefix.as_bytes())
    {
        return Some("the part before / is not a DNS subdomain".to_owned());
    }
    match name.len() {
        0 => Some("it is empty".to_owned()),
        1..=63 if is_word(name) => None,
        1..=63 => Some(WORD.to_owned()),
        n => Some(format!("it has {n} characters; 63 are allowed")),
    }
}

/// Why a text is not a value of a label.
pub(super) fn not_label_value(value: &str) -> Option<String> {
    match value.len() {
        0 => None,
        1..=63 if is_word(value) => None,
        1..=63 => Some(WORD.to_owned()),
        n => Some(format!("it has {n} characters; 63 are allowed")),
    }
}

const WORD: &str = "it consists of letters, digits, '-', '_' and '.', and begins and ends with a letter or digit";

fn is_word(text: &str) -> bool {
    let ends = text.bytes().next().zip(text.bytes().last());
    ends.is_some_and(|(first, last)| first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Why a text is not the name of a port of a container (`IANA_SVC_NAME`).
pub(super) fn not_port_name(name: &str) -> Option<&'static str> {
    let letters = name.bytes().any(|b| b.is_ascii_lowercase());
    if name.len() > 15 {
        Some("it has more than 15 characters")
    } else if !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        Some("it consists of lower case letters, digits and '-'")
    } else if !letters {
        Some("it needs a letter")
    } else if name.contains("--") || name.starts_with('-') || name.ends_with('-') {
        Some("a '-' stands between letters or digits")
    } else {
        None
    }
}

/// Whether a number is that of a port.
pub(super) fn is_port(number: i64) -> bool {
    (1..=65_535).contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_of_labels_are_checked() {
        let long = "x".repeat(64);
        for (key, is_key, is_value) in [
            ("app", true, true),
            ("app.kubernetes.io/name", true, false),
            ("App_1.x", true, true),
            ("", false, true),
            ("-app", false, false),
            ("a b", false, false),
            ("Example.com/name", false, false),
            ("example.com/", false, false),
            (&long, false, false),
        ] {
            assert_eq!((not_qualified(key).is_none(), not_label_value(key).is_none()), (is_key, is_value), "{key}");
        }
    }

    #[test]
    fn a_mistyped_word_names_the_one_that_was_meant() {
        for (value, allowed, want) in [
            ("prefix", &["Exact", "Prefix"][..], "is not one of Exact, Prefix; did you mean Prefix?"),
            ("Regex", &["Exact", "Prefix"], "is not one of Exact, Prefix"),
            ("", &["Exact", "Prefix"], "is not one of Exact, Prefix"),
            ("local", &["Local"], "is not Local, the only value that is allowed"),
        ] {
            assert_eq!(not_one_of(value, allowed), want, "{value}");
        }
    }

    #[test]
    fn names_of_ports_are_checked() {
        for (name, want) in [
            ("http", true),
            ("8080-tcp", true),
            ("8080", false),
            ("http_1", false),
            ("HTTP", false),
            ("a--b", false),
            ("a-", false),
            ("a-name-too-long-x", false),
        ] {
            assert_eq!(not_port_name(name).is_none(), want, "{name}");
        }
    }
}
