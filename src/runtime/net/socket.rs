//! A bound socket.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use anyhow::Context;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// How many connections the kernel holds until they are accepted. The client of one more tries again a second later: a burst
/// of connections must not cost a genuine client that second. Most kernels allow no more than this.
pub(super) const BACKLOG: u32 = 4096;

/// The most bytes of responses that the kernel holds for a connection before it sends them. Otherwise it may hold megabytes
/// for a client that reads nothing: they would be in no ledger, and count as read.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 64 << 10;

/// Sets what an accepted connection needs.
pub(super) fn set_options(tcp: &TcpStream) {
    // If these fail, small responses may wait for an acknowledgement, and slow clients look faster. Responses are correct.
    let _ = tcp.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(tcp).set_tcp_notsent_lowat(UNSENT);
}

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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Of a response that nobody reads, the kernel takes what it sends at once, and little more.
    #[tokio::test]
    async fn the_kernel_holds_little_of_what_is_not_read() {
        let socket = Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let client = TcpSocket::new_v4().unwrap();
        client.set_recv_buffer_size(4096).unwrap();
        let (client, accepted) = tokio::join!(client.connect(socket.address()), socket.listener.accept());
        let (_client, (server, _)) = (client.unwrap(), accepted.unwrap());
        set_options(&server);
        let mut written = 0;
        while let Ok(more) = server.try_write(&[0; 16 << 10]) {
            written += more;
            // What the client's side takes is sent meanwhile.
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        assert!((1..256 << 10).contains(&written), "{written}");
    }
}
