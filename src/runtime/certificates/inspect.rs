//! What is in the stored text.

use rcgen::{KeyPair, PublicKeyData};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{
    Material,
    plan::{Ca, Leaf, Stored},
};
use crate::runtime::tls::{Facts, certificates};

/// What `material` holds. What cannot be read counts as not there.
pub fn inspect(material: &Material, published: bool) -> Stored {
    let bundle = certificates(material.bundle.as_bytes()).unwrap_or_default();
    let cas: Vec<Ca> = bundle.iter().filter_map(Facts::of).map(|facts| Ca { facts }).collect();
    // One that cannot be read would make the places of the others wrong.
    let whole = cas.len() == bundle.len();
    let can_sign = whole && bundle.first().is_some_and(|ca| is_key_of(&material.ca_key, ca));
    // Read as a listener reads it: a certificate without its key is none.
    let leaf = material.pair().facts().ok().map(|facts| {
        let signer = cas.iter().position(|ca| ca.facts.subject == facts.issuer);
        Leaf { facts, signer }
    });
    Stored { cas, can_sign, leaf, published }
}

fn is_key_of(pem: &str, certificate: &[u8]) -> bool {
    let Ok(key) = KeyPair::from_pem(pem) else { return false };
    let Ok((_, x509)) = X509Certificate::from_der(certificate) else { return false };
    x509.public_key().raw == key.subject_public_key_info()
}
