//! The static files of the page, and what a browser may do with them.

use axum::{
    Router,
    extract::Request,
    http::{HeaderName, HeaderValue, header},
    middleware::{self, Next},
    response::Response,
    routing,
};
use bytes::Bytes;
use roster_page::FILES;

/// The element of the page in which a server says what it offers, and what it has if the page shows a cluster.
const ELEMENT: &str = "<html lang=\"en\" data-engine=\"v1/page\"";
const WITH_CLUSTER: &str = "<html lang=\"en\" data-engine=\"v1/page\" data-live=\"v1/live\"";

/// The routes of the files. The first one is the page, at `/`.
pub(in crate::servers::rest) fn files(shows_cluster: bool) -> Router {
    let mut router = Router::new();
    for (place, file) in FILES.iter().enumerate() {
        let path = if place == 0 { "/".to_owned() } else { format!("/{}", file.name) };
        let text = match place {
            0 if shows_cluster => Bytes::from(file.text.replacen(ELEMENT, WITH_CLUSTER, 1)),
            _ => Bytes::from_static(file.text.as_bytes()),
        };
        let answer = ([(header::CONTENT_TYPE, file.media_type)], text);
        router = router.route(&path, routing::get(move || std::future::ready(answer.clone())));
    }
    router.layer(middleware::from_fn(with_headers))
}

/// What a browser may do: run the script, read the style sheets and ask the server that sent them, and nothing else. No other
/// page may frame it, open it or read it.
const HEADERS: [(HeaderName, HeaderValue); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
             form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

async fn with_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().extend(HEADERS);
    response
}
