//! The HTTP client of an API server. It is kube's, and notices within seconds that a connection is dead.
//!
//! A watch of an API server that is gone without a word (a host that lost its power, a firewall that forgot the connection) is
//! silent, and so is one of which no object changes. client-go sends a ping over HTTP/2 after 30 s, and gives up after 15 s
//! more. kube speaks HTTP/1.1, so the kernel probes the connection.

use std::time::Duration;

use anyhow::{Context, anyhow};
use http::{HeaderValue, Request, Uri, header};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{Builder, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{
    Client, Config,
    client::{ClientBuilder, ConfigExt, retry::RetryPolicy},
};
use tokio::time::timeout;
use tower::{BoxError, ServiceBuilder, retry::RetryLayer};

use super::answers::{ReadAnswers, RequestMetrics};

/// After how long a silence a connection is probed, the time between two probes, and how many remain without an answer until
/// the connection is dead: after 19 s.
const SILENCE: Duration = Duration::from_secs(10);
const BETWEEN: Duration = Duration::from_secs(3);
const PROBES: u32 = 3;

/// The client of a configuration. Nothing is sent yet.
pub(crate) fn client_of(config: Config, metrics: &RequestMetrics) -> Result<Client, kube::Error> {
    let answers = ReadAnswers::new(metrics.clone(), &config.cluster_url);
    if config.proxy_url.is_some() {
        // kube knows which proxies it can use, and says so.
        return Ok(ClientBuilder::try_from(config)?.with_layer(&answers).build());
    }
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(tcp())?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .layer(answers)
        .service(Builder::new(TokioExecutor::new()).build(connector));
    Ok(Client::new(service, config.default_namespace))
}

/// The answer of a server without TLS, such as another Roster.
pub(crate) async fn get_text(server: &Uri, path: &str, token: Option<&str>, limit: Duration) -> anyhow::Result<String> {
    let mut config = Config::new(server.clone());
    config.default_retry = false;
    let mut request = Request::get(path);
    if let Some(token) = token {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).context("the token")?;
        value.set_sensitive(true);
        request = request.header(header::AUTHORIZATION, value);
    }
    let request = request.body(Vec::new())?;
    let answer = timeout(limit, client_of(config, &RequestMetrics::default())?.request_text(request)).await;
    Ok(answer.map_err(|_| anyhow!("no response within {} s", limit.as_secs()))??)
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    probe_silent_connections(&mut tcp);
    tcp
}

/// Lets the kernel probe connections that are silent, and end those that are dead.
pub(crate) fn probe_silent_connections<R>(tcp: &mut HttpConnector<R>) {
    tcp.set_keepalive(Some(SILENCE));
    tcp.set_keepalive_interval(Some(BETWEEN));
    tcp.set_keepalive_retries(Some(PROBES));
    // A request on its way is not probed: it is repeated for a quarter of an hour.
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(SILENCE + BETWEEN * PROBES));
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::net::SocketAddr;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::{sleep, timeout},
    };

    use super::*;

    /// The timer of a connection, as the kernel shows it: `02:` and hundredths of a second until a silent one is probed.
    async fn timer(local: SocketAddr, remote: SocketAddr) -> String {
        let port = |address: SocketAddr| format!("0100007F:{:04X}", address.port());
        let pair = format!("{} {}", port(local), port(remote));
        let all = tokio::fs::read_to_string("/proc/net/tcp").await.unwrap();
        let line = all.lines().find(|line| line.contains(&pair)).unwrap();
        line.split_whitespace().nth(5).unwrap().to_owned()
    }

    /// The error keeps what only its header says.
    #[tokio::test]
    async fn an_overloaded_api_server_says_how_long_to_wait() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let mut config = Config::new(server.parse().unwrap());
        config.default_retry = false;
        let client = client_of(config, &RequestMetrics::default()).unwrap();
        let request = http::Request::get("/version").body(Vec::new()).unwrap();
        let answer = tokio::spawn(async move { client.request_text(request).await });
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
        let busy = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 5\r\n\r\nbusy\n";
        stream.write_all(busy).await.unwrap();
        let Err(kube::Error::Api(status)) = answer.await.unwrap() else { panic!("a 429 is an error") };
        let seconds = status.details.as_ref().map(|details| details.retry_after_seconds);
        assert_eq!((status.code, &*status.message, seconds), (429, "busy", Some(7)));
    }

    #[tokio::test]
    async fn the_kernel_probes_a_silent_connection() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let client =
            client_of(Config::new(format!("http://{server}").parse().unwrap()), &RequestMetrics::default()).unwrap();
        let request = http::Request::get("/version").body(Vec::new()).unwrap();
        let caller = client.clone();
        let answer = tokio::spawn(async move { caller.request_text(request).await });
        let (mut stream, peer) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc").await.unwrap();
        assert_eq!(answer.await.unwrap().unwrap(), "abc");
        // Until the answer is acknowledged, another timer runs.
        let probed = timeout(Duration::from_secs(30), async {
            loop {
                if let Some(hundredths) = timer(peer, server).await.strip_prefix("02:") {
                    return u64::from_str_radix(hundredths, 16).unwrap();
                }
                sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(probed.await.unwrap() <= 100 * SILENCE.as_secs());
        drop(client);
    }
}
