//! The crypto provider.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// The one crypto provider. It is named wherever TLS is set up, so that no global state decides.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
