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
pub mod inventory;
#[cfg(feature = "controller")]
pub mod live;
pub mod mirror;
pub mod model;
pub mod plan;
pub mod policy;
pub mod reason;
mod repack;
mod select;
#[cfg(feature = "server")]
pub mod server;
mod targets;
#[cfg(feature = "server")]
pub mod telemetry;
mod uncanonical;
