//! The certificate manager with an API server in memory: what it serves where something cannot be written.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use roster_engine::model::Resource;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::{
    ca_bundles::{BundleMetrics, BundleObject, CallerNames, ObjectVersion, WebhookClientConfig},
    certificate_manager::{CertificateManager, ManagerOptions, loses},
};
use crate::runtime::{
    certificates::{CertificateLifetimes, Material, SelfSignedOptions, advance as advance_material},
    clock::Clock,
    tls::{DynamicCertificate, TlsMetrics, certificates},
};

const NAME: &str = "roster-webhook.roster-system.svc";
const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";
const CRD: &str = "customresourcedefinitions";

fn begin() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// Objects by the ends of their paths.
#[derive(Clone, Default)]
struct Cluster {
    objects: Arc<Mutex<BTreeMap<String, Value>>>,
    /// What may not be written.
    forbidden: &'static [&'static str],
    /// What gets no answer.
    silent: &'static [&'static str],
    /// What someone else writes just before the next write.
    outrun: Arc<Mutex<Option<&'static str>>>,
}

impl Cluster {
    /// One in which everything calls us, without a `caBundle`.
    fn new(forbidden: &'static [&'static str], silent: &'static [&'static str]) -> Self {
        let config = json!({ "service": { "name": "roster-webhook", "namespace": "roster-system" } });
        let webhooks = |kind: &str| {
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": "roster" },
                "webhooks": [{ "name": "a.roster.dev", "clientConfig": config }],
            })
        };
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "p" },
            "spec": { "conversion": { "strategy": "Webhook", "webhook": { "clientConfig": config } } },
        });
        let objects = [
            (format!("{MUTATING}/roster"), webhooks("MutatingWebhookConfiguration")),
            (format!("{VALIDATING}/roster"), webhooks("ValidatingWebhookConfiguration")),
            (format!("{CRD}/p"), crd),
        ];
        Self { objects: Arc::new(Mutex::new(objects.into())), forbidden, silent, outrun: Arc::default() }
    }

    fn client(&self) -> kube::Client {
        kube::Client::new(Router::new().fallback(answer).with_state(self.clone()), "default")
    }

    /// Those that have a `caBundle`.
    fn written(&self) -> Vec<&'static str> {
        let objects = self.objects.lock().unwrap();
        let has = |plural: &&&str| {
            objects.iter().any(|(path, object)| path.starts_with(**plural) && object.to_string().contains("caBundle"))
        };
        [MUTATING, VALIDATING, CRD].iter().filter(has).copied().collect()
    }
}

fn status(code: StatusCode, reason: &str) -> Response {
    let text = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(), "reason": reason, "message": reason });
    (code, Json(text)).into_response()
}

async fn answer(State(cluster): State<Cluster>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let segments: Vec<&str> = head.uri.path().split('/').collect();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let is = |all: &[&str]| segments.iter().any(|s| all.contains(s));
    if is(cluster.silent) {
        return std::future::pending().await;
    }
    if is(cluster.forbidden) && head.method != Method::GET {
        return status(StatusCode::FORBIDDEN, "Forbidden");
    }
    if head.method != Method::GET && cluster.outrun.lock().unwrap().take_if(|o| is(&[o])).is_some() {
        return status(StatusCode::CONFLICT, "Conflict");
    }
    let mut objects = cluster.objects.lock().unwrap();
    let key = match (&head.method, &body["metadata"]["name"]) {
        (&Method::POST, Value::String(name)) => format!("{}/{name}", segments[segments.len() - 1]),
        _ => segments[segments.len() - 2..].join("/"),
    };
    if head.method == Method::PATCH {
        let Some(object) = objects.get_mut(&key) else { return status(StatusCode::NOT_FOUND, "NotFound") };
        let bundle =
            |from: &Value, to: &mut Value| to["clientConfig"]["caBundle"] = from["clientConfig"]["caBundle"].clone();
        if object["webhooks"].is_array() {
            bundle(&body["webhooks"][0], &mut object["webhooks"][0]);
        } else {
            bundle(&body["spec"]["conversion"]["webhook"], &mut object["spec"]["conversion"]["webhook"]);
        }
    } else if head.method != Method::GET {
        objects.insert(key.clone(), body);
    }
    match objects.get(&key) {
        Some(object) => Json(object.clone()).into_response(),
        None => status(StatusCode::NOT_FOUND, "NotFound"),
    }
}

