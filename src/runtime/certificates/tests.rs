//! Renewals over many years, in no time: the time is a value.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;

use super::{
    CertificateLifetimes, Material, RenewalAction, TrustError, advance, in_memory, inspect, next_action, step, trusts,
};
use crate::runtime::{
    clock::Clock,
    tls::{CertificateInfo, DynamicCertificate, TlsMetrics, certificates},
};

const NAME: &str = "roster-webhook.roster-system.svc";

fn names() -> Vec<String> {
    vec![NAME.to_owned(), "127.0.0.1".to_owned()]
}

fn begin() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn days(n: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * n)
}

fn fresh(now: Timestamp) -> Material {
    advance(now, Material::default(), true, &names(), &CertificateLifetimes::default()).unwrap().0
}

fn accepted(bundle: &str, material: &Material, now: Timestamp) -> Result<(), TrustError> {
    let chain = certificates(material.certificate.as_bytes()).map_err(TrustError::Unreadable)?;
    trusts(bundle.as_bytes(), &chain, NAME, now)
}

fn cas(material: &Material) -> usize {
    certificates(material.bundle.as_bytes()).unwrap().len()
}

#[test]
fn the_first_round_issues_everything() {
    let (material, until) =
        advance(begin(), Material::default(), true, &names(), &CertificateLifetimes::default()).unwrap();
    assert_eq!(until, begin() + days(60), "two thirds of ninety days");
    assert_eq!(accepted(&material.bundle, &material, begin()), Ok(()));
    let info = material.key_pair().info().unwrap();
    assert_eq!((info.names, info.not_after), (names(), begin() + days(90)));
    assert!(!format!("{material:?}").contains("PRIVATE"), "no key in a log");
}

#[test]
fn nothing_is_issued_twice() {
    let material = fresh(begin());
    for days_later in [0, 1, 59] {
        let now = begin() + days(days_later);
        assert_eq!(
            advance(now, material.clone(), true, &names(), &CertificateLifetimes::default()).unwrap().0,
            material
        );
    }
}

/// Four years, a day at a time: API servers trust a bundle for as long as the other replica still serves what it
/// loaded at most a poll ago.
#[test]
fn at_no_moment_is_a_certificate_unknown() {
    let life = CertificateLifetimes { settle: days(3), ..CertificateLifetimes::default() };
    let mut now = begin();
    let mut material = fresh(now);
    let (mut published, mut loaded) = (material.bundle.clone(), material.clone());
    let (mut leaves, mut most_cas) = (1, 1);
    while now < begin() + days(4 * 365) {
        let (next, _) = advance(now, material.clone(), published == material.bundle, &names(), &life).unwrap();
        leaves += usize::from(next.certificate != material.certificate);
        material = next;
        // Between the Secret and the bundle, and before the other replica has read:
        for bundle in [&published, &material.bundle] {
            for served in [&loaded, &material] {
                assert_eq!(accepted(bundle, served, now), Ok(()), "{now}");
            }
        }
        published = material.bundle.clone();
        loaded = material.clone();
        most_cas = most_cas.max(cas(&material));
        now += days(1);
    }
    assert_eq!(most_cas, 2);
    // One each sixty days, and at most one more for each of the CAs, which come each 243 days.
    assert!((24..=32).contains(&leaves), "{leaves}");
    assert_eq!(cas(&material), 1);
}

