//! Structured logs. One line per request, written at the boundary; never a body.

use std::str::FromStr;

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

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
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_new(filter)?)
        .with_writer(std::io::stderr)
        .with_ansi(colours);
    let _ = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).try_init(),
    };
    Ok(())
}
