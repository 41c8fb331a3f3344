//! Listeners with limits, and one orderly shutdown.
//!
//! ```text
//! socket ─► Listener (accept, limit of connections, eviction, TLS) ─► connection (HTTP/1 or HTTP/2, time-outs) ─► Router
//! ```
//!
//! A [`Server`] is composed of [`ServerPart`]s; nothing here knows an endpoint, but for health and metrics.

mod admin;
mod connection;
mod eviction;
mod listener;
mod permits;
mod readiness;
mod server;
mod signals;
mod socket;
mod streams;
mod tasks;
#[cfg(test)]
mod tests;
mod write_timeout;

pub use listener::TlsOptions;
pub(crate) use permits::GrowingPermit;
pub use readiness::{Health, Readiness};
pub use server::{Server, ServerOptions, ServerPart};
pub use signals::signals;
pub use socket::Socket;
pub use tasks::Tasks;
