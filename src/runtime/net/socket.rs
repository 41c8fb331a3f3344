//! A bound socket.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use anyhow::Context;
use tokio::net::TcpListener;

/// A bound socket: connections queue, and no one answers yet.
#[derive(Debug)]
pub struct Socket {
    pub(super) listener: TcpListener,
    address: SocketAddr,
}

impl Socket {
    /// Binds a socket. `[::]` accepts IPv4 as well; on a machine without IPv6 it becomes `0.0.0.0`.
    pub async fn bind(address: SocketAddr) -> anyhow::Result<Self> {
        let context = || format!("cannot listen on {address}");
        let listener = match TcpListener::bind(address).await {
            Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != ErrorKind::AddrInUse => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
            }
            bound => bound,
        };
        let listener = listener.with_context(context)?;
        let address = listener.local_addr().with_context(context)?;
        Ok(Self { listener, address })
    }

    /// Binds a socket, on any other port if this one is taken.
    pub async fn bind_or_any_port(address: SocketAddr) -> anyhow::Result<Self> {
        match Self::bind(address).await {
            Err(_) => Self::bind(SocketAddr::new(address.ip(), 0)).await,
            bound => bound,
        }
    }

    /// The address, with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
