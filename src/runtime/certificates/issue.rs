//! Issues certificates. This is not pure: keys come from the random numbers of the system.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};

use super::{
    Material, inspect,
    renewal::{BACKDATE, CertificateLifetimes, RenewalAction, next_action},
};
use crate::runtime::tls::{CertificateInfo, certificates};

/// The limit of steps in one call; no state needs as many.
const MAX_STEPS: usize = 4;

/// The limit of old CAs in a bundle.
const MAX_OLD: usize = 3;

/// Why a certificate cannot be issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// A name is not valid, or a key cannot be generated.
    #[error("cannot issue a certificate: {0}")]
    Rcgen(#[from] rcgen::Error),
    /// A date is out of range.
    #[error("cannot issue a certificate: its end is out of range")]
    Date,
}

/// Does everything that is due at `now`. Returns the material, unchanged if nothing was due, and when to check again.
pub fn advance(
    now: Timestamp,
    mut material: Material,
    published: bool,
    names: &[String],
    life: &CertificateLifetimes,
) -> Result<(Material, Timestamp), IssueError> {
    let stored_bundle = material.bundle.clone();
    for _ in 0..MAX_STEPS {
        // What was issued just now is not published anywhere yet.
        let stored = inspect(&material, published && material.bundle == stored_bundle);
        match next_action(now, &stored, names, life) {
            RenewalAction::Keep(until) => return Ok((material, until)),
            action => material = step(now, action, material, names, life)?,
        }
    }
    Ok((material, now))
}

/// Does one action.
pub fn step(
    now: Timestamp,
    action: RenewalAction,
    material: Material,
    names: &[String],
    life: &CertificateLifetimes,
) -> Result<Material, IssueError> {
    match action {
        RenewalAction::Keep(_) => Ok(material),
        RenewalAction::NewCa => new_ca(now, material, life),
        RenewalAction::NewLeaf => new_leaf(now, material, names, life),
        RenewalAction::DropOld => Ok(Material { bundle: newest(&material.bundle), ..material }),
    }
}

fn new_ca(now: Timestamp, material: Material, life: &CertificateLifetimes) -> Result<Material, IssueError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = params(now, later(now, life.ca)?)?;
    // Each CA has its own name, so that the issuer of a certificate is unique.
    params.distinguished_name = name(&format!("roster webhook CA {}", now.as_millisecond()));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    let ca = params.self_signed(&key)?;
    Ok(Material { bundle: ca.pem() + &still_valid(&material.bundle, now), ca_key: key.serialize_pem(), ..material })
}

fn new_leaf(
    now: Timestamp,
    material: Material,
    names: &[String],
    life: &CertificateLifetimes,
) -> Result<Material, IssueError> {
    let ca_key = KeyPair::from_pem(&material.ca_key)?;
    let issuer = Issuer::from_ca_cert_pem(&newest(&material.bundle), ca_key)?;
    // A certificate cannot outlive its CA.
    let ca_ends = certificates(material.bundle.as_bytes()).ok().and_then(|all| CertificateInfo::of(all.first()?));
    let ends = later(now, life.leaf)?;
    let ends = ca_ends.map_or(ends, |ca| ends.min(ca.not_after));
    let (certificate, key) = leaf(now, ends, names, &issuer)?;
    Ok(Material { certificate: certificate.pem(), key: key.serialize_pem(), ..material })
}

fn leaf(
    now: Timestamp,
    ends: Timestamp,
    names: &[String],
    issuer: &Issuer<'_, KeyPair>,
) -> Result<(Certificate, KeyPair), IssueError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = params(now, ends)?;
    params.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
    params.distinguished_name = name("roster webhook");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, issuer)?;
    Ok((certificate, key))
}

fn params(now: Timestamp, ends: Timestamp) -> Result<CertificateParams, IssueError> {
    let mut params = CertificateParams::default();
    params.not_before = date(now.checked_sub(BACKDATE).map_err(|_| IssueError::Date)?)?;
    params.not_after = date(ends)?;
    Ok(params)
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

fn later(now: Timestamp, by: SignedDuration) -> Result<Timestamp, IssueError> {
    now.checked_add(by).map_err(|_| IssueError::Date)
}

fn date(at: Timestamp) -> Result<time::OffsetDateTime, IssueError> {
    time::OffsetDateTime::from_unix_timestamp(at.as_second()).map_err(|_| IssueError::Date)
}

/// The last line of a PEM block.
const END: &str = concat!("-----END ", "CERTIFICATE-----");

/// The PEM blocks of certificates in a text.
fn blocks(pem: &str) -> impl Iterator<Item = &str> {
    pem.split_inclusive(END).filter(|b| b.contains(END))
}

/// The newest CA: the first of a bundle.
fn newest(bundle: &str) -> String {
    blocks(bundle).next().map(|b| b.trim().to_owned() + "\n").unwrap_or_default()
}

/// The CAs that are still valid at `now`, at most [`MAX_OLD`] of them.
fn still_valid(bundle: &str, now: Timestamp) -> String {
    let valid = |pem: &&str| {
        let info = certificates(pem.as_bytes()).ok().and_then(|all| CertificateInfo::of(all.first()?));
        info.is_some_and(|f| f.valid(now).is_ok())
    };
    blocks(bundle).filter(valid).take(MAX_OLD).map(|b| b.trim().to_owned() + "\n").collect()
}
