//! TLS of a listener: which certificate it serves, and how that changes while connections go on.
//!
//! ```text
//! files ── watch ─┐
//!                 ├─► CertificateKeyPair (read and checked together) ─► DynamicCertificate ─► handshake ─► connection
//! Secret ─────────┘                                                            └─► CertificateInfo ─► /readyz, metrics
//! ```
//!
//! A certificate and its key are loaded as one: a certificate without its key, or files of which only one is new, is
//! never served, and what was served before stays.

mod any_certificate;
mod certificate_files;
mod certificate_info;
mod client_ca;
mod client_chain;
mod dynamic_certificate;
mod handshake;
mod key_pair;
mod metrics;
mod probe;

pub use certificate_files::{CertificateFileError, CertificateFiles, ClientCaFile, TlsFiles};
pub use certificate_info::{CertificateInfo, ValidityError};
pub(crate) use client_chain::{CertificateSubject, ClientChain};
pub use dynamic_certificate::{DynamicCertificate, ServedCertificate};
pub(crate) use handshake::handshake;
pub(crate) use key_pair::certificates;
pub use key_pair::{CertificateKeyPair, KeyPairError};
pub(crate) use metrics::Expiration;
pub use metrics::{TlsMetrics, TlsNames};
pub(crate) use probe::TlsProbe;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// The one crypto provider. It is named wherever TLS is set up, so that no global state decides.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
