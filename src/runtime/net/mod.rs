//! Listeners with limits, and one orderly shutdown.
//!
//! ```text
//! socket ─► Listener (accept, a place, TLS) ─► connection (HTTP/1 or HTTP/2, time-outs) ─► Router
//! ```
//!
//! A [`Server`] is composed of [`ServerPart`]s; nothing here knows an endpoint, but for health and metrics.

mod activity;
mod admin;
mod admin_thread;
mod bound_socket;
mod claim;
mod connection;
mod connection_stream;
mod eviction_choice;
mod exchange;
mod health;
mod heartbeat;
mod ledger;
mod ledger_metrics;
mod listener;
mod peer;
mod readiness;
mod readiness_reports;
mod request_body;
mod request_spans;
mod response_clock;
mod server;
mod signals;
mod socket;
mod standings;
mod streams;
mod tasks;
mod tcp_stream;
#[cfg(test)]
mod tests;
mod tls_options;
mod unix_socket;
mod write_timeout;

pub(crate) use activity::{Activity, ActivityStage};
pub use bound_socket::{BoundSocket, ListenAddress};
pub(crate) use claim::Claim;
pub(crate) use exchange::{CreditWhenRead, Exchange, HeldByResponse};
pub use health::Health;
pub(crate) use ledger::{Holding, Ledger};
pub use peer::Peer;
pub use readiness::Readiness;
pub(crate) use request_body::{BodyError, BodyLimits, BodyPieces, ReceivedBody, SMALL_BODY, receive};
pub use server::{Server, ServerOptions, ServerPart};
pub use signals::signals;
pub use socket::Socket;
pub use tasks::Tasks;
pub use tls_options::TlsOptions;
pub use unix_socket::UnixSocket;