/// A certificate is dated to the second in which it was made: a short settling time must not be over before it began.
#[test]
fn a_step_settles_however_late_in_its_second_it_was_made() {
    let millis = SignedDuration::from_millis;
    let (whole, settle) = (SignedDuration::from_secs(12), millis(500));
    let life = CertificateLifetimes { ca: whole, leaf: whole, settle };
    for late in [0, 1, 500, 999] {
        let first = advance(begin(), Material::default(), true, &names(), &life).unwrap().0;
        let at = begin() + SignedDuration::from_secs(8) + millis(late);
        let both = step(at, RenewalAction::NewCa, first, &names(), &life).unwrap();
        let (unchanged, _) = advance(at + life.settle - millis(1), both.clone(), true, &names(), &life).unwrap();
        assert_eq!(unchanged, both, "the new CA is not everywhere yet, {late} ms");
        let at = at + SignedDuration::from_secs(2);
        let (switched, _) = advance(at, both, true, &names(), &life).unwrap();
        let (unchanged, _) = advance(at + life.settle - millis(1), switched.clone(), true, &names(), &life).unwrap();
        assert_eq!((unchanged, cas(&switched)), (switched, 2), "not every replica has the new certificate, {late} ms");
    }
}

#[test]
fn a_clock_past_expiry_gets_everything_anew() {
    let old = fresh(begin());
    let now = begin() + days(1000);
    assert_eq!(accepted(&old.bundle, &old, now), Err(TrustError::Dates));
    let (new, _) = advance(now, old, true, &names(), &CertificateLifetimes::default()).unwrap();
    assert_eq!((accepted(&new.bundle, &new, now), cas(&new)), (Ok(()), 1));
}

#[test]
fn the_next_step() {
    let life = CertificateLifetimes::default();
    let plan_of = |now: Timestamp, material: &Material, published: bool, names: &[String]| {
        next_action(now, &inspect(material, published), names, &life)
    };
    let first = fresh(begin());
    let rotated = step(begin() + days(250), RenewalAction::NewCa, first.clone(), &names(), &life).unwrap();
    // Renewed meanwhile, so that it is still valid when the CA is due.
    let leaf = step(begin() + days(200), RenewalAction::NewLeaf, first.clone(), &names(), &life).unwrap();
    let both = Material { bundle: rotated.bundle.clone(), ca_key: rotated.ca_key.clone(), ..leaf.clone() };
    let minutes = SignedDuration::from_mins;
    let at = begin() + days(250);
    // They are dated to the second.
    let second = SignedDuration::from_secs(1);
    let switched = step(at + minutes(5), RenewalAction::NewLeaf, both.clone(), &names(), &life).unwrap();
    let more = [names(), vec!["another.svc".to_owned()]].concat();
    for (name, now, material, published, names, want) in [
        ("nothing there", begin(), &Material::default(), true, names(), RenewalAction::NewCa),
        ("fresh", begin(), &first, true, names(), RenewalAction::Keep(begin() + days(60))),
        ("two thirds of the certificate", begin() + days(60), &first, true, names(), RenewalAction::NewLeaf),
        ("the certificate has ended", begin() + days(91), &first, true, names(), RenewalAction::NewLeaf),
        ("another name", begin(), &first, true, more, RenewalAction::NewLeaf),
        ("two thirds of the CA", begin() + days(244), &leaf, true, names(), RenewalAction::NewCa),
        ("the clock was ahead", begin() - days(1), &first, true, names(), RenewalAction::NewCa),
        (
            "no CA key",
            begin(),
            &Material { ca_key: String::new(), ..first.clone() },
            true,
            names(),
            RenewalAction::NewCa,
        ),
        (
            "a foreign key",
            begin(),
            &Material { key: leaf.key.clone(), ..first.clone() },
            true,
            names(),
            RenewalAction::NewLeaf,
        ),
        ("a new CA, not settled", at, &both, true, names(), RenewalAction::Keep(at + minutes(5) + second)),
        ("a new CA, settled", at + minutes(5) + second, &both, true, names(), RenewalAction::NewLeaf),
        (
            "a new CA that no API server knows",
            at + minutes(9),
            &both,
            false,
            names(),
            RenewalAction::Keep(at + minutes(9)),
        ),
        (
            "a new CA that no API server knows, and no time left",
            at + days(41),
            &both,
            false,
            names(),
            RenewalAction::NewLeaf,
        ),
        (
            "switched, not settled",
            at + minutes(6),
            &switched,
            true,
            names(),
            RenewalAction::Keep(at + minutes(10) + second),
        ),
        ("switched, settled", at + minutes(10) + second, &switched, true, names(), RenewalAction::DropOld),
    ] {
        assert_eq!(plan_of(now, material, published, &names), want, "{name}");
    }
}

