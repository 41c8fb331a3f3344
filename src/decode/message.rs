//! What a parser says, in words of JSON: without places, which it tells relative to a part of the text, and
//! without this program's types.

use std::{borrow::Cow, fmt::Display};

/// The message of an error of `serde_json`.
pub(super) fn message(error: &impl Display) -> String {
    let text = error.to_string();
    let text = text.rfind(" at line ").map_or(text.as_str(), |i| &text[..i]);
    let Some((found, expected)) = text.rsplit_once(", expected ") else { return shortened(text).into_owned() };
    let found = match found {
        "invalid type: sequence" => "invalid type: list",
        "invalid type: map" => "invalid type: object",
        other => other,
    };
    let expected = match expected {
        "i32" => "an integer of 32 bits",
        "i64" => "an integer",
        "map" | "a map" => "an object",
        "sequence" | "a sequence" => "a list",
        e if e.starts_with("struct ") => "an object",
        other => other,
    };
    format!("{}, expected {expected}", shortened(found))
}

/// `text`, if it is of bearable length, else its beginning: input may hold values of any size.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(300) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use super::*;
    use crate::{
        decode::{
            budget::{Budget, Pool},
            strict,
        },
        model::{Node, Service},
        plan::{Controller, Options},
    };

    #[test]
    fn messages_name_json_and_not_rust() {
        fn said<T: serde::de::DeserializeOwned>(text: &str) -> String {
            let pool = Pool::new(1 << 20);
            let read = strict::from_str(PhantomData::<T>, text, &Budget::new(&pool));
            read.err().map(|e| message(&e)).unwrap_or_default()
        }
        for (got, want) in [
            (said::<Service>("5"), "invalid type: integer `5`, expected an object"),
            (said::<Service>(r#"{"spec":{"ports":5}}"#), "invalid type: integer `5`, expected a list"),
            (
                said::<Service>(r#"{"spec":{"ports":[{"port":"80"}]}}"#),
                "invalid type: string \"80\", expected an integer of 32 bits",
            ),
            (
                said::<Service>(r#"{"metadata":{"name":", expected struct X"}, "spec":[[1]]}"#),
                "invalid type: list, expected an object",
            ),
            (said::<Service>(r#"{"spec":{"ports":[{"targetPort":[]}]}}"#), "targetPort must be a number or a string"),
            (said::<Node>(r#"{"status":{"allocatable":{"cpu":[]}}}"#), "cpu must be a number or a string"),
            (said::<Options>(r#"{"maxEndpointsPerSlice":0}"#), "0 is not from 1 to 1000"),
            (said::<Vec<Controller>>("[5]"), "invalid type: integer `5`, expected a string"),
            (said::<Vec<Controller>>("[{}]"), "invalid type: object, expected a string"),
            (said::<Service>(r#"{"metadata":{"name":"a","name":"b"}}"#), "duplicate field `name`"),
        ] {
            assert_eq!(got, want);
        }
        let long = said::<Service>(&format!("\"{}\"", "x".repeat(1000)));
        assert!(long.chars().count() < 350 && long.ends_with("…, expected an object"), "{long}");
    }
}
