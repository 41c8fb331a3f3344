//! The program: Roster answers one question, which pods serve this Service, for whom, and why.
//!
//! ```text
//!   here: I/O, may fail                       crates/: sync, total, deterministic, no I/O
//!   cli/  servers/  kube_api/ ─ manifests ─►  plan(state, controllers, options)   ─► Plan: objects, events, findings
//!                                             explain(state, options)             ─► Explanation: a verdict per pod and port
//!                                             decide(request, stage, settings, …) ─► Decision: allow, deny, patch, warn
//! ```
//!
//! To use what it decides with in a program of your own, take the crates [`roster_engine`], [`roster_admission`],
//! [`roster_manifests`] and [`roster_lint`]. `examples/` has a complete program for each function.

pub mod cli;
pub mod deploy;
pub mod kube_api;
pub mod runtime;
pub mod servers;
