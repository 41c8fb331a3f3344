//! Certificates that change, and that end.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair, KeyUsagePurpose};
use roster::runtime::{
    certificates::{CertificateLifetimes, Material, RenewalAction, step},
    tls::CertificateInfo,
};
use roster_engine::model::installed::{NAMESPACE, SECRET};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::json;

use super::tls;
use crate::{
    load::Load,
    network::row,
    site::{Site, Source, made_at, names},
    wait,
};

/// How often the certificate changes.
const ROTATIONS: usize = 20;
/// Writes a second where they fail.
const FEW: u32 = 20;
/// Until an API server has heard of a change, which it does not tell; it watches its configurations.
const HEARD: Duration = Duration::from_secs(1);
/// Until the first certificate and the first CA have ended.
const ENDED: Duration = Duration::from_secs(16);
/// Lives of seconds. The second certificate is made after 8 of them, by the first CA; the second CA comes after 10, and
/// has two thirds of what is left to become known.
const SHORT: [&str; 2] = ["--certificate-lifetime=12s", "--ca-lifetime=15s"];

fn next(material: &Material, action: RenewalAction) -> Material {
    step(Timestamp::now(), action, material.clone(), &names(), &CertificateLifetimes::default()).unwrap()
}

/// Swaps the folder, and waits until every replica shows the new certificate.
fn swap(site: &mut Site, material: Material) {
    site.volume.swap(material);
    for replica in &site.replicas {
        let shows = || site.runtime().block_on(tls::shows(replica.webhook(), &site.volume.material));
        wait("the new certificate is shown", || shows().then_some(()));
    }
}

pub(super) fn rotated(site: &mut Site, load: &Load) -> String {
    for n in 1..=ROTATIONS {
        let material = next(&site.volume.material, RenewalAction::NewLeaf);
        swap(site, material);
        // The same CA in another text: the API server comes on new connections, and sees the new certificate.
        site.set_bundle(&(site.volume.material.bundle.clone() + &"\n".repeat(n)));
    }
    load.go_on(100);
    assert_trusted(site);
    format!("certificate rotated {ROTATIONS} times")
}

pub(super) fn ca_rotated(site: &mut Site, load: &Load) -> String {
    // Both CAs are known before the first certificate of the new one is shown, and until the last of the old is gone.
    let both = next(&site.volume.material, RenewalAction::NewCa);
    site.set_bundle(&both.bundle);
    sleep(HEARD);
    let material = next(&both, RenewalAction::NewLeaf);
    swap(site, material);
    // A key that is not that of the certificate: what was served stays.
    let good = site.volume.material.clone();
    let before = kept(site);
    let bad = Material { key: next(&good, RenewalAction::NewLeaf).key, ..good.clone() };
    site.volume.swap(bad);
    wait("the bad pair is seen", || kept(site).iter().zip(&before).all(|(now, before)| now > before).then_some(()));
    site.volume.swap(good.clone());
    site.volume.material.bundle = next(&good, RenewalAction::DropOld).bundle;
    site.set_bundle(&site.volume.material.bundle);
    load.go_on(200);
    assert_trusted(site);
    "CA rotated, a bad pair between".to_owned()
}

/// How often each replica has seen bad files.
fn kept(site: &Site) -> Vec<u64> {
    site.replicas.iter().map(|r| r.metric("roster_certificate_reloads_total{result=\"kept\"}")).collect()
}

fn assert_trusted(site: &Site) {
    for replica in &site.replicas {
        assert_eq!(replica.metric("roster_tls_handshake_errors_total{reason=\"untrusted\"}"), 0, "{}", replica.pod);
    }
}

