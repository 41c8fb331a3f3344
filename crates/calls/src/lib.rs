//! The calls of Roster's API as functions, from the text of a request to the text of its answer.
//!
//! ```text
//! query ─► prepare ─┐
//! body ─► PostedBody ─► answer ─► Answer | Problem
//! ```
//! A server, a WebAssembly module and a test call the same table, so they give the same bytes. Reading from a socket,
//! decompressing, taking turns and asking who calls are a server's business.
//!
//! ```
//! use roster_calls::{Call, CallLimits, CallRequest};
//! use roster_engine::model::Interrupt;
//!
//! let body = br#"{ "service": { "metadata": { "name": "web" }, "spec": { "selector": { "app": "web" } } } }"#;
//! let request = CallRequest { query: "compat=1.30", content_type: Some("application/json"), body };
//! let answer = Call::Plan.answer(&request, CallLimits::default(), Interrupt::NEVER);
//! assert!(answer.is_ok_and(|answer| answer.bytes.starts_with(br#"{"endpoints":{"action":"create""#)));
//! ```

mod answer;
mod call;
mod compare;
mod compat;
mod convert;
mod desired;
mod explain;
mod format;
mod input;
mod lint;
mod page;
mod params;
mod picture;
mod plan;
mod posted_body;
mod problem;
mod review;
mod view;

pub use answer::{Answer, Planned};
pub use call::{Call, CallRequest, PreparedCall, unknown_call};
pub use format::Format;
pub use input::{MAX_ASSUMED_PODS, decode_error, errors};
pub use params::Params;
pub use posted_body::{CallLimits, PostedBody, too_large};
pub use problem::{InputError, Problem, ProblemDocument, ProblemKind};
