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

#[path = "../crates/admission/src/lib.rs"]
pub mod admission;
#[cfg(feature = "decode")]
#[path = "../crates/manifests/src/cases/mod.rs"]
pub mod cases;
#[cfg(feature = "shell")]
pub mod cli;
#[path = "../crates/admission/src/convert/mod.rs"]
pub mod convert;
#[cfg(feature = "decode")]
#[path = "../crates/manifests/src/decode/mod.rs"]
pub mod decode;
pub mod deploy;
#[path = "../crates/engine/src/lib.rs"]
pub mod engine;
#[path = "../crates/manifests/src/inventory/mod.rs"]
pub mod inventory;
#[cfg(feature = "shell")]
pub mod kube_api;
#[cfg(feature = "decode")]
#[path = "../crates/manifests/src/lint/mod.rs"]
pub mod lint;
#[path = "../crates/engine/src/model/mod.rs"]
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
