//! The names of a TLS listener in metrics, readiness checks and messages.

/// The names of a TLS listener. Users have alerts on them: they are written out, so that they are found and stay.
#[derive(Debug)]
pub struct TlsNames {
    /// The listener, as in "the certificate of the REST API".
    pub listener: &'static str,
    /// The metric of open connections.
    pub connections: &'static str,
    /// The metric of loads of a changed certificate.
    pub reloads: &'static str,
    /// The metric of failed handshakes.
    pub handshake_errors: &'static str,
    /// The metric of the time until the certificate expires.
    pub expiration: &'static str,
    /// The readiness check of the certificate.
    pub certificate_check: &'static str,
    /// The readiness check that tries a handshake.
    pub handshake_check: &'static str,
}
