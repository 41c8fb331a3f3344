//! The media type of a text that programs and browsers ask for.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// The media type that every browser shows. It saves the types that it does not know as files.
const PLAIN: &str = "text/plain; charset=utf-8";

/// The headers of a text: of the type that programs expect, or, for a browser, of one that it shows.
pub(crate) fn text_headers(of_programs: &'static str, request: &HeaderMap) -> [(HeaderName, HeaderValue); 2] {
    let media_type = if is_browser(request) { PLAIN } else { of_programs };
    [(header::CONTENT_TYPE, HeaderValue::from_static(media_type)), (header::VARY, HeaderValue::from_static("accept"))]
}

/// Whether the client asks for pages: browsers do, and curl and Prometheus do not.
fn is_browser(request: &HeaderMap) -> bool {
    let values = request.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = values.flat_map(|value| value.split(',')).map(|of| of.split(';').next().unwrap_or_default().trim());
    types.any(|name| name.eq_ignore_ascii_case("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_ask_for_pages() {
        let firefox = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        for (accept, want) in [
            (&[firefox][..], PLAIN),
            (&["application/xhtml+xml", "Text/HTML; q=0.5"], PLAIN),
            (&[prometheus], "application/yaml"),
            (&["*/*"], "application/yaml"),
            (&["application/text/html"], "application/yaml"),
            (&[], "application/yaml"),
        ] {
            let headers = accept.iter().map(|value| (header::ACCEPT, HeaderValue::from_static(value))).collect();
            let [(_, media_type), (_, vary)] = text_headers("application/yaml", &headers);
            assert_eq!((media_type.to_str().ok(), vary.to_str().ok()), (Some(want), Some("accept")), "{accept:?}");
        }
    }
}
