//! The flags of the traces of a server.

use axum::http::Uri;
use clap::Args;

use crate::runtime::telemetry::traces::TraceOptions;

/// The flags of the traces of a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traces")]
pub(super) struct TraceArgs {
    /// Send traces to this collector of OpenTelemetry, as OTLP in JSON over HTTP, such as `http://127.0.0.1:4318`; a URL without a
    /// path gets /v1/traces
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    otlp_endpoint: Option<Uri>,
    /// The share of traces that is sent, from 0 to 1, of those that begin here. Of the others, the caller decides
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share, requires = "otlp_endpoint")]
    otlp_sampling: f64,
}

impl TraceArgs {
    /// Where traces go; `None`: nowhere. `service` is the name of the program in traces.
    pub(super) fn options(&self, service: &'static str) -> Option<TraceOptions> {
        let instance = std::env::var("POD_NAME").ok().filter(|name| !name.is_empty());
        self.otlp_endpoint.clone().map(|endpoint| TraceOptions {
            endpoint,
            share: self.otlp_sampling,
            service,
            instance,
        })
    }
}

fn endpoint(text: &str) -> Result<Uri, String> {
    let url: Option<Uri> = text.parse().ok();
    let is_http = |url: &Uri| matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some();
    url.filter(is_http).ok_or_else(|| format!("{text:?} is not a URL such as http://127.0.0.1:4318"))
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("{text:?} is not from 0 to 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_url_and_a_share_is_a_part_of_one() {
        for (text, is_valid) in [
            ("http://127.0.0.1:4318", true),
            ("https://collector.tracing.svc:4318/v1/traces", true),
            ("127.0.0.1:4318", false),
            ("grpc://127.0.0.1:4317", false),
            ("/v1/traces", false),
            ("", false),
        ] {
            assert_eq!(endpoint(text).is_ok(), is_valid, "{text}");
        }
        for (text, is_valid) in
            [("0", true), ("0.01", true), ("1", true), ("1.1", false), ("-1", false), ("NaN", false), ("", false)]
        {
            assert_eq!(share(text).is_ok(), is_valid, "{text}");
        }
    }
}
