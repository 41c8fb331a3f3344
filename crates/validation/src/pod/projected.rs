//! Volumes that consist of files from several sources.

use std::collections::BTreeSet;

use roster_engine::model::dns;

use super::{
    paths::check_file,
    volume_files::{check_downward, check_items},
};
use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, Presence},
    labels,
};

/// Where the files of a projected volume come from.
const SOURCES: [&str; 6] =
    ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];

/// How long a token is valid, in seconds.
const TOKEN_SECONDS: FieldRule = FieldRule::Range(600, 1 << 32);
const KEY_TYPES: FieldRule =
    FieldRule::OneOf(&["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"]);

/// Checks the sources of a projected volume.
pub(super) fn check(volume: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let mut paths = BTreeSet::new();
    for source in volume.key("sources").items() {
        let given = SOURCES.iter().filter(|name| source.key(name).is_set()).count();
        if given > 1 {
            source.refuse("it has more than one source", faults);
        }
        for name in ["secret", "configMap"] {
            let of = source.key(name);
            if of.is_set() {
                FieldRule::Text.check(&of.key("name"), Presence::Required, faults);
                check_items(&of.key("items"), faults);
                check_repeated(&of.key("items"), &mut paths, faults);
            }
        }
        let downward = source.key("downwardAPI");
        check_downward(&downward.key("items"), faults);
        check_repeated(&downward.key("items"), &mut paths, faults);
        check_token(&source.key("serviceAccountToken"), faults);
        check_bundle(&source.key("clusterTrustBundle"), &mut paths, faults);
        check_certificate(&source.key("podCertificate"), &mut paths, faults);
    }
}

fn check_repeated<'v>(items: &Field<'v, '_>, paths: &mut BTreeSet<&'v str>, faults: &mut Faults<'_>) {
    for item in items.items() {
        check_unique(&item.key("path"), paths, faults);
    }
}

fn check_unique<'v>(path: &Field<'v, '_>, paths: &mut BTreeSet<&'v str>, faults: &mut Faults<'_>) {
    if !path.text().is_empty() && !paths.insert(path.text()) {
        path.refuse(format!("the path {} is repeated", quoted(path.text())), faults);
    }
}

/// An API server fills in how long a token is valid.
fn check_token(token: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if token.is_set() {
        TOKEN_SECONDS.check(&token.key("expirationSeconds"), Presence::Optional, faults);
        let path = token.key("path");
        FieldRule::Text.check(&path, Presence::Required, faults);
        check_file(&path, faults);
    }
}

fn check_bundle<'v>(bundle: &Field<'v, '_>, paths: &mut BTreeSet<&'v str>, faults: &mut Faults<'_>) {
    if !bundle.is_set() {
        return;
    }
    let (name, signer) = (bundle.key("name"), bundle.key("signerName"));
    let selector = bundle.key("labelSelector");
    match (name.is_set(), signer.is_set()) {
        (true, true) => bundle.refuse("it has both name and signerName", faults),
        (false, false) => bundle.require("it needs name or signerName", faults),
        (true, false) if selector.is_set() => selector.refuse("it needs signerName instead of name", faults),
        _ => {}
    }
    if name.as_text() == Some("") {
        name.require("it must not be empty", faults);
    }
    if signer.is_set() {
        check_signer(&signer, faults);
    }
    labels::check_selector(&selector, faults);
    let path = bundle.key("path");
    FieldRule::Text.check(&path, Presence::Required, faults);
    check_file(&path, faults);
    check_unique(&path, paths, faults);
}

/// The name of a signer of certificates, as `example.com/signer`.
fn check_signer(name: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let are_labels = |text: &str| text.split('.').all(|label| dns::is_label(label.as_bytes()));
    let is_domain = |text: &str| text.len() <= dns::MAX_SUBDOMAIN && text.contains('.') && are_labels(text);
    let is_path = |text: &str| text.split('.').all(|part| dns::is_subdomain(part.as_bytes()));
    if !name.text().split_once('/').is_some_and(|(domain, path)| is_domain(domain) && is_path(path)) {
        name.refuse(format!("{} is not the name of a signer such as example.com/signer", quoted(name.text())), faults);
    }
}

fn check_certificate<'v>(certificate: &Field<'v, '_>, paths: &mut BTreeSet<&'v str>, faults: &mut Faults<'_>) {
    if !certificate.is_set() {
        return;
    }
    check_signer(&certificate.key("signerName"), faults);
    KEY_TYPES.check(&certificate.key("keyType"), Presence::Required, faults);
    let seconds = certificate.key("maxExpirationSeconds");
    FieldRule::Range(3600, i64::MAX).check(&seconds, Presence::Optional, faults);
    let files = ["credentialBundlePath", "keyPath", "certificateChainPath"].map(|name| certificate.key(name));
    if files.iter().all(|path| path.text().is_empty()) {
        certificate.require("it needs a path for the certificate or the key", faults);
    }
    for path in &files {
        check_file(path, faults);
        check_unique(path, paths, faults);
    }
}
