//! In-process tests of every boundary: one binary, so that it links once.

mod generated;
#[cfg(feature = "server")]
mod http;
