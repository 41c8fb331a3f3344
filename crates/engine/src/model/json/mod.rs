//! JSON as text: values that are opened only as far as needed, pointers, patches, and the messages of the parser.

#[cfg(feature = "decode")]
pub(crate) mod ignored_scalars;
pub mod message;
pub mod patch;
pub(crate) mod path;
pub mod pointer;
#[cfg(feature = "shell")]
pub(crate) mod pretty;
pub mod raw;
#[cfg(feature = "decode")]
pub(crate) mod single_keys;
