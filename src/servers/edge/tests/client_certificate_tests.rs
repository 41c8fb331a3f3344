//! Tests of the node proxy with clients that have certificates: over TLS, with API servers in memory.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU16, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, Response},
};
use futures::FutureExt;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName},
};
use serde_json::{Value, json};
use tokio::{net::TcpStream, sync::oneshot};
use tokio_rustls::TlsConnector;

use super::connection_tests::serve_on;
use crate::runtime::{
    clock::Clock,
    net::{ServerOptions, ServerPart, Socket, TlsOptions},
    tls::{CertificateFiles, CertificateKeyPair, ClientCaFile, DynamicCertificate, TlsMetrics, provider},
};
use crate::servers::edge::{
    access::client_certificates::ClientCertificates,
    metrics::LISTENER,
    part::TLS,
    tests::{GOOD, SERVICES, SLICES, TestedEdge},
    upstream::api_server::ApiServer,
};

const TABLE: (&str, &str) = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
const TABLE_ONLY: (&str, &str) = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
const USER: &str = "system:kube-proxy";

/// A CA of clients.
struct Ca {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate that a client shows, and its key.
#[derive(Clone)]
struct Identity(CertificateDer<'static>, Vec<u8>);

impl Ca {
    fn new(name: &str) -> Self {
        Self::until(name, 4096)
    }

    /// A CA that counts until a year begins.
    fn until(name: &str, year: i32) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.not_after = date_time_ymd(year, 1, 1);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = subject(&[(DnType::CommonName, name)]);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    fn sign(&self, subject_of: &[(DnType, &str)], usage: ExtendedKeyUsagePurpose) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(subject_of);
        params.extended_key_usages = vec![usage];
        Identity(params.signed_by(&key, &self.issuer).unwrap().der().clone(), key.serialize_der())
    }

    /// The certificate of a client.
    fn client(&self, user: &str, group: &str) -> Identity {
        let subject = [(DnType::CommonName, user), (DnType::OrganizationName, group)];
        self.sign(&subject, ExtendedKeyUsagePurpose::ClientAuth)
    }
}

fn subject(attributes: &[(DnType, &str)]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for (kind, value) in attributes {
        name.push(kind.clone(), *value);
    }
    name
}

/// An API server that answers what the proxy asks as itself: `system:kube-proxy` may do everything.
#[derive(Default)]
struct Reviewer {
    /// The code of its answers; 0: it allows and denies, 1: it is away.
    code: AtomicU16,
    reviews: Mutex<Vec<Value>>,
}

impl Reviewer {
    fn api(self: &Arc<Self>) -> ApiServer {
        let this = self.clone();
        ApiServer::at("https://192.0.2.1:6443/".parse().unwrap(), move |request| this.clone().answer(request).boxed())
    }

    async fn answer(self: Arc<Self>, request: Request<Body>) -> anyhow::Result<Response<Body>> {
        let (path, credentials) = (request.uri().path().to_owned(), request.headers().get("authorization").cloned());
        let review: Value = serde_json::from_slice(&to_bytes(request.into_body(), 1 << 20).await?)?;
        assert_eq!((path.as_str(), credentials), ("/apis/authorization.k8s.io/v1/subjectaccessreviews", None));
        let is_allowed = review["spec"]["user"] == USER;
        self.reviews.lock().unwrap().push(review);
        let code = match self.code.load(Ordering::Relaxed) {
            0 => 201,
            1 => anyhow::bail!("connection refused"),
            code => code,
        };
        Ok(Response::builder().status(code).body(json!({ "status": { "allowed": is_allowed } }).to_string().into())?)
    }

