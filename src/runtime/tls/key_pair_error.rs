//! Why TLS cannot be configured with what was read.

/// Why a certificate and its key cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum KeyPairError {
    /// The certificate cannot be read.
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    /// The key cannot be read.
    #[error("the key cannot be read: {0}")]
    Key(String),
    /// Both can be read, but do not belong together, or have an unsupported algorithm.
    #[error("the certificate and the key cannot be used together: {0}")]
    Together(#[source] rustls::Error),
    /// The client CAs cannot be read.
    #[error("the client CA cannot be read: {0}")]
    ClientCa(String),
}
