//! A bound socket.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use anyhow::Context;
use tokio::net::{TcpListener, TcpSocket};

/// How many connections the kernel holds until they are accepted. The client of one more tries again a second later: a burst
/// of connections must not cost a genuine client that second. Most kernels allow no more than this.
pub(super) const BACKLOG: u32 = 4096;

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As tokio and std do: a server that starts again need not wait for its old connections to time out.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A bound socket: connections queue, and no one answers yet.
#[derive(Debug)]
pub struct Socket {
    pub(super) listener: TcpListener,
    address: SocketAddr,
}

impl Socket {
    /// Binds a socket, within a runtime. `[::]` accepts IPv4 as well; on a machine without IPv6 it becomes `0.0.0.0`.
    pub fn bind(address: SocketAddr) -> anyhow::Result<Self> {
        let context = || format!("cannot listen on {address}");
        let listener = match listen(address) {
            Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != ErrorKind::AddrInUse => {
                listen((Ipv4Addr::UNSPECIFIED, address.port()).into())
            }
            bound => bound,
        };
        let listener = listener.with_context(context)?;
        let address = listener.local_addr().with_context(context)?;
        Ok(Self { listener, address })
    }

    /// Binds a socket, on any other port if this one is taken.
    pub fn bind_or_any_port(address: SocketAddr) -> anyhow::Result<Self> {
        match Self::bind(address) {
            Err(_) => Self::bind(SocketAddr::new(address.ip(), 0)),
            bound => bound,
        }
    }

    /// The socket without its runtime.
    pub(super) fn into_std(self) -> std::io::Result<std::net::TcpListener> {
        self.listener.into_std()
    }

    /// A socket in the current runtime.
    pub(super) fn from_std(listener: std::net::TcpListener) -> std::io::Result<Self> {
        let listener = TcpListener::from_std(listener)?;
        Ok(Self { address: listener.local_addr()?, listener })
    }

    /// The address, with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
