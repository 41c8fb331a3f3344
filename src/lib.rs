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
#[cfg(feature = "shell")]
pub mod cli;
pub mod convert;
#[cfg(feature = "decode")]
pub mod decode;
pub mod deploy;
pub mod engine;
pub mod inventory;
#[cfg(feature = "shell")]
pub mod kube_api;
pub mod model;
#[cfg(feature = "shell")]
pub mod runtime;
#[cfg(feature = "shell")]
pub mod servers;
