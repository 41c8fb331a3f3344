//! Who may call: the host that a request names, the token that it presents, and TLS on an address that others reach.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
};
use futures::channel::mpsc::{UnboundedSender, unbounded};
use roster::{
    cli::serve::{ComposedServer, ServeOptions},
    runtime::{
        allowed_hosts::{AllowedHosts, HostName},
        bearer_tokens::BearerTokens,
        net::ServerOptions,
        tls::{ClientCaFile, TlsFiles},
    },
    servers::rest::{AccessOptions, RestAccess, guarded},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{JSON, app, document, post, send, state};
use crate::webhook::{
    folder::Folder,
    material,
    tls::{Client, client_identity, request_on},
};

const TOKEN: &str = "a-token_of.the~tests+0/=";
const LONG: Duration = Duration::from_secs(20);

fn hosts(bound: &str, more: &[&str]) -> Option<AllowedHosts> {
    let more: Vec<HostName> = more.iter().map(|name| name.parse().unwrap()).collect();
    AllowedHosts::of_listener(bound.parse().unwrap(), &more)
}

/// The router behind these checks.
fn router(access: RestAccess) -> Router {
    guarded(app().0, access)
}

async fn tokens(text: &str) -> Arc<BearerTokens> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    std::fs::write(&path, text).unwrap();
    BearerTokens::serve(&path).await.unwrap().0
}

/// A problem without its instance, which differs with each request.
fn problem(mut problem: Value) -> Value {
    assert!(problem["instance"].as_str().unwrap().starts_with("urn:roster:request:"), "{problem}");
    problem.as_object_mut().unwrap().remove("instance");
    problem
}

#[tokio::test]
async fn a_request_on_loopback_names_an_own_host() {
    let router = router(RestAccess { hosts: hosts("127.0.0.1:8080", &["roster.test"]), tokens: None });
    for (host, path, want) in [
        (Some("localhost:8080"), "/healthz", StatusCode::OK),
        (Some("127.0.0.1:8080"), "/docs/", StatusCode::OK),
        (Some("[::1]:8080"), "/v1/compat", StatusCode::OK),
        (Some("roster.test"), "/v1/compat", StatusCode::OK),
        (None, "http://localhost/v1/compat", StatusCode::OK),
        (Some("evil.example:8080"), "/v1/compat", StatusCode::FORBIDDEN),
        (Some("127.0.0.1:8080"), "/", StatusCode::OK),
        (Some("evil.example"), "/", StatusCode::FORBIDDEN),
        (Some("evil.example"), "/page.js", StatusCode::FORBIDDEN),
        (Some("evil.example"), "/v1/page", StatusCode::FORBIDDEN),
        (Some("evil.example"), "/docs/", StatusCode::FORBIDDEN),
        (Some("evil.example"), "/healthz", StatusCode::FORBIDDEN),
        (Some("evil.example"), "/metrics", StatusCode::FORBIDDEN),
        (Some("evil.example"), "/nothing", StatusCode::FORBIDDEN),
        (Some("127.0.0.1.evil.example"), "/v1/compat", StatusCode::FORBIDDEN),
        (Some("localhost"), "http://evil.example/v1/compat", StatusCode::FORBIDDEN),
        (None, "http://evil.example/v1/compat", StatusCode::FORBIDDEN),
        (None, "/v1/compat", StatusCode::FORBIDDEN),
    ] {
        let mut request = Request::get(path);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let answer = send(&router, request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, want, "{host:?} {path}: {}", String::from_utf8_lossy(&answer.body));
    }
    let request = Request::get("/v1/compat").header("host", "evil.example").body(Body::empty()).unwrap();
    let answer = send(&router, request).await;
    document::fits("/v1/compat", "get", "403", "application/problem+json", &answer.json());
    assert_eq!(
        problem(answer.json()),
        json!({
            "type": "urn:roster:problem:host",
            "title": "The host is not a name of this server",
            "status": 403,
            "detail": "the header Host (:authority in HTTP/2) names evil.example, which may be the name of a web page; if \
                       it is a name of this server, start it with --allowed-host evil.example",
        })
    );
}

