//! JSON as text: messages of its parser.

pub mod message;
