//! JSON as text: values that are opened only as far as needed, pointers, patches, and the messages of the parser.

mod borrowed_text;
pub mod message;
pub mod path;
pub mod pointer;
pub mod raw;

pub use borrowed_text::BorrowedText;