    fn reviews(&self) -> Vec<Value> {
        std::mem::take(&mut *self.reviews.lock().unwrap())
    }
}

/// A node proxy with TLS.
struct TlsEdge {
    edge: TestedEdge,
    reviewer: Arc<Reviewer>,
    address: SocketAddr,
    roots: RootCertStore,
    served: Arc<DynamicCertificate>,
    /// The time of the proxy, as seconds that have passed since the certificates were issued.
    later: Arc<AtomicI64>,
    _stop: oneshot::Sender<()>,
}

impl TlsEdge {
    async fn new(ca: &Ca) -> Self {
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(own.der().clone()).unwrap();
        let served = DynamicCertificate::new(TlsMetrics::default());
        trust(&served, ca).await;
        let key_pair = CertificateKeyPair { certificate: own.pem().into(), key: key.serialize_pem().into() };
        served.replace(&key_pair).unwrap();

        let later = Arc::<AtomicI64>::default();
        let (passed, begin) = (later.clone(), Clock::system().now());
        let clock =
            Clock::new(move || Timestamp::from_second(begin.as_second() + passed.load(Ordering::Relaxed)).unwrap());
        let certificates = ClientCertificates { served: served.clone(), clock: clock.clone() };
        let reviewer = Arc::<Reviewer>::default();
        let edge = TestedEdge::with_certificates(certificates, reviewer.api());
        let socket = Socket::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = socket.address();
        let tls = Some(TlsOptions::new(served.clone(), &TLS, clock));
        let part = ServerPart { tls, ..ServerPart::new(LISTENER, edge.router.clone()) };
        let (stop, _) = serve_on(socket, part, edge.health.clone(), ServerOptions::default());
        Self { edge, reviewer, address, roots, served, later, _stop: stop }
    }

    async fn connect(&self, identity: Option<&Identity>) -> Connection {
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let config = match identity {
            None => config.with_no_client_auth(),
            Some(Identity(certificate, key)) => {
                let key = PrivateKeyDer::try_from(key.clone()).unwrap();
                config.with_client_auth_cert(vec![certificate.clone()], key).unwrap()
            }
        };
        let tcp = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(tls)).await.unwrap();
        tokio::spawn(connection);
        Connection(sender)
    }

    async fn get(&self, identity: Option<&Identity>, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
        self.connect(identity).await.get(path, headers).await.unwrap()
    }
}

/// A connection of a client.
struct Connection(SendRequest<Body>);

impl Connection {
    async fn send(&mut self, method: Method, path: &str, headers: &[(&str, &str)]) -> hyper::Result<(u16, Value)> {
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.0.send_request(request.body(Body::empty()).unwrap()).await?;
        let status = response.status().as_u16();
        let body = to_bytes(Body::new(response.into_body()), 1 << 20).await.unwrap();
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    async fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> hyper::Result<(u16, Value)> {
        self.send(Method::GET, path, headers).await
    }
}

/// Serves with another CA of clients.
async fn trust(served: &Arc<DynamicCertificate>, ca: &Ca) {
    let dir = tempfile::tempdir().unwrap();
    let path: &Path = &dir.path().join("ca.crt");
    tokio::fs::write(path, &ca.pem).await.unwrap();
    drop(CertificateFiles::ClientCa(ClientCaFile::Optional(path.to_owned())).serve(served.clone()).await.unwrap());
}

#[tokio::test]
async fn the_api_server_says_what_the_user_of_a_certificate_may_read() {
    let ca = Ca::new("clients");
    let tls = TlsEdge::new(&ca).await;
    let (known, other) = (ca.client(USER, "system:nodes"), ca.client("other", "g"));
    let review = |user: &str, group: &str, verb: &str, name: &str| {
        json!({ "kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {
            "user": user, "groups": [group, "system:authenticated"],
            "resourceAttributes": { "verb": verb, "group": "", "version": "v1", "resource": "services",
                "namespace": if name.is_empty() { "" } else { "shop" }, "name": name } } })
    };
    let web = "/api/v1/namespaces/shop/services/web";
    for (identity, path, want, reviews) in [
        (&known, SERVICES, (200, json!("ServiceList")), vec![review(USER, "system:nodes", "list", "")]),
        // The answer is remembered, for every connection; another verb is another question.
        (&known, SERVICES, (200, json!("ServiceList")), vec![]),
        (&known, web, (200, json!("Service")), vec![review(USER, "system:nodes", "get", "web")]),
        (&other, SERVICES, (403, json!("Status")), vec![review("other", "g", "list", "")]),
        (&other, SERVICES, (403, json!("Status")), vec![]),
        // Another group is another user.
        (&ca.client(USER, "g"), SERVICES, (200, json!("ServiceList")), vec![review(USER, "g", "list", "")]),
        // A renewed certificate is the same one.
        (&ca.client(USER, "g"), SERVICES, (200, json!("ServiceList")), vec![]),
    ] {
        let (code, body) = tls.get(Some(identity), path, &[]).await;
        assert_eq!((code, body["kind"].clone()), want, "{path}");
        assert_eq!(tls.reviewer.reviews(), reviews, "{path}");
    }
    assert_eq!(tls.edge.api.requests(), []);
}