fn manager(cluster: &Cluster) -> (CertificateManager, Arc<DynamicCertificate>) {
    let own = SelfSignedOptions {
        namespace: "roster-system".to_owned(),
        secret: "roster-webhook-tls".to_owned(),
        lease: "roster-certificates".to_owned(),
        identity: "me".to_owned(),
        names: vec![NAME.to_owned()],
        life: CertificateLifetimes::default(),
    };
    let served = DynamicCertificate::new(TlsMetrics::default());
    let configured = CallerNames { configuration: "roster".to_owned(), crd: "p".to_owned() };
    let options = ManagerOptions { configured, own: Some(own) };
    (
        CertificateManager::new(cluster.client(), options, served.clone(), Clock::new(begin), BundleMetrics::default()),
        served,
    )
}

/// The first start of the only replica: one `caBundle` that cannot be written must not keep everybody waiting.
#[tokio::test]
async fn an_object_that_cannot_be_written_does_not_hold_back_the_certificate() {
    let all = vec![MUTATING, VALIDATING, CRD];
    for (forbidden, serves, written, error) in [
        (&[] as &'static [&'static str], true, all.clone(), None),
        (&[CRD], true, vec![MUTATING, VALIDATING], Some("writing the caBundle of CustomResourceDefinition p")),
        (&[MUTATING], true, vec![VALIDATING, CRD], Some("writing the caBundle of MutatingWebhookConfiguration roster")),
        // Others could not have it, and the next start would make another.
        (&["secrets"], false, vec![], Some("the Secret roster-webhook-tls")),
        (&["leases"], false, vec![], Some("the Lease")),
    ] {
        let cluster = Cluster::new(forbidden, &[]);
        let (mut manager, served) = manager(&cluster);
        for round in 0..2 {
            let done = manager.round().await.map_err(|e| e.to_string());
            assert_eq!(done.is_err(), error.is_some(), "{forbidden:?}: {done:?}");
            assert!(done.err().unwrap_or_default().starts_with(error.unwrap_or_default()), "{forbidden:?}");
            assert_eq!(
                (served.current().is_some(), cluster.written()),
                (serves, written.clone()),
                "{forbidden:?} {round}"
            );
        }
        assert_eq!(manager.trust().check(), Ok(()), "{forbidden:?}: nobody else could do more");
        // The Lease is free for others.
        let lease = cluster.objects.lock().unwrap().get("leases/roster-certificates").cloned().unwrap_or_default();
        assert!(matches!(lease["spec"]["holderIdentity"].as_str(), None | Some("")), "{lease}");
        // A replica that starts later has the same.
        let (mut later, again) = self::manager(&cluster);
        let _ = later.round().await;
        let chain = |served: &DynamicCertificate| served.current().map(|c| c.chain.clone());
        assert_eq!(chain(&served), chain(&again), "{forbidden:?}");
    }
}