#[tokio::test]
async fn a_call_needs_a_token_of_the_file() {
    let tokens = tokens(&format!("{TOKEN}\nanother-token-of-the-tests\n")).await;
    let router = router(RestAccess { hosts: None, tokens: Some(tokens) });
    let valid = format!("Bearer {TOKEN}");
    for (path, token, want) in [
        ("/", None, StatusCode::OK),
        ("/page.css", None, StatusCode::OK),
        ("/page.js", None, StatusCode::OK),
        ("/picture.css", None, StatusCode::OK),
        ("/v1/page", None, StatusCode::UNAUTHORIZED),
        ("/docs", None, StatusCode::SEE_OTHER),
        ("/docs/", None, StatusCode::OK),
        ("/docs/swagger-ui-bundle.js", None, StatusCode::OK),
        ("/openapi.json", None, StatusCode::OK),
        ("/sample", None, StatusCode::OK),
        ("/healthz", None, StatusCode::OK),
        ("/livez", None, StatusCode::OK),
        ("/readyz", None, StatusCode::SERVICE_UNAVAILABLE),
        ("/metrics", None, StatusCode::UNAUTHORIZED),
        ("/metrics", Some(&*valid), StatusCode::OK),
        ("/v1/compat", None, StatusCode::UNAUTHORIZED),
        ("/v1/compat", Some("Bearer another-token-of-the-tests"), StatusCode::OK),
        ("/v1/compat", Some("Bearer wrong-token-of-the-tests"), StatusCode::UNAUTHORIZED),
        ("/v1/compat", Some(TOKEN), StatusCode::UNAUTHORIZED),
        ("/v1/compat", Some(&*valid), StatusCode::OK),
        ("/v1/plan", None, StatusCode::UNAUTHORIZED),
        ("/docs/../v1/compat", None, StatusCode::NOT_FOUND),
        ("/nothing", None, StatusCode::UNAUTHORIZED),
        ("/nothing", Some(&*valid), StatusCode::NOT_FOUND),
    ] {
        let mut request = Request::get(path);
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        let answer = send(&router, request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, want, "{path} {token:?}: {}", String::from_utf8_lossy(&answer.body));
        let bearer = if want == StatusCode::UNAUTHORIZED { "Bearer" } else { "" };
        assert_eq!(answer.header("www-authenticate"), bearer, "{path} {token:?}");
    }
    let answer = post(&router, "/v1/plan", JSON, state().to_string()).await;
    document::fits("/v1/plan", "post", "401", "application/problem+json", &answer.json());
    assert_eq!(
        problem(answer.json()),
        json!({
            "type": "urn:roster:problem:unauthorized",
            "title": "The request needs a valid token",
            "status": 401,
            "detail": "send the header `Authorization: Bearer TOKEN` with a token of the server's --token-file",
        })
    );
}

/// What the document says of tokens: calls take one, if the server has a file of them; the open routes never do.
#[test]
fn the_document_declares_the_token() {
    let document = document::document();
    let scheme = &document["components"]["securitySchemes"]["bearer"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&json!("http"), &json!("bearer")));
    assert_eq!(document["security"], json!([{}, { "bearer": [] }]));
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let open = !path.starts_with("/v1/") && path != "/metrics";
            let want = if open { json!([{}]) } else { Value::Null };
            assert_eq!(operation["security"], want, "{method} {path}");
            assert_eq!(operation["responses"]["401"].is_object(), !open, "{method} {path}");
        }
    }
}

struct Running {
    rest: SocketAddr,
    admin: SocketAddr,
    banner: String,
    _signals: UnboundedSender<()>,
}

async fn start(listen: &str, access: AccessOptions, allowed_hosts: &[&str]) -> anyhow::Result<Running> {
    let allowed_hosts = allowed_hosts.iter().map(|name| name.parse().unwrap()).collect();
    let options = ServeOptions {
        listen: Some(listen.parse().unwrap()),
        admin_listen: Some(([127, 0, 0, 1], 0).into()),
        access,
        server: ServerOptions { allowed_hosts, ..ServerOptions::default() },
        ..ServeOptions::default()
    };
    let server = ComposedServer::bind(&options).await?;
    let rest = SocketAddr::new([127, 0, 0, 1].into(), server.rest_address().unwrap().port());
    let (admin, banner) = (server.admin_address().unwrap(), server.banner());
    let (signals, received) = unbounded();
    tokio::spawn(server.run(received));
    Ok(Running { rest, admin, banner, _signals: signals })
}

