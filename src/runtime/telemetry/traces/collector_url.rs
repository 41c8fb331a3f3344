//! The URL of a collector.

use std::{fmt, str::FromStr};

use axum::http::Uri;

/// The URL to which spans are posted: with the path of OTLP's specification, unless it has another one.
#[derive(Clone, PartialEq, Eq)]
pub struct CollectorUrl(pub(super) Uri);

/// As it is written.
impl fmt::Debug for CollectorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for CollectorUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Without the text, which may have a password. No path of a collector needs the character, which can be written as %40.
        if text.contains('@') {
            return Err("a URL such as http://127.0.0.1:4318 is needed, without a user and a password; headers for the collector \
                        come from OTEL_EXPORTER_OTLP_HEADERS"
                .to_owned());
        }
        let read = || {
            let url: Uri = text.parse().ok()?;
            let is_http = matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some();
            if url.path() != "/" {
                return is_http.then_some(Self(url));
            }
            let mut parts = url.into_parts();
            parts.path_and_query = Some("/v1/traces".parse().ok()?);
            is_http.then_some(Self(Uri::from_parts(parts).ok()?))
        };
        read().ok_or_else(|| format!("{text:?} is not a URL such as http://127.0.0.1:4318"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_path() {
        for (text, want) in [
            ("http://127.0.0.1:4318", Some("http://127.0.0.1:4318/v1/traces")),
            ("http://127.0.0.1:4318/", Some("http://127.0.0.1:4318/v1/traces")),
            ("https://collector.tracing.svc:4318/v1/traces", Some("https://collector.tracing.svc:4318/v1/traces")),
            ("https://collector/otlp/v1/traces", Some("https://collector/otlp/v1/traces")),
            ("https://collector/a%40b", Some("https://collector/a%40b")),
            ("https://user:hunter2@collector", None),
            ("https://user@collector/v1/traces", None),
            ("https://user:hunter2/@collector", None),
            ("user:hunter2@collector:4318", None),
            ("127.0.0.1:4318", None),
            ("grpc://127.0.0.1:4317", None),
            ("/v1/traces", None),
            ("", None),
        ] {
            let url = text.parse::<CollectorUrl>();
            assert!(!format!("{url:?}").contains("hunter2"), "{url:?}");
            assert_eq!(url.ok().map(|url| url.0.to_string()).as_deref(), want, "{text}");
        }
    }
}