#[tokio::test]
async fn a_client_has_a_certificate_or_a_token_and_not_both() {
    let ca = Ca::new("clients");
    let tls = TlsEdge::new(&ca).await;
    let identity = ca.client(USER, "g");
    for (identity, headers, want) in [
        (None, &[][..], 401),
        (None, &[GOOD], 200),
        (None, &[("authorization", "Bearer poor")], 403),
        (Some(&identity), &[], 200),
        (Some(&identity), &[GOOD], 401),
        (Some(&identity), &[("authorization", "")], 401),
        (Some(&identity), &[("impersonate-user", "admin")], 403),
    ] {
        assert_eq!(tls.get(identity, SERVICES, headers).await.0, want, "{} {headers:?}", identity.is_some());
    }
    assert_eq!(tls.get(None, "/healthz", &[]).await.0, 200);
    assert_eq!(tls.reviewer.reviews().len(), 1);
}

#[tokio::test]
async fn nothing_is_passed_on_for_a_certificate() {
    let ca = Ca::new("clients");
    let tls = TlsEdge::new(&ca).await;
    let mut client = tls.connect(Some(&ca.client(USER, "g"))).await;
    let refused = (403, json!("Status"));
    for (method, path, headers, want) in [
        (Method::GET, "/api/v1/secrets", &[][..], refused.clone()),
        (Method::GET, "/api/v1/nodes", &[], refused.clone()),
        (Method::GET, "/version", &[], refused.clone()),
        (Method::POST, "/apis/events.k8s.io/v1/namespaces/default/events", &[], refused.clone()),
        (Method::POST, "/api/v1/namespaces/shop/pods/p/exec", &[], refused.clone()),
        (Method::DELETE, "/api/v1/namespaces/shop/services/web", &[], refused),
        (Method::GET, SLICES, &[TABLE], (200, json!("EndpointSliceList"))),
        (Method::GET, SLICES, &[TABLE_ONLY], (406, json!("Status"))),
        (Method::GET, "/api/v1", &[], (200, json!("APIResourceList"))),
        (Method::GET, "/apis", &[], (200, json!("APIGroupList"))),
    ] {
        let (code, body) = client.send(method.clone(), path, headers).await.unwrap();
        assert_eq!((code, body["kind"].clone()), want, "{method} {path}");
        let message = body["message"].as_str().unwrap_or_default();
        assert_eq!(message.contains("a client certificate cannot be passed on"), code == 403, "{method} {path}");
    }
    assert_eq!(tls.edge.api.requests(), []);
    assert_eq!(tls.reviewer.reviews().len(), 1);
}

#[tokio::test]
async fn a15_s2_only_certificates_of_the_ca_for_clients_with_a_name_count() {
    let (ca, stranger) = (Ca::new("clients"), Ca::new("strangers"));
    let tls = TlsEdge::new(&ca).await;
    let of_server = ca.sign(&[(DnType::CommonName, USER)], ExtendedKeyUsagePurpose::ServerAuth);
    for identity in [&stranger.client(USER, "g"), &of_server] {
        // The handshake of the client may be complete before the server has seen its certificate.
        assert!(tls.connect(Some(identity)).await.get(SERVICES, &[]).await.is_err());
    }
    let nameless = ca.sign(&[(DnType::OrganizationName, "g")], ExtendedKeyUsagePurpose::ClientAuth);
    assert_eq!(tls.get(Some(&nameless), SERVICES, &[]).await.0, 401);
    assert_eq!(tls.reviewer.reviews(), Vec::<Value>::new());
}

