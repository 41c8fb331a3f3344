//! Messages of the JSON parser in terms of JSON.
//!
//! They leave out positions, which are relative to a part of the text, and the names of Rust types.

use std::{borrow::Cow, fmt::Display};

/// The message of a `serde_json` error.
pub fn message(error: &impl Display) -> String {
    let text = error.to_string();
    let text = text.rfind(" at line ").map_or(text.as_str(), |i| &text[..i]);
    let Some((found, expected)) = text.rsplit_once(", expected ") else { return shortened(text).into_owned() };
    let found = match found {
        "invalid type: sequence" => "invalid type: list",
        "invalid type: map" => "invalid type: object",
        other => other,
    };
    let expected = match expected {
        "i32" => "a 32-bit integer",
        "i64" => "an integer",
        "usize" => "a number from 0",
        "map" | "a map" => "an object",
        "sequence" | "a sequence" => "a list",
        e if e.starts_with("struct ") => "an object",
        other => other,
    };
    format!("{}, expected {expected}", shortened(found))
}

/// The first 300 characters of a text: input may hold values of any size.
pub fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(300) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}
