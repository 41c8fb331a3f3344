//! The flag of the admin listener of a server.

use std::net::SocketAddr;

use super::serve::address;

/// The flag of the admin listener of a server.
#[derive(Debug, Default, clap::Args)]
pub(super) struct AdminArgs {
    /// Serve health and metrics, and nothing else, on this address as well
    #[arg(long, value_name = "ADDRESS", env = "ROSTER_ADMIN_LISTEN", value_parser = address)]
    pub(super) admin_listen: Option<SocketAddr>,
}
