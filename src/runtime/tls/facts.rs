//! What a certificate says of itself.

use std::fmt;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer, X509Certificate},
};

/// What a certificate says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// From when on it is valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
    /// DNS names and addresses it is for.
    pub names: Vec<String>,
    /// Whom it is for.
    pub subject: String,
    /// Who made it.
    pub issuer: String,
}

/// Why a certificate is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It begins later.
    NotYet(Timestamp),
    /// It has ended.
    Expired(Timestamp),
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet(at) => write!(f, "the certificate is not valid before {at}"),
            Self::Expired(at) => write!(f, "the certificate expired at {at}"),
        }
    }
}

impl Facts {
    /// Reads a certificate; `None` if it is none.
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
    pub fn valid(&self, now: Timestamp) -> Result<(), Invalid> {
        if now < self.not_before {
            Err(Invalid::NotYet(self.not_before))
        } else if now > self.not_after {
            Err(Invalid::Expired(self.not_after))
        } else {
            Ok(())
        }
    }

    /// Seconds until it ends; negative when it has.
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
