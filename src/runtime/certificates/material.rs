//! Everything there is: CAs, certificate and keys, as it is stored.

use std::fmt;

use crate::runtime::tls::Pair;

/// What is in the Secret. Its `Debug` shows no key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Material {
    /// CAs in PEM, the newest first: what API servers are to trust.
    pub bundle: String,
    /// Key of the newest CA.
    pub ca_key: String,
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Material {
    /// What a listener needs.
    pub fn pair(&self) -> Pair {
        Pair { certificate: self.certificate.clone().into_bytes(), key: self.key.clone().into_bytes() }
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material")
            .field("bundle", &self.bundle)
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}
