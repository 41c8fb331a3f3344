//! Where a server listens, and the socket that is bound there.

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use super::{socket::Socket, unix_socket::UnixSocket};

/// What the text of a Unix socket begins with.
const UNIX: &str = "unix:";

/// An address and a port, or the file of a Unix socket.
#[derive(Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl ListenAddress {
    /// The path in the text of a Unix socket, `unix:PATH`; `None` if the text is that of another address. The path may be
    /// empty.
    pub fn unix_path(text: &str) -> Option<&Path> {
        text.strip_prefix(UNIX).map(Path::new)
    }

    /// Whether only clients of the same machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

/// As it is displayed: logs have lists of addresses.
impl fmt::Debug for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

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
