//! Options of certificates that Roster issues and stores in a cluster.

use super::CertificateLifetimes;

/// Certificates that Roster issues, and where it stores them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfSignedOptions {
    /// The namespace of the Secret and the Lease.
    pub namespace: String,
    /// The name of the Secret.
    pub secret: String,
    /// The name of the Lease.
    pub lease: String,
    /// The identity of this replica as a holder of the Lease.
    pub identity: String,
    /// The names in the certificate.
    pub names: Vec<String>,
    /// How long certificates are valid.
    pub life: CertificateLifetimes,
}
