//! The webhook's TLS: which certificate is served, and how it changes while connections go on.
//!
//! ```text
//! files ─ watch ─┐
//!                ├─► pair (certificate and key: read and checked together) ─► served ─► handshake ─► connection
//! Secret ────────┘                                                               └─► facts ─► /readyz, metrics
//! ```
//!
//! A pair is loaded as one: a certificate without its key, or files of which only one is new, never gets served, and
//! what was served before stays.

mod clock;
mod facts;
mod files;
mod handshake;
mod pair;
mod probe;
mod served;

pub use clock::Clock;
pub use facts::{Facts, Invalid};
pub use files::{FileError, Files};
pub(crate) use handshake::handshake;
pub(crate) use pair::certificates;
pub use pair::{Pair, PairError};
pub(crate) use probe::Probe;
pub use served::{Current, Served};

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// The one crypto provider. It is named wherever TLS is set up, so that no global state decides.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
