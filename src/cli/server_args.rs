//! The flags that all servers have: their logs, their admin listener, and the addresses and modes of their sockets.

use std::{
    hash::{BuildHasher, RandomState},
    net::SocketAddr,
};

use clap::{Args, ValueEnum};

use super::serve::ServeOptions;
use crate::runtime::{net::ListenAddress, telemetry::logs::LogFormat};

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

/// An identity that no other replica has. Pods have names. Process ids are those of one machine, and mostly 1 in a container.
pub(super) fn replica_identity() -> String {
    let process = std::process::id();
    format!("process-{process}-{:016x}", RandomState::new().hash_one(process))
}

/// An address and a port; without an address, all addresses of the machine.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let full = if text.starts_with(':') { format!("[::]{text}") } else { text.to_owned() };
    full.parse()
        .map_err(|_| format!("{text:?} is not an address with a port, such as 127.0.0.1:8080, [::1]:8080 or :8080"))
}

/// The same, or the path of a Unix socket.
pub(super) fn listen_address(text: &str) -> Result<ListenAddress, String> {
    match ListenAddress::unix_path(text) {
        Some(path) if path.as_os_str().is_empty() => Err("the path of the socket is missing".to_owned()),
        Some(path) => Ok(ListenAddress::Unix(path.to_owned())),
        None => {
            address(text).map(ListenAddress::Tcp).map_err(|error| format!("{error}, or unix:/run/roster/edge.sock"))
        }
    }
}

/// The mode of a file, in octal digits.
pub(super) fn file_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("{text:?} is not the mode of a file in octal digits, such as 0600 or 0660"))
}
