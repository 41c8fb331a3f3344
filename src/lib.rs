//! Roster answers one question: which pods serve this Service, for whom, and why.
//!
//! ```text
//!   shell: I/O, may fail                    core: sync, total, deterministic, no I/O
//!   cli/  servers/  kube_api/ ─ decode/ ─►  plan(state, controllers, options)  ─►  Plan: objects, events, findings
//!                                           explain(state, options)            ─►  Explanation: a verdict per pod and port
//!                                           decide(request, stage, settings, …) ─► Decision: allow, deny, patch, warn
//! ```
//!
//! The core takes objects as they are: `decode` reads them from JSON and YAML, and an [`inventory`] finds
//! the state of each Service among many. `examples/` has a complete program for each function.
//!
//! This file is the only place with `cfg(feature)`: features gate modules, never behaviour.

pub mod admission;
#[cfg(feature = "decode")]
pub mod cases;
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
#[cfg(feature = "decode")]
pub mod lint;
pub mod model;
#[cfg(feature = "shell")]
pub mod runtime;
#[cfg(feature = "shell")]
pub mod servers;

pub use admission::decide;
pub use engine::{
    explain::{Explanation, explain},
    plan::plan,
    profile::Minor,
    reason::{Finding, Reason, Severity},
    state::{Controller, Options, Plan, State},
};
