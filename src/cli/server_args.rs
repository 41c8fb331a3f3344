//! The flags of the logs of a server.

use clap::{Args, ValueEnum};

use super::serve::ServeOptions;
use crate::runtime::telemetry::logs::LogFormat;

/// The flags of the logs of a server.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Format of log lines
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", env = "ROSTER_LOG_FORMAT")]
    log_format: LogFormatArg,
    /// Log filter, such as `info` or `roster=debug,warn`
    #[arg(long, value_name = "FILTER", default_value_t = ServeOptions::default().log_filter, env = "ROSTER_LOG")]
    log: String,
}

/// [`LogFormat`] as an argument.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum LogFormatArg {
    /// Readable text
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

impl LogArgs {
    /// The format of log lines.
    pub(super) fn format(&self) -> LogFormat {
        match self.log_format {
            LogFormatArg::Text => LogFormat::Text,
            LogFormatArg::Json => LogFormat::Json,
        }
    }

    /// The log filter.
    pub(super) fn filter(&self) -> &str {
        &self.log
    }
}