/// A `caBundle` that does not verify the certificate. Here writes fail, or pass: it is also the proof that the load
/// notices.
pub(super) fn bundle_is_wrong(site: &Site) {
    let good = site.volume.material.bundle.clone();
    for (name, bundle) in
        [("caBundle foreign", made_at(Timestamp::now()).bundle), ("caBundle expired", expired(&site.volume.material))]
    {
        // Few writes: each fails with a handshake of its own.
        let load = site.load_of(FEW);
        site.set_bundle(&bundle);
        for replica in &site.replicas {
            let said = wait("it is not ready", || Some(replica.readyz()).filter(|a| a.starts_with("HTTP/1.1 503")));
            assert!(said.contains("[-]ca-bundle failed: "), "{said}");
            for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition"] {
                let metric = format!("roster_ca_bundle_mismatch{{configuration=\"{kind}\"}}");
                wait(kind, || (replica.metric(&metric) == 1).then_some(()));
            }
            assert!(replica.log_text().contains("API servers do not accept the certificate"));
        }
        // Else the replicas could be withdrawn later, and what is published now be of before.
        site.wait_until_published(0);
        site.set_bundle(&good);
        site.wait_until_published(2);
        sleep(HEARD);
        let tally = load.stop();
        row(&format!("{name}, seen and restored"), &tally.to_string());
        assert!(tally.failed.closed > 0 && tally.admitted.open > 0, "{tally:?}");
        assert_eq!((tally.failed.open, tally.admitted.closed), (0, 0), "{:?}", tally.complaints);
    }
}

/// After that, everything is as before.
pub(super) fn bundle_is_right(_: &mut Site, _: &Load) -> String {
    "caBundle right again".to_owned()
}

/// The CA of `material`, with the same key, as it was years ago.
fn expired(material: &Material) -> String {
    let key = KeyPair::from_pem(&material.ca_key).unwrap();
    let ca = CertificateDer::from_pem_slice(material.bundle.as_bytes()).unwrap();
    let subject = CertificateInfo::of(&ca).unwrap().subject;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject.strip_prefix("CN=").unwrap());
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    params.self_signed(&key).unwrap().pem()
}

/// A replica begins with a Secret and `caBundle`s in which everything has ended.
pub(super) fn end_all(site: &mut Site) {
    while !site.replicas.is_empty() {
        let gone = site.retire(0);
        site.bury(gone);
    }
    let old = made_at(Timestamp::now() - SignedDuration::from_hours(24 * 800));
    let data = [("ca.crt", &old.bundle), ("ca.key", &old.ca_key), ("tls.crt", &old.certificate), ("tls.key", &old.key)];
    let data: serde_json::Map<_, _> =
        data.into_iter().map(|(k, v)| (k.to_owned(), BASE64_STANDARD.encode(v).into())).collect();
    let secret = json!({
        "metadata": { "name": SECRET, "annotations": { "roster.dev/self-signed": "true" } },
        "type": "kubernetes.io/tls",
        "data": data,
    });
    site.api.create(&format!("/api/v1/namespaces/{NAMESPACE}/secrets"), &secret);
    site.set_bundle(&old.bundle);
    site.add(Source::SelfSigned(&SHORT));
}

/// As soon as it is ready it is trusted, and so is the next.
pub(super) fn begun_after_the_end(site: &mut Site, _: &Load) -> String {
    site.add(Source::SelfSigned(&SHORT));
    "all certificates ended before the start".to_owned()
}

/// Certificates and a CA end while the load runs.
pub(super) fn past_expiry(site: &mut Site, _: &Load) -> String {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}");
    let stored = |key: &str| {
        let text = site.api.get(&path)["data"][key].as_str().unwrap().to_owned();
        String::from_utf8(BASE64_STANDARD.decode(text).unwrap()).unwrap()
    };
    let newest = |bundle: &str| bundle.split_inclusive("-----END CERTIFICATE-----").next().unwrap().to_owned();
    let (mut leaves, mut cas) = (vec![stored("tls.crt")], vec![newest(&stored("ca.crt"))]);
    let begin = Instant::now();
    while begin.elapsed() < ENDED {
        let (leaf, ca) = (stored("tls.crt"), newest(&stored("ca.crt")));
        if leaves.last() != Some(&leaf) {
            leaves.push(leaf);
        }
        if cas.last() != Some(&ca) {
            cas.push(ca);
        }
        sleep(Duration::from_millis(100));
    }
    for first in [&leaves[0], &cas[0]] {
        let certificate = CertificateDer::from_pem_slice(first.as_bytes()).unwrap();
        assert!(CertificateInfo::of(&certificate).unwrap().valid(Timestamp::now()).is_err(), "it was to end meanwhile");
    }
    let (leaves, cas) = (leaves.len(), cas.len());
    assert!(leaves > 2 && cas > 1, "{leaves} certificates, {cas} CAs");
    format!("clock past expiry: {leaves} certificates, {cas} CAs")
}