async fn get(address: SocketAddr, path: &str, host: &str) -> String {
    let mut tcp = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    tcp.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(LONG, tcp.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

#[tokio::test]
async fn both_listeners_check_the_host() {
    for (listen, allowed, host, rest, admin) in [
        ("127.0.0.1:0", &[][..], "localhost", "200", "200"),
        ("127.0.0.1:0", &[], "evil.example", "403", "403"),
        ("127.0.0.1:0", &["roster.test"], "roster.test:8080", "200", "200"),
        ("0.0.0.0:0", &[], "evil.example", "200", "403"),
        ("0.0.0.0:0", &["roster.test"], "evil.example", "403", "403"),
        ("0.0.0.0:0", &["roster.test"], "192.0.2.1", "200", "403"),
    ] {
        let server = start(listen, AccessOptions::default(), allowed).await.unwrap();
        for (address, want) in [(server.rest, rest), (server.admin, admin)] {
            let answer = get(address, "/livez", host).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {want}")), "{listen} {allowed:?} {host}: {answer}");
            if want == "403" {
                assert!(answer.contains("content-type: application/problem+json"), "{answer}");
                assert!(answer.contains("the header Host") && answer.contains("--allowed-host"), "{answer}");
            }
        }
    }
}

#[tokio::test]
async fn tls_tokens_and_client_certificates_protect_an_address_that_others_reach() {
    let (material, identity, folder) = (material(), client_identity(), Folder::new());
    folder.swap(&material);
    folder.write("ca.crt", &identity.ca);
    folder.write("token", TOKEN);
    let tls = |client_ca: bool| {
        let client_ca = client_ca.then(|| ClientCaFile::Required(folder.path("ca.crt")));
        Some(TlsFiles { certificate: folder.path("tls.crt"), key: folder.path("tls.key"), client_ca })
    };
    let anybody = || Client::trusting(&material.bundle);
    let ask = |head: &str| format!("GET /v1/compat HTTP/1.1\r\nhost: x\r\n{head}connection: close\r\n\r\n");
    let (bare, valid) = (ask(""), ask(&format!("authorization: Bearer {TOKEN}\r\n")));
    let wrong = ask("authorization: Bearer wrong-token-of-the-tests\r\n");
    for (name, access, client, request, want) in [
        (
            "TLS alone",
            AccessOptions { tls: tls(false), token_file: None, ..AccessOptions::default() },
            anybody(),
            &bare,
            "HTTP/1.1 200",
        ),
        (
            "a token",
            AccessOptions { tls: tls(false), token_file: Some(folder.path("token")), ..AccessOptions::default() },
            anybody(),
            &valid,
            "HTTP/1.1 200",
        ),
        (
            "another token",
            AccessOptions { tls: tls(false), token_file: Some(folder.path("token")), ..AccessOptions::default() },
            anybody(),
            &wrong,
            "HTTP/1.1 401",
        ),
        (
            "no client certificate",
            AccessOptions { tls: tls(true), token_file: None, ..AccessOptions::default() },
            anybody(),
            &bare,
            "",
        ),
        (
            "a client certificate",
            AccessOptions { tls: tls(true), token_file: None, ..AccessOptions::default() },
            anybody().showing(&identity),
            &bare,
            "HTTP/1.1 200",
        ),
    ] {
        let server = start("0.0.0.0:0", access, &[]).await.unwrap();
        assert!(server.banner.starts_with("listening on https://0.0.0.0:"), "{name}: {}", server.banner);
        let asked = async { request_on(client.connect(server.rest).await?, request).await };
        let answer = timeout(LONG, asked).await.unwrap().unwrap_or_default();
        assert_eq!(answer.get(..12).unwrap_or_default(), want, "{name}: {answer}");
        let ready = get(server.admin, "/readyz?verbose", "localhost").await;
        assert!(ready.contains("[+]rest-certificate ok\n[+]rest-tls ok"), "{name}: {ready}");
        let metrics = get(server.admin, "/metrics", "localhost").await;
        assert!(metrics.contains("roster_rest_certificate_expiration_seconds"), "{name}: {metrics}");
    }
}

#[tokio::test]
async fn what_is_open_is_said_in_one_line() {
    let folder = Folder::new();
    folder.write("token", TOKEN);
    let token = || AccessOptions { token_file: Some(folder.path("token")), ..AccessOptions::default() };
    for (listen, access, want) in [
        ("127.0.0.1:0", AccessOptions::default(), ""),
        ("127.0.0.1:0", token(), ""),
        ("0.0.0.0:0", AccessOptions::default(), "warning: the REST API is open to everyone who can reach it"),
        ("0.0.0.0:0", token(), "warning: the REST API is not encrypted"),
    ] {
        let banner = start(listen, access, &[]).await.unwrap().banner;
        let warnings: Vec<&str> = banner.lines().filter(|l| l.starts_with("warning: ")).collect();
        assert_eq!(warnings.len(), usize::from(!want.is_empty()), "{banner}");
        assert!(warnings.iter().all(|w| w.starts_with(want)), "{banner}");
        assert!(!banner.contains(TOKEN), "{banner}");
    }
    folder.write("token", "short");
    let error = start("127.0.0.1:0", token(), &[]).await.err().map(|e| format!("{e:#}")).unwrap_or_default();
    assert!(error.ends_with("token:1: a token must have at least 16 characters"), "{error}");
}
