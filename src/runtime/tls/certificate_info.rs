//! The dates, names and issuer that a certificate contains.

use std::fmt;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer, X509Certificate},
};

/// The dates, names and issuer that a certificate contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateInfo {
    /// Start of its validity.
    pub not_before: Timestamp,
    /// End of its validity.
    pub not_after: Timestamp,
    /// DNS names and IP addresses that it is valid for.
    pub names: Vec<String>,
    /// Its subject.
    pub subject: String,
    /// Its issuer.
    pub issuer: String,
}

/// Why a certificate is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidityError {
    /// Its validity begins later.
    NotYet(Timestamp),
    /// It has expired.
    Expired(Timestamp),
}

impl fmt::Display for ValidityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet(at) => write!(f, "the certificate is not valid before {at}"),
            Self::Expired(at) => write!(f, "the certificate expired at {at}"),
        }
    }
}

impl CertificateInfo {
    /// Reads a certificate; `None` if it is not an X.509 certificate.
    pub fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, x509) = X509Certificate::from_der(certificate).ok()?;
        let time = |t: x509_parser::time::ASN1Time| Timestamp::from_second(t.timestamp()).ok();
        let names = x509.subject_alternative_name().ok().flatten().map(|san| &san.value.general_names);
        let names = names.into_iter().flatten().filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes),
            _ => None,
        });
        Some(Self {
            not_before: time(x509.validity().not_before)?,
            not_after: time(x509.validity().not_after)?,
            names: names.collect(),
            subject: x509.subject().to_string(),
            issuer: x509.issuer().to_string(),
        })
    }

    /// Whether it is valid at `now`.
    pub fn valid(&self, now: Timestamp) -> Result<(), ValidityError> {
        if now < self.not_before {
            Err(ValidityError::NotYet(self.not_before))
        } else if now > self.not_after {
            Err(ValidityError::Expired(self.not_after))
        } else {
            Ok(())
        }
    }

    /// Seconds until it expires; negative when it has.
    pub fn seconds_left(&self, now: Timestamp) -> i64 {
        self.not_after.as_second() - now.as_second()
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(std::net::Ipv4Addr::from(v4).to_string());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|v6| std::net::Ipv6Addr::from(v6).to_string())
}