#[tokio::test]
async fn each_o_is_a_group_and_the_last_cn_counts() {
    let ca = Ca::new("clients");
    let tls = TlsEdge::new(&ca).await;
    let (cn, o) = (|| DnType::CustomDnType(vec![2, 5, 4, 3]), || DnType::CustomDnType(vec![2, 5, 4, 10]));
    let attributes =
        [(DnType::CommonName, "first"), (DnType::OrganizationName, "a"), (cn(), USER), (o(), "system:masters")];
    let identity = ca.sign(&attributes, ExtendedKeyUsagePurpose::ClientAuth);
    assert_eq!(tls.get(Some(&identity), SERVICES, &[]).await.0, 200);
    let spec = tls.reviewer.reviews().remove(0)["spec"].clone();
    let groups = json!(["a", "system:masters", "system:authenticated"]);
    assert_eq!((&spec["user"], &spec["groups"]), (&json!(USER), &groups));
}

#[tokio::test]
async fn a_certificate_that_counts_no_more_is_refused_on_open_connections_too() {
    const YEARS: i64 = 4096 * 365 * 24 * 3600;
    let ca = Ca::new("clients");
    let tls = TlsEdge::new(&ca).await;
    let mut client = tls.connect(Some(&ca.client(USER, "g"))).await;
    assert_eq!(client.get(SERVICES, &[]).await.unwrap().0, 200);
    tls.later.store(YEARS, Ordering::Relaxed);
    assert_eq!(client.get(SERVICES, &[]).await.unwrap().0, 401);
    assert_eq!(client.get("/healthz", &[]).await.unwrap().0, 200);
    tls.later.store(0, Ordering::Relaxed);
    assert_eq!(client.get(SERVICES, &[]).await.unwrap().0, 200);

    let new = Ca::new("new");
    trust(&tls.served, &new).await;
    assert_eq!(client.get(SERVICES, &[]).await.unwrap().0, 401);
    assert_eq!(tls.get(Some(&new.client(USER, "g")), SERVICES, &[]).await.0, 200);
    assert_eq!(tls.get(None, SERVICES, &[GOOD]).await.0, 200);
}

#[tokio::test]
async fn certificates_count_as_long_as_their_ca() {
    const CENTURY: i64 = 100 * 365 * 24 * 3600;
    let ca = Ca::until("clients", 2100);
    let tls = TlsEdge::new(&ca).await;
    let identity = ca.client(USER, "g");
    let mut client = tls.connect(Some(&identity)).await;
    assert_eq!(client.get(SERVICES, &[]).await.unwrap().0, 200);
    tls.later.store(CENTURY, Ordering::Relaxed);
    assert_eq!(client.get(SERVICES, &[]).await.unwrap().0, 401);
    tls.later.store(0, Ordering::Relaxed);

    let old = Ca::until("old", 2020);
    trust(&tls.served, &old).await;
    assert!(tls.connect(Some(&old.client(USER, "g"))).await.get(SERVICES, &[]).await.is_err());
    // One of several CAs counts, another does not.
    trust(&tls.served, &Ca { pem: old.pem.clone() + &ca.pem, issuer: Ca::new("other").issuer }).await;
    assert_eq!(tls.get(Some(&identity), SERVICES, &[]).await.0, 200);
    assert!(tls.connect(Some(&old.client(USER, "g"))).await.get(SERVICES, &[]).await.is_err());
}

#[tokio::test]
async fn what_a_certificate_may_read_counts_offline_but_not_without_the_permission_to_ask() {
    let ca = Ca::new("clients");
    let tls = TlsEdge::new(&ca).await;
    let mut client = tls.connect(Some(&ca.client(USER, "g"))).await;
    assert_eq!(client.get(SERVICES, &[]).await.unwrap().0, 200);
    let known: Vec<_> = tls.edge.access.permissions();
    for (code, services, slices) in
        [(403, 503, 503), (401, 503, 503), (429, 503, 503), (500, 503, 503), (1, 200, 503), (0, 200, 200)]
    {
        tls.reviewer.code.store(code, Ordering::Relaxed);
        tls.edge.api.is_away.store(code == 1, Ordering::Relaxed);
        // As after a restart: what was allowed counts only while the API server is away.
        tls.edge
            .access
            .restore(known.iter().map(|(question, _)| (question.clone(), Duration::from_hours(1))).collect());
        assert_eq!(client.get(SERVICES, &[]).await.unwrap().0, services, "{code}");
        assert_eq!(client.get(SLICES, &[]).await.unwrap().0, slices, "{code}");
    }
}
