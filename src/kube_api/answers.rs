//! A layer of the HTTP client that counts the answers of an API server, and reads the header that kube drops.
//!
//! An API server that sheds load (API priority and fairness, a full watch cache) says `Retry-After`, with a body that is plain text.
//! kube keeps of an error what its body says. So the header becomes part of the body, as a `Status` has it. And an error of the connection
//! gets the address of the API server.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::{Body as AnswerBody, HttpBody, to_bytes};
use bytes::Bytes;
use futures::{FutureExt, TryStreamExt, future::BoxFuture};
use http::{Request, Response, StatusCode, header::RETRY_AFTER};
use kube::{client::Body, core::response::Status};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use serde_json::{Value, json};
use tower::{BoxError, Layer, Service};

use super::request_failure::{UNREADABLE, Unanswered};

/// The limit of the body of an error. A `Status` that lists many causes has some KiB.
const MAX_ERROR: usize = 1 << 20;

/// Whether a gateway before the API server answers for it. An API server that is not well answers 500.
pub(crate) fn is_of_gateway(status: u16) -> bool {
    matches!(status, 502..=504)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    code: String,
    method: String,
    host: String,
}

/// The requests to an API server, as client-go counts them. A clone counts into the same metric.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestMetrics(Family<RequestLabels, Counter>);

impl RequestMetrics {
    /// Registers the metric.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Number of HTTP requests, partitioned by status code, method, and host";
        registry.register("rest_client_requests", help, self.0.clone());
    }

    pub(crate) fn count(&self, code: &str, method: &str, host: &str) {
        let labels = RequestLabels { code: code.to_owned(), method: method.to_owned(), host: host.to_owned() };
        self.0.get_or_create(&labels).inc();
    }
}

/// The layer.
#[derive(Clone)]
pub(super) struct ReadAnswers {
    metrics: RequestMetrics,
    host: Arc<str>,
    /// The address, with its scheme.
    server: Arc<str>,
}

impl ReadAnswers {
    pub(super) fn new(metrics: RequestMetrics, api_server: &http::Uri) -> Self {
        let host = api_server.authority().map_or("", http::uri::Authority::as_str).into();
        let server = api_server.to_string();
        Self { metrics, host, server: server.trim_end_matches('/').into() }
    }
}

impl<S> Layer<S> for ReadAnswers {
    type Service = AnswersRead<S>;

    fn layer(&self, inner: S) -> AnswersRead<S> {
        AnswersRead { inner, layer: self.clone() }
    }
}

/// A client whose answers are counted and read.
#[derive(Clone)]
pub(super) struct AnswersRead<S> {
    inner: S,
    layer: ReadAnswers,
}

impl<S, B> Service<Request<Body>> for AnswersRead<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>, Future: Send + 'static>,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (ReadAnswers { metrics, host, server }, method) = (self.layer.clone(), request.method().clone());
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await.map_err(|error| Unanswered::error(&server, error.into()));
            let code = answer.as_ref().ok().map(Response::status);
            metrics.count(code.as_ref().map_or("<error>", StatusCode::as_str), method.as_str(), &host);
            with_wait(answer?.map(|body| with_server(body, server))).await
        }
        .boxed()
    }
}

/// The same body. If it breaks off, the error names the API server.
fn with_server<B>(body: B, server: Arc<str>) -> AnswerBody
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let parts = AnswerBody::new(body).into_data_stream();
    AnswerBody::from_stream(parts.map_err(move |error| Unanswered::error(&server, error.into())))
}

/// The same answer. If it is an error whose header says how long to wait, its body says so as well.
async fn with_wait(answer: Response<AnswerBody>) -> Result<Response<AnswerBody>, BoxError> {
    let (status, header) = (answer.status(), answer.headers().get(RETRY_AFTER));
    let seconds = header.and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
    let Some(seconds) = seconds.filter(|_| status.is_client_error() || status.is_server_error()) else {
        return Ok(answer);
    };
    let (mut head, body) = answer.into_parts();
    let body = to_bytes(body, MAX_ERROR).await?;
    let body = error_body(&body, status.as_u16(), seconds);
    head.headers.remove(http::header::CONTENT_LENGTH);
    Ok(Response::from_parts(head, AnswerBody::from(body)))
}

