//! JSON as text: values that are opened only as far as needed, pointers, patches, and the messages of the parser.

pub mod message;
pub mod path;
pub mod pointer;
pub mod raw;

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, de::Visitor};

/// A string that borrows from the body unless it contains escapes; `null` is the empty string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BorrowedText<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for BorrowedText<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = BorrowedText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<BorrowedText<'de>, E> {
                Ok(BorrowedText::default())
            }
        }
        d.deserialize_any(TextVisitor)
    }
}
