//! The flags of the traces of a server.

use clap::Args;

use crate::runtime::telemetry::traces::{CollectorUrl, TraceOptions};

/// The flags of the traces of a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traces")]
pub(super) struct TraceArgs {
    /// Send traces to this collector of OpenTelemetry, as OTLP in JSON over HTTP, such as `http://127.0.0.1:4318`; a URL without a
    /// path gets /v1/traces
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<CollectorUrl>,
    /// The share of traces that is sent, from 0 to 1. A review that is a part of a trace of the API server is sent if the API server
    /// records that trace
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

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("{text:?} is not from 0 to 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_part_of_one() {
        for (text, is_valid) in
            [("0", true), ("0.01", true), ("1", true), ("1.1", false), ("-1", false), ("NaN", false), ("", false)]
        {
            assert_eq!(share(text).is_ok(), is_valid, "{text}");
        }
    }
}