/// The body of an error with the seconds to wait, unless it says them already.
fn error_body(body: &[u8], code: u16, seconds: u32) -> Vec<u8> {
    let read = serde_json::from_slice(body).ok().filter(Value::is_object);
    let mut error = read.unwrap_or_else(|| {
        let text = String::from_utf8_lossy(body);
        json!(Status::failure(text.trim(), UNREADABLE).with_code(code))
    });
    let says = error["details"]["retryAfterSeconds"].as_u64().unwrap_or_default();
    if says == 0 {
        if !error["details"].is_object() {
            error["details"] = json!({});
        }
        error["details"]["retryAfterSeconds"] = seconds.into();
    }
    error.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, io};

    use kube::{Client, Error};
    use tower::{ServiceBuilder, service_fn};

    use super::{super::request_failure::failure_text, *};

    /// The error of a client whose API server answers so, and the counted requests.
    async fn error(code: u16, header: Option<&'static str>, body: &'static str) -> (Box<Status>, String) {
        let metrics = RequestMetrics::default();
        let server = service_fn(move |_: Request<Body>| async move {
            let mut answer = Response::builder().status(code);
            if let Some(seconds) = header {
                answer = answer.header(RETRY_AFTER, seconds);
            }
            Ok::<_, Infallible>(answer.body(AnswerBody::from(body)).unwrap())
        });
        let layer = ReadAnswers::new(metrics.clone(), &"https://127.0.0.1:6443/".parse().unwrap());
        let client = Client::new(ServiceBuilder::new().layer(layer).service(server), "default");
        let request = Request::put("/api/v1/namespaces/shop/endpoints/web").body(Vec::new()).unwrap();
        let Err(Error::Api(status)) = client.request_text(request).await else { panic!("{code} is an error") };
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        (status, text)
    }

    #[tokio::test]
    async fn an_error_keeps_the_seconds_of_its_header() {
        let said = r#"{"kind":"Status","code":503,"message":"away","details":{"name":"web","retryAfterSeconds":7}}"#;
        let unsaid = r#"{"kind":"Status","code":503,"message":"away","details":{"name":"web"}}"#;
        for (code, header, body, want) in [
            (
                429,
                Some("2"),
                "Too many requests, please try again later.\n",
                (2, "Too many requests, please try again later."),
            ),
            (429, None, "Too many requests", (0, "Too many requests")),
            (503, Some("3"), "[]", (3, "[]")),
            (503, Some("3"), unsaid, (3, "away")),
            (503, Some("3"), said, (7, "away")),
            (503, Some("3"), r#"{"message":"bare","code":503}"#, (3, "bare")),
            (503, Some("Fri, 31 Dec 1999 23:59:59 GMT"), "a date", (0, "a date")),
        ] {
            let (status, _) = error(code, header, body).await;
            let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            assert_eq!((seconds, &*status.message), want, "{header:?} {body}");
            assert_eq!(status.code, code);
        }
    }

    #[tokio::test]
    async fn an_error_of_the_connection_names_the_api_server() {
        let away = || io::Error::from_raw_os_error(104);
        for is_answered in [false, true] {
            let server = service_fn(move |_: Request<Body>| async move {
                let broken = AnswerBody::from_stream(futures::stream::iter([Err::<Bytes, _>(away())]));
                if is_answered { Ok(Response::new(broken)) } else { Err(away()) }
            });
            let layer = ReadAnswers::new(RequestMetrics::default(), &"https://127.0.0.1:6443/".parse().unwrap());
            let client = Client::new(ServiceBuilder::new().layer(layer).service(server), "default");
            let error = client.request_text(Request::get("/version").body(Vec::new()).unwrap()).await.unwrap_err();
            let want = "the API server https://127.0.0.1:6443: Connection reset by peer (os error 104)";
            assert_eq!(failure_text(&error), want);
        }
    }

    #[tokio::test]
    async fn requests_are_counted_as_client_go_counts_them() {
        let (_, metrics) = error(429, Some("1"), "busy").await;
        let line = "rest_client_requests_total{code=\"429\",method=\"PUT\",host=\"127.0.0.1:6443\"} 1";
        assert!(metrics.contains(line), "{metrics}");
    }
}
