//! Structured logs, on standard error; never a body.

use std::str::FromStr;

use std::io::IsTerminal;

use tracing::{Metadata, Subscriber};
use tracing_subscriber::{
    filter::{Targets, filter_fn},
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Readable text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl FromStr for LogFormat {
    type Err = &'static str;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("expected `text` or `json`"),
        }
    }
}

/// Sends logs to standard error. `filter` gives levels to targets, such as `info` or `roster=debug,warn`: [`Targets`], because
/// a filter of spans and fields would need regular expressions. An existing subscriber stays.
pub fn init(format: LogFormat, filter: &str) -> Result<(), tracing_subscriber::filter::ParseError> {
    // Colours only for a terminal, and not with NO_COLOR.
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let filter: Targets = filter.parse()?;
    let _ = match format {
        LogFormat::Text => text(filter, colours, std::io::stderr).try_init(),
        LogFormat::Json => json(filter, colours, std::io::stderr).try_init(),
    };
    Ok(())
}

fn text<W>(filter: Targets, colours: bool, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_ansi(colours);
    tracing_subscriber::registry().with(lines).with(filter).with(filter_fn(without_bodies))
}

fn json<W>(filter: Targets, colours: bool, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_ansi(colours);
    let lines = lines.json().flatten_event(true).with_current_span(false);
    tracing_subscriber::registry().with(lines).with(filter).with(filter_fn(without_bodies))
}

/// Whether an event may be logged, whatever the filter is. kube logs an answer of an API server that it cannot decode as a
/// whole, as a warning: that may be the Secret with the key of the CA. The caller gets the error and logs it without the
/// body. (The modules below this target log no bodies.) kube's watcher logs each refusal as a struct, whose message may be a body, and
/// returns it as well.
fn without_bodies(metadata: &Metadata<'_>) -> bool {
    !matches!(metadata.target(), "kube_client::client" | "kube_runtime::watcher")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::telemetry::memory_log::MemoryLog;

    #[test]
    fn bodies_of_answers_are_never_logged() {
        for filter in ["info", "debug", "trace", "kube_client=trace", "kube_client::client=trace"] {
            for format in [LogFormat::Text, LogFormat::Json] {
                let log = MemoryLog::default();
                let (writer, filter_of) = (log.clone(), || filter.parse::<Targets>().unwrap());
                let say = || {
                    tracing::warn!(target: "kube_client::client", "the key of the CA");
                    tracing::warn!(target: "kube_runtime::watcher", "the key of the CA, once more");
                    tracing::warn!(target: "kube_client::client::tls", "a file");
                    tracing::warn!("ours");
                };
                match format {
                    LogFormat::Text => tracing::subscriber::with_default(text(filter_of(), false, writer), say),
                    LogFormat::Json => tracing::subscriber::with_default(json(filter_of(), false, writer), say),
                }
                let text = log.text();
                assert!(!text.contains("the key"), "{filter}: {text}");
                let all = !filter.contains("kube");
                assert_eq!((text.contains("a file"), text.contains("ours")), (true, all), "{filter}: {text}");
            }
        }
    }
}
