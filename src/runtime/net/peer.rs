//! A peer: the one who holds something, as far as an address tells.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::UnixStream;

/// The host at the other end of a connection: an IPv4 address, or the /64 of an IPv6 address, which is what one host can
/// use as it likes. Over a Unix socket, the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(PeerId);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PeerId {
    Host(IpAddr),
    User(u32),
}

impl Peer {
    /// The peer of connections whose address is unknown, such as those of tests in memory.
    pub(crate) const UNKNOWN: Self = Self(PeerId::Host(IpAddr::V6(Ipv6Addr::UNSPECIFIED)));

    /// The peer at an address. An IPv4 address that is mapped into IPv6 counts as IPv4: a dual-stack socket maps all.
    pub(crate) fn of(address: SocketAddr) -> Self {
        Self(PeerId::Host(match address.ip().to_canonical() {
            IpAddr::V6(ip) if ip.is_loopback() => IpAddr::V6(ip),
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX))),
            v4 @ IpAddr::V4(_) => v4,
        }))
    }

    /// Whether it is this machine, or what shares the network of this pod. Other loopback addresses are those of proxies that pass on
    /// what comes from elsewhere, such as 127.0.0.6 of Istio.
    pub(crate) fn is_localhost(&self) -> bool {
        matches!(self.0, PeerId::Host(ip) if ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST)
    }

    /// The peer at the other end of a Unix socket: a user of the machine.
    pub(super) fn of_user(stream: &UnixStream) -> Self {
        stream.peer_cred().map_or(Self::UNKNOWN, |user| Self(PeerId::User(user.uid())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_an_ipv4_address_or_an_ipv6_prefix() {
        let peer = |ip: &str| Peer::of(SocketAddr::new(ip.parse().unwrap(), 7));
        for (a, b, same) in [
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("10.0.0.1", "::ffff:10.0.0.1", true),
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
        ] {
            assert_eq!(peer(a) == peer(b), same, "{a} {b}");
        }
    }

    #[test]
    fn loopback_is_this_machine_and_nobody_else() {
        let peer = |ip: &str| Peer::of(SocketAddr::new(ip.parse().unwrap(), 7));
        for (ip, want) in [
            ("127.0.0.1", true),
            ("127.0.0.6", false),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("::2", false),
            ("::ffff:10.0.0.1", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(peer(ip).is_localhost(), want, "{ip}");
        }
        assert!(!Peer::UNKNOWN.is_localhost());
    }
}
