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

/// The choices that differ from the text by one or two letters, or contain it.
pub fn nearest<'t>(choices: &[&'t str], text: &str) -> Vec<&'t str> {
    let lower = text.to_ascii_lowercase();
    let close = |choice: &&&str| {
        let choice = choice.to_ascii_lowercase();
        let part = lower.len() >= 4 && (choice.contains(&lower) || lower.contains(&choice));
        part || common_ends(&choice, &lower) + 2 >= choice.len().max(lower.len())
    };
    choices.iter().filter(close).copied().take(3).collect()
}

/// How many bytes two texts share at their ends: all but those of a spelling mistake.
fn common_ends(a: &str, b: &str) -> usize {
    let front = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let most = a.len().min(b.len()) - front;
    front + a.bytes().rev().zip(b.bytes().rev()).take(most).take_while(|(x, y)| x == y).count()
}
