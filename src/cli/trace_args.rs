//! The flags of the traces of a server.

use std::{
    env,
    ffi::{OsStr, OsString},
};

use anyhow::Context;
use clap::{Arg, Args, Command, Error, builder::TypedValueParser, error::ErrorKind};

use crate::runtime::telemetry::traces::{CollectorHeaders, CollectorUrl, TraceOptions};

/// The variables with the headers for a collector, by OpenTelemetry's specification. The first one that is set counts.
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/// The flags of the traces of a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traces")]
pub(super) struct TraceArgs {
    /// Send traces to this collector of OpenTelemetry, as OTLP in JSON over HTTP, such as `http://127.0.0.1:4318`; a URL without a
    /// path gets /v1/traces. Headers, such as credentials, come from the variable `OTEL_EXPORTER_OTLP_HEADERS`
    #[arg(long, value_name = "URL", value_parser = EndpointParser)]
    otlp_endpoint: Option<CollectorUrl>,
    /// The share of traces that is sent, from 0 to 1. A review that is a part of a trace of the API server is sent if the API server
    /// records that trace
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share, requires = "otlp_endpoint")]
    otlp_sampling: f64,
}

impl TraceArgs {
    /// Where traces go; `None`: nowhere. `service` is the name of the program in traces.
    pub(super) fn options(&self, service: &'static str) -> anyhow::Result<Option<TraceOptions>> {
        let Some(endpoint) = self.otlp_endpoint.clone() else { return Ok(None) };
        let headers = headers(|name| env::var_os(name))?;
        let instance = env::var("POD_NAME").ok().filter(|name| !name.is_empty());
        Ok(Some(TraceOptions { endpoint, headers, share: self.otlp_sampling, service, instance }))
    }
}

/// Reads the URL of a collector. Unlike clap's own errors, its errors do not show a password in it.
#[derive(Clone, Debug)]
struct EndpointParser;

impl TypedValueParser for EndpointParser {
    type Value = CollectorUrl;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<CollectorUrl, Error> {
        value.to_string_lossy().parse().map_err(|error| {
            Error::raw(ErrorKind::ValueValidation, format!("--otlp-endpoint: {error}\n")).with_cmd(command)
        })
    }
}

/// The headers for a collector in these variables. Errors do not show what may be credentials.
fn headers(variable: impl Fn(&str) -> Option<OsString>) -> anyhow::Result<CollectorHeaders> {
    for name in HEADERS {
        let Some(value) = variable(name).filter(|value| !value.is_empty()) else { continue };
        let text = value.to_str().with_context(|| format!("{name}: the text is not UTF-8"))?;
        return text.parse().context(name);
    }
    Ok(CollectorHeaders::default())
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

    #[test]
    fn headers_for_traces_come_before_those_for_everything() {
        for (of_traces, of_all, want) in [
            (None, None, Ok("")),
            (None, Some("a=1"), Ok("a=1")),
            (Some("a=2"), Some("a=1"), Ok("a=2")),
            (Some(""), Some("a=1"), Ok("a=1")),
            (Some("hunter2"), Some("a=1"), Err("OTEL_EXPORTER_OTLP_TRACES_HEADERS: header 1 is not like name=value")),
            (None, Some("a=1,=hunter2"), Err("OTEL_EXPORTER_OTLP_HEADERS: header 2 has no valid name")),
        ] {
            let of = |name: &str| if name == HEADERS[0] { of_traces } else { of_all }.map(OsString::from);
            let got = headers(of).map_err(|error| format!("{error:#}"));
            let want =
                want.map(|text| if text.is_empty() { CollectorHeaders::default() } else { text.parse().unwrap() });
            assert_eq!(got, want.map_err(str::to_owned), "{of_traces:?} {of_all:?}");
        }
    }
}