/// A new certificate of a new CA waits until every client that accepts the old one accepts it.
#[test]
fn callers_that_accept_the_served_certificate_accept_the_next_one() {
    let fresh = |at: Timestamp| {
        advance_material(at, Material::default(), true, &[NAME.to_owned()], &CertificateLifetimes::default())
            .map(|(made, _)| made)
            .unwrap()
    };
    let (old, new) = (fresh(begin()), fresh(begin()));
    let long_ago = fresh("2020-01-01T00:00:00Z".parse().unwrap());
    let chain = |material: &Material| certificates(material.certificate.as_bytes()).unwrap();
    let both = format!("{}{}", new.bundle, old.bundle);
    for (name, bundles, now_served, next, want) in [
        ("nothing is served", vec![&old.bundle], vec![], &new, false),
        ("the same CA", vec![&old.bundle], chain(&old), &old, false),
        ("a new CA that nobody has", vec![&old.bundle], chain(&old), &new, true),
        ("a new CA that one has not", vec![&both, &old.bundle], chain(&old), &new, true),
        ("a new CA that all have", vec![&both, &new.bundle], chain(&old), &new, false),
        ("what is served has ended", vec![&long_ago.bundle], chain(&long_ago), &new, false),
        ("nobody accepts anything", vec![&String::new()], chain(&old), &new, false),
    ] {
        let caller = |bundle: &&String| WebhookClientConfig {
            webhook: "a.roster.dev".to_owned(),
            server: NAME.to_owned(),
            bundle: bundle.as_bytes().to_vec(),
        };
        let callers = bundles.iter().map(caller).collect();
        let (kind, version) = (Resource::ValidatingWebhookConfiguration, ObjectVersion::default());
        let watched = [BundleObject { kind, name: "roster".to_owned(), version, callers }];
        assert_eq!(loses(begin(), &watched, &now_served, next), want, "{name}");
    }
}

/// An API server that takes a request and says nothing holds nothing up for longer than the Lease counts.
#[tokio::test(start_paused = true)]
async fn every_step_has_a_time_limit() {
    for silent in [&["leases"] as &'static [&'static str], &["secrets"]] {
        let cluster = Cluster::new(&[], silent);
        let (mut manager, _) = manager(&cluster);
        let began = Instant::now();
        let done = manager.round().await;
        let error = done.map_err(|e| e.to_string()).unwrap_err();
        assert!(error.contains("no response from the API server within"), "{silent:?}: {error}");
        assert!(began.elapsed() <= Duration::from_secs(21), "{silent:?}: {:?}", began.elapsed());
    }
}

/// What was read before another replica wrote is out of date: nothing is written until a later round takes the Lease.
#[tokio::test(start_paused = true)]
async fn a_replica_writes_nothing_while_another_one_holds_the_lease() {
    let cluster = Cluster::new(&[], &[]);
    let held = json!({ "metadata": { "name": "roster-certificates", "resourceVersion": "1" },
        "spec": { "holderIdentity": "other", "leaseDurationSeconds": 15 } });
    cluster.objects.lock().unwrap().insert("leases/roster-certificates".to_owned(), held);
    let (mut manager, served) = manager(&cluster);
    for (second, written) in [(0, vec![]), (14, vec![]), (15, vec![MUTATING, VALIDATING, CRD])] {
        let began = Instant::now();
        let pause = manager.round().await.unwrap();
        assert!(pause <= Duration::from_secs(2) && began.elapsed().is_zero(), "{second}: {pause:?}");
        assert_eq!((served.current().is_some(), cluster.written()), (!written.is_empty(), written), "{second}");
        advance(Duration::from_secs(if second == 0 { 14 } else { 1 })).await;
    }
}

/// The Secret, or one `caBundle`, was written by someone else between the read and the write.
#[tokio::test]
async fn what_someone_else_wrote_meanwhile_is_read_again() {
    for (outrun, error) in [
        ("secrets", None),
        (
            CRD,
            Some("writing the caBundle of CustomResourceDefinition p: someone else wrote the object at the same time"),
        ),
    ] {
        let cluster = Cluster { outrun: Arc::new(Mutex::new(Some(outrun))), ..Cluster::new(&[], &[]) };
        let (mut manager, served) = manager(&cluster);
        let first = manager.round().await.map_err(|e| e.to_string());
        assert_eq!(first.clone().err().as_deref(), error, "{outrun}");
        assert!(error.is_some() || first == Ok(Duration::ZERO), "{outrun}: {first:?}");
        assert_eq!(served.current().is_some(), error.is_some(), "{outrun}");
        manager.round().await.unwrap();
        assert_eq!(
            (served.current().is_some(), cluster.written()),
            (true, vec![MUTATING, VALIDATING, CRD]),
            "{outrun}"
        );
    }
}
