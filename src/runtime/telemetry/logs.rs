//! Structured logs. One line per request, written at the boundary; never a body.

use std::str::FromStr;

use std::io::IsTerminal;

use tracing::{Metadata, Subscriber};
use tracing_subscriber::{
    EnvFilter, filter::filter_fn, fmt::MakeWriter, layer::SubscriberExt, util::SubscriberInitExt,
};

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person.
    #[default]
    Text,
    /// One JSON object a line.
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

/// Sends logs to standard error. `filter` is a `tracing` filter such as `info` or `roster=debug,warn`.
/// A subscriber that is already there stays.
pub fn init(format: LogFormat, filter: &str) -> Result<(), tracing_subscriber::filter::ParseError> {
    // Colours are for a person who has not refused them, never for a file.
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let filter = EnvFilter::try_new(filter)?;
    let _ = match format {
        LogFormat::Text => text(filter, colours, std::io::stderr).try_init(),
        LogFormat::Json => json(filter, colours, std::io::stderr).try_init(),
    };
    Ok(())
}

fn text<W>(filter: EnvFilter, colours: bool, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
    builder.finish().with(filter_fn(without_bodies))
}

fn json<W>(filter: EnvFilter, colours: bool, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
    builder.json().flatten_event(true).with_current_span(false).finish().with(filter_fn(without_bodies))
}

/// Whether it may be in the log, whatever the filter says. An answer of an API server that cannot be decoded kube logs as
/// a whole, as a warning: that may be the Secret with the key of our CA. Nothing is lost: whoever asked gets the error,
/// and says it without the body. (The modules below this one log no bodies.)
fn without_bodies(metadata: &Metadata<'_>) -> bool {
    metadata.target() != "kube_client::client"
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Write},
        sync::{Arc, Mutex},
    };

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().map_err(|_| io::ErrorKind::Other)?.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_filter_has_bodies_of_answers_logged() {
        for filter in ["info", "debug", "trace", "kube_client=trace", "kube_client::client=trace"] {
            for format in [LogFormat::Text, LogFormat::Json] {
                let log = Log::default();
                let (made, filter_of) = (log.clone(), || EnvFilter::new(filter));
                let writer = move || made.clone();
                let say = || {
                    tracing::warn!(target: "kube_client::client", "the key of the CA");
                    tracing::warn!(target: "kube_client::client::tls", "a file");
                    tracing::warn!("ours");
                };
                match format {
                    LogFormat::Text => tracing::subscriber::with_default(text(filter_of(), false, writer), say),
                    LogFormat::Json => tracing::subscriber::with_default(json(filter_of(), false, writer), say),
                }
                let told = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
                assert!(!told.contains("the key"), "{filter}: {told}");
                let all = !filter.contains("kube");
                assert_eq!((told.contains("a file"), told.contains("ours")), (true, all), "{filter}: {told}");
            }
        }
    }
}
