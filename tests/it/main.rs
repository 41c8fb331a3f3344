//! In-process tests of every boundary: one binary, so that it links once.

#[cfg(feature = "server")]
mod http;
