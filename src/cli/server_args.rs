//! The flags that all servers have: their logs, and their admin listener.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use super::serve::{ServeOptions, address};
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

/// The flag of the admin listener of a server.
#[derive(Debug, Default, Args)]
pub(super) struct AdminArgs {
    /// Serve health and metrics, and nothing else, on this address as well
    #[arg(long, value_name = "ADDRESS", env = "ROSTER_ADMIN_LISTEN", value_parser = address)]
    pub(super) admin_listen: Option<SocketAddr>,
}
