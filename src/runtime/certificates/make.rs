//! Makes certificates. Keys are drawn from the system's random numbers: this is no pure code, but it needs nothing else.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};

use super::{
    Material, inspect,
    plan::{Action, BACKDATE, Life, plan},
};
use crate::runtime::tls::{Facts, certificates};

/// More steps than any state needs.
const MAX_STEPS: usize = 4;

/// Most old CAs in a bundle.
const MAX_OLD: usize = 3;

/// Why a certificate cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A name is none, or a key cannot be made.
    #[error("cannot make a certificate: {0}")]
    Rcgen(#[from] rcgen::Error),
    /// A date is too far away.
    #[error("cannot make a certificate that ends so late")]
    Date,
}

/// Does everything that is due at `now`; also tells when to look again. Nothing was due if the material is the same.
pub fn advance(
    now: Timestamp,
    mut material: Material,
    published: bool,
    names: &[String],
    life: &Life,
) -> Result<(Material, Timestamp), MakeError> {
    let stored_bundle = material.bundle.clone();
    for _ in 0..MAX_STEPS {
        // What was made just now is published nowhere.
        let stored = inspect(&material, published && material.bundle == stored_bundle);
        match plan(now, &stored, names, life) {
            Action::Keep(until) => return Ok((material, until)),
            action => material = step(now, action, material, names, life)?,
        }
    }
    Ok((material, now))
}

/// Does one thing.
pub fn step(
    now: Timestamp,
    action: Action,
    material: Material,
    names: &[String],
    life: &Life,
) -> Result<Material, MakeError> {
    match action {
        Action::Keep(_) => Ok(material),
        Action::NewCa => new_ca(now, material, life),
        Action::NewLeaf => new_leaf(now, material, names, life),
        Action::DropOld => Ok(Material { bundle: newest(&material.bundle), ..material }),
    }
}

fn new_ca(now: Timestamp, material: Material, life: &Life) -> Result<Material, MakeError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = params(now, later(now, life.ca)?)?;
    // Each has a name of its own, by which its certificates know it.
    params.distinguished_name = name(&format!("roster webhook CA {}", now.as_millisecond()));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    let ca = params.self_signed(&key)?;
    Ok(Material { bundle: ca.pem() + &still_valid(&material.bundle, now), ca_key: key.serialize_pem(), ..material })
}

fn new_leaf(now: Timestamp, material: Material, names: &[String], life: &Life) -> Result<Material, MakeError> {
    let ca_key = KeyPair::from_pem(&material.ca_key)?;
    let issuer = Issuer::from_ca_cert_pem(&newest(&material.bundle), ca_key)?;
    // It cannot outlive its CA.
    let ca_ends = certificates(material.bundle.as_bytes()).ok().and_then(|all| Facts::of(all.first()?));
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
) -> Result<(Certificate, KeyPair), MakeError> {
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

fn params(now: Timestamp, ends: Timestamp) -> Result<CertificateParams, MakeError> {
    let mut params = CertificateParams::default();
    params.not_before = date(now.checked_sub(BACKDATE).map_err(|_| MakeError::Date)?)?;
    params.not_after = date(ends)?;
    Ok(params)
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

fn later(now: Timestamp, by: SignedDuration) -> Result<Timestamp, MakeError> {
    now.checked_add(by).map_err(|_| MakeError::Date)
}

fn date(at: Timestamp) -> Result<time::OffsetDateTime, MakeError> {
    time::OffsetDateTime::from_unix_timestamp(at.as_second()).map_err(|_| MakeError::Date)
}

/// The end of a block.
const END: &str = concat!("-----END ", "CERTIFICATE-----");

/// The blocks of a PEM text.
fn blocks(pem: &str) -> impl Iterator<Item = &str> {
    pem.split_inclusive(END).filter(|b| b.contains(END))
}

/// The first certificate.
fn newest(bundle: &str) -> String {
    blocks(bundle).next().map(|b| b.trim().to_owned() + "\n").unwrap_or_default()
}

/// Those that still count at `now`; a few at most, however often a new one was needed.
fn still_valid(bundle: &str, now: Timestamp) -> String {
    let valid = |pem: &&str| {
        let facts = certificates(pem.as_bytes()).ok().and_then(|all| Facts::of(all.first()?));
        facts.is_some_and(|f| f.valid(now).is_ok())
    };
    blocks(bundle).filter(valid).take(MAX_OLD).map(|b| b.trim().to_owned() + "\n").collect()
}
