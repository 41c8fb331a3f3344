//! A bound socket of either kind.

use super::{listen_address::ListenAddress, socket::Socket, unix_socket::UnixSocket};

/// A socket of a listener.
#[derive(Debug)]
pub enum BoundSocket {
    /// An address and a port.
    Tcp(Socket),
    /// A file.
    Unix(UnixSocket),
}

impl BoundSocket {
    /// Where clients connect.
    pub fn address(&self) -> ListenAddress {
        match self {
            Self::Tcp(socket) => socket.address().into(),
            Self::Unix(socket) => ListenAddress::Unix(socket.path().to_owned()),
        }
    }
}

impl From<Socket> for BoundSocket {
    fn from(socket: Socket) -> Self {
        Self::Tcp(socket)
    }
}

impl From<UnixSocket> for BoundSocket {
    fn from(socket: UnixSocket) -> Self {
        Self::Unix(socket)
    }
}