/// The CA of `material` with the same name and key, as it was before it was renewed.
fn ended(material: &Material) -> String {
    let ca = &certificates(material.bundle.as_bytes()).unwrap()[0];
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let name = CertificateInfo::of(ca).unwrap().subject;
    params.distinguished_name.push(rcgen::DnType::CommonName, name.strip_prefix("CN=").unwrap());
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    params.self_signed(&rcgen::KeyPair::from_pem(&material.ca_key).unwrap()).unwrap().pem()
}

#[test]
fn a_bundle_is_judged_as_an_api_server_judges_it() {
    let (ours, other, now) = (fresh(begin()), fresh(begin()), begin());
    let chain = certificates(ours.certificate.as_bytes()).unwrap();
    let judge = |bundle: &str, name: &str, now| trusts(bundle.as_bytes(), &chain, name, now);
    let two = format!("{}{}", other.bundle, ours.bundle);
    for (name, got, want) in [
        ("ours", judge(&ours.bundle, NAME, now), Ok(())),
        ("an address", judge(&ours.bundle, "127.0.0.1", now), Ok(())),
        ("both", judge(&two, NAME, now), Ok(())),
        ("itself", judge(&ours.certificate, NAME, now), Ok(())),
        ("itself, later", judge(&ours.certificate, NAME, now + days(91)), Err(TrustError::Dates)),
        ("none", judge(" \n", NAME, now), Err(TrustError::Empty)),
        ("another CA", judge(&other.bundle, NAME, now), Err(TrustError::Foreign)),
        ("later", judge(&ours.bundle, NAME, now + days(91)), Err(TrustError::Dates)),
        ("a CA that has ended", judge(&ended(&ours), NAME, now), Err(TrustError::Dates)),
        ("one of two has ended", judge(&(ended(&ours) + &ours.bundle), NAME, now), Ok(())),
        ("another CA, which has ended", judge(&ended(&other), NAME, now), Err(TrustError::Foreign)),
        ("another name", judge(&ours.bundle, "x.svc", now), Err(TrustError::Name("x.svc".to_owned()))),
    ] {
        assert_eq!(got, want, "{name}");
    }
    assert!(matches!(judge("nonsense", NAME, now), Err(TrustError::Unreadable(_))));
    assert_eq!(CertificateInfo::of(&chain[0]).unwrap().subject, "CN=roster webhook");
}

#[tokio::test(start_paused = true)]
async fn what_is_served_from_memory_renews_itself_past_every_expiry() {
    let second = Arc::new(AtomicI64::new(begin().as_second()));
    let seconds = second.clone();
    let clock = Clock::new(move || Timestamp::from_second(seconds.load(Ordering::Relaxed)).unwrap());
    let served = DynamicCertificate::new(TlsMetrics::default());
    let (first, renew) = in_memory(served.clone(), clock.clone(), names(), CertificateLifetimes::default()).unwrap();
    assert_eq!(served.current().unwrap().chain, certificates(first.certificate.as_bytes()).unwrap());
    tokio::spawn(async move { panic!("renewing ended: {}", renew.await) });
    for (day, ends) in [(59, 90), (60, 150), (1000, 1090), (5000, 5090)] {
        second.store((begin() + days(day)).as_second(), Ordering::Relaxed);
        sleep(Duration::from_secs(61)).await;
        let info = served.current().unwrap().info.clone();
        assert_eq!((info.valid(clock.now()), info.not_after), (Ok(()), begin() + days(ends)), "day {day}");
    }
}
