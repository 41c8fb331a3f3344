//! Roster answers one question: which pods serve this Service, for whom, and why.
//!
//! ```text
//!   shell: I/O, may fail              core: sync, total, deterministic, no I/O
//!   cli/  http/  cluster/  ─ decode ─►  plan(state, options)  ─►  Plan + Problems
//!                                       explain(state, …)     ─►  verdict of every pod × port
//! ```
//!
//! This file is the only place with `cfg(feature)`: features gate modules, never behaviour.

pub mod admission;
mod budget;
pub mod cache;
#[cfg(feature = "server")]
pub mod certs;
#[cfg(feature = "cli")]
pub mod cli;
pub mod cluster;
pub mod compare;
pub mod compat;
pub mod convert;
#[cfg(feature = "decode")]
pub mod decode;
pub mod endpoints;
pub mod endpointslice;
pub mod explain;
mod hash;
#[cfg(feature = "server")]
pub mod http;
pub mod installed;
pub mod inventory;
mod json_message;
#[cfg(all(feature = "server", feature = "controller"))]
pub mod keeper;
#[cfg(all(feature = "server", not(feature = "controller")))]
#[path = "keeper_absent.rs"]
pub mod keeper;
#[cfg(feature = "controller")]
pub mod live;
pub mod manifests;
pub mod mirror;
pub mod model;
pub mod plan;
pub mod policy;
pub mod reason;
mod repack;
pub mod reviews;
mod select;
#[cfg(feature = "server")]
pub mod server;
pub mod state;
#[cfg(feature = "controller")]
pub mod switch;
mod targets;
#[cfg(feature = "server")]
pub mod telemetry;
#[cfg(feature = "server")]
pub mod tls;
mod uncanonical;
#[cfg(feature = "server")]
pub mod webhook;
