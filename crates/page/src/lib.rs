//! The page that shows which pods serve a Service, and why the others do not.
//!
//! ```text
//! PageRequest (JSON) ─ decode ─► inventory ─ what-ifs ─► index ─┬─► services   the list, problems first
//!   text, Service, tab,                                         ├─► picture, what_if, review_tab, node_tab
//!   changes, release                                            └─► reasons    why, and what to do
//!                                                                    └─► PageAnswer: fragments of HTML and SVG
//! ```
//!
//! [`answer()`] is a pure function. The script of the page ([`FILES`]) only puts the fragments into place, so that a server and a
//! WebAssembly module show the same.

mod advice;
mod answer;
mod cluster;
mod code_note;
mod endpoints;
pub mod examples;
mod fault;
mod files;
mod html;
mod limits;
mod node_tab;
mod patch;
mod picture;
mod plain_words;
mod reasons;
mod remedy;
mod request;
mod respond;
mod review_tab;
mod service_line;
mod services;
#[cfg(test)]
mod tests;
mod what_if;

pub use answer::PageAnswer;
pub use fault::PageFault;
pub use files::{FILES, PageFile};
pub use limits::{MAX_OBJECT, MAX_YAML};
pub use respond::answer;
