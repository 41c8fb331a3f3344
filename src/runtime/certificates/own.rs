//! What is made, where it is kept, and for whom.

use super::Life;
use crate::model::installed::{LEASE, SECRET, SERVICE};

/// Certificates of our own, in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// Namespace of the Secret and the Lease.
    pub namespace: String,
    /// Name of the Secret.
    pub secret: String,
    /// Name of the Lease.
    pub lease: String,
    /// Who we are.
    pub identity: String,
    /// Names in the certificate.
    pub names: Vec<String>,
    /// How long certificates live.
    pub life: Life,
}

impl Own {
    /// For the Service in `namespace`, and for `more` names.
    pub fn new(namespace: &str, identity: &str, more: &[String], life: Life) -> Self {
        let service = format!("{SERVICE}.{namespace}.svc");
        let mut names = vec![service.clone(), format!("{service}.cluster.local")];
        names.extend(more.iter().cloned());
        Self {
            namespace: namespace.to_owned(),
            secret: SECRET.to_owned(),
            lease: LEASE.to_owned(),
            identity: identity.to_owned(),
            names,
            life,
        }
    }
}
