//! Responses with gzip for the clients that accept it, and without for the others.

use std::io::{self, Read, Write};

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::Next,
    response::Response,
};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use roster_calls::ProblemKind;

use super::problem::ApiError;

/// The largest file of the documentation page, decompressed.
const MAX_FILE: u64 = 16 << 20;

/// Whether a client accepts gzip (RFC 9110, 12.5.3). Without the header it may send anything, but few can read it.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut any = false;
    for coding in values.flat_map(|value| value.split(',')) {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0_f32));
        match name.trim() {
            name if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => return !refused,
            "*" => any = !refused,
            _ => {}
        }
    }
    any
}

/// A text as gzip.
pub(super) fn gzip(text: &str) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// Decompresses the files of the documentation page, which are compressed in the binary, for clients that do not accept
/// gzip.
pub(super) async fn decompress(request: Request, next: Next) -> Response {
    let (accepts, head) = (accepts_gzip(request.headers()), request.method() == Method::HEAD);
    let mut response = next.run(request).await;
    let is_gzip = |value: &HeaderValue| value.as_bytes() == b"gzip";
    if !response.headers().get(header::CONTENT_ENCODING).is_some_and(is_gzip) {
        return response;
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if accepts {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(header::CONTENT_ENCODING);
    parts.headers.remove(header::CONTENT_LENGTH);
    if head {
        return Response::from_parts(parts, Body::empty());
    }
    match decompressed(body).await {
        Ok(text) => Response::from_parts(parts, Body::from(text)),
        Err(error) => {
            tracing::error!(%error, "a file of the documentation page cannot be decompressed");
            let detail = "this is a bug: report it with the value of `instance`";
            axum::response::IntoResponse::into_response(ApiError::new(ProblemKind::Internal, detail))
        }
    }
}

async fn decompressed(body: Body) -> io::Result<Vec<u8>> {
    let limit = usize::try_from(MAX_FILE).unwrap_or(usize::MAX);
    let bytes = to_bytes(body, limit).await.map_err(io::Error::other)?;
    let mut text = Vec::new();
    GzDecoder::new(&*bytes).take(MAX_FILE).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_says_whether_it_accepts_gzip() {
        for (value, want) in [
            ("", false),
            ("gzip", true),
            ("GZIP;q=0.5", true),
            ("br, gzip ;q=1", true),
            ("gzip;q=0, *", false),
            ("*", true),
            ("*;q=0", false),
            ("identity", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            assert_eq!(accepts_gzip(&headers), want, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
