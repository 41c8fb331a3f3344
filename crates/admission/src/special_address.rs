//! Addresses that traffic cannot reach or must not reach, and IPv4 addresses within IPv6 ones.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use smallvec::SmallVec;

/// Addresses outside of the link-local range at which a cloud gives credentials and settings of a machine to everyone who
/// asks from it, with the name of the cloud.
pub(super) const METADATA: [(IpAddr, &str); 10] = [
    (v4(100, 100, 100, 200), "Alibaba Cloud"),
    (v6([0xfd00, 0x0100, 0, 0, 0, 0, 0x0100, 0x0200]), "Alibaba Cloud"),
    (v6([0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254]), "AWS"),
    (v6([0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0023]), "AWS (EKS Pod Identity)"),
    (v4(168, 63, 129, 16), "Azure (WireServer)"),
    (v6([0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254]), "Google Cloud"),
    (v6([0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1]), "Linode"),
    (v6([0xfd00, 0x00c1, 0, 0, 0, 0, 0xa9fe, 0xa9fe]), "Oracle Cloud"),
    (v4(192, 0, 0, 192), "Oracle Cloud (Classic)"),
    (v6([0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x0042]), "Scaleway"),
];

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

const fn v6(all: [u16; 8]) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]))
}

/// Why an address is special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpecialAddress {
    /// `0.0.0.0` or `::`.
    Unspecified,
    /// In `0.0.0.0/8`.
    ThisNetwork,
    Loopback,
    LinkLocal,
    Multicast,
    Broadcast,
    /// In `240.0.0.0/4`.
    Reserved,
    /// One of [`METADATA`], of this cloud.
    Metadata(&'static str),
}

impl SpecialAddress {
    /// Why traffic cannot or must not reach an address; `None` if it may. The unspecified, loopback, link-local and
    /// link-local multicast addresses are those of `ValidateEndpointIP`; upstream accepts the others.
    pub(super) fn of(ip: IpAddr) -> Option<Self> {
        let (link_local, broadcast, first) = match ip {
            IpAddr::V4(v4) => (v4.is_link_local(), v4.is_broadcast(), Some(v4.octets()[0])),
            IpAddr::V6(v6) => (v6.is_unicast_link_local(), false, None),
        };
        if ip.is_unspecified() {
            Some(Self::Unspecified)
        } else if ip.is_loopback() {
            Some(Self::Loopback)
        } else if link_local {
            Some(Self::LinkLocal)
        } else if ip.is_multicast() {
            Some(Self::Multicast)
        } else if broadcast {
            Some(Self::Broadcast)
        } else if first == Some(0) {
            Some(Self::ThisNetwork)
        } else if first.is_some_and(|first| first >= 240) {
            Some(Self::Reserved)
        } else {
            METADATA.iter().find(|(known, _)| *known == ip).map(|(_, cloud)| Self::Metadata(cloud))
        }
    }

    /// Whether a policy may allow it. Some networks give reserved addresses to pods.
    pub(super) fn may_be_allowed(self) -> bool {
        matches!(self, Self::Reserved | Self::Metadata(_))
    }
}

impl fmt::Display for SpecialAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "is the unspecified address",
            Self::ThisNetwork => "is in 0.0.0.0/8, which no host has",
            Self::Loopback => "is a loopback address",
            Self::LinkLocal => "is a link-local address",
            Self::Multicast => "is a multicast address",
            Self::Broadcast => "is the broadcast address",
            Self::Reserved => "is a reserved address, which no policy allows",
            Self::Metadata(cloud) => return write!(f, "is a metadata address of {cloud}, which no policy allows"),
        })
    }
}

/// A place of an IPv4 address in an IPv6 address.
#[derive(Clone, Copy)]
enum Embedding {
    /// The 32 bits that begin at this bit.
    At(u32),
    /// The last 32 bits, inverted.
    Inverted,
    /// 16 bits after a prefix of 48, and 16 after the eight that are zero (RFC 6052).
    Split,
}

/// The prefixes of IPv6 addresses that embed IPv4 addresses. IPv4-mapped addresses are read as IPv4 already.
const EMBEDDINGS: [(u128, u32, &[Embedding]); 6] = [
    // Translated (RFC 6052).
    (0x0064_ff9b << 96, 96, &[Embedding::At(96)]),
    // Translated, for local use (RFC 8215): the prefix of a translator has 48 bits, or 96 with any others between.
    (LOCAL_USE, 48, &[Embedding::At(96), Embedding::Split]),
    // 6to4 (RFC 3056).
    (0x2002 << 112, 16, &[Embedding::At(16)]),
    // Teredo (RFC 4380): the client, and its server.
    (0x2001_0000 << 96, 32, &[Embedding::Inverted, Embedding::At(32)]),
    // Translated by a stateless translator (RFC 2765).
    (0xffff << 48, 96, &[Embedding::At(96)]),
    // IPv4-compatible (RFC 4291).
    (0, 96, &[Embedding::At(96)]),
];

const LOCAL_USE: u128 = 0x0064_ff9b_0001 << 80;

/// The third quarter of an ISATAP address (RFC 5214), but for the bit that says whether the IPv4 address is global.
const ISATAP: u128 = 0x5efe;
const ISATAP_GLOBAL: u128 = 0x0200_0000;

/// The IPv4 addresses in an IPv6 address: a gateway sends the packet to one of them.
pub(super) fn embedded(ip: IpAddr) -> SmallVec<[Ipv4Addr; 2]> {
    let mut found = SmallVec::new();
    let IpAddr::V6(v6) = ip else { return found };
    let bits = v6.to_bits();
    let low = |bits: u128| Ipv4Addr::from_bits(u32::try_from(bits & u128::from(u32::MAX)).unwrap_or_default());
    for (prefix, length, embeddings) in EMBEDDINGS {
        if (bits ^ prefix) >> (128 - length) != 0 {
            continue;
        }
        found.extend(embeddings.iter().map(|embedding| match embedding {
            Embedding::At(begin) => low(bits >> (96 - begin)),
            Embedding::Inverted => low(!bits),
            Embedding::Split => low(bits >> 64 << 16 | bits >> 40 & 0xffff),
        }));
        if prefix == LOCAL_USE {
            // The form with the other length says nothing: its zeros or its subnet are read as an address here.
            found.retain(|v4| (1..240).contains(&v4.octets()[0]));
        }
    }
    if bits >> 32 & u128::from(u32::MAX) & !ISATAP_GLOBAL == ISATAP {
        found.push(low(bits));
    }
    found
}

#[cfg(test)]
mod tests {
    use roster_engine::model::parse_lenient;

    use super::*;

    #[test]
    fn special_addresses_are_those_of_the_api_server_and_some_more() {
        for (text, want) in [
            ("0.0.0.0", Some("is the unspecified address")),
            ("::", Some("is the unspecified address")),
            ("0.0.0.1", Some("is in 0.0.0.0/8, which no host has")),
            ("0.255.0.1", Some("is in 0.0.0.0/8, which no host has")),
            ("1.0.0.1", None),
            ("127.0.0.1", Some("is a loopback address")),
            ("127.255.0.9", Some("is a loopback address")),
            ("::1", Some("is a loopback address")),
            ("::ffff:127.0.0.1", Some("is a loopback address")),
            ("169.254.169.254", Some("is a link-local address")),
            ("fe80::1", Some("is a link-local address")),
            ("febf::1", Some("is a link-local address")),
            ("fec0::1", None),
            ("224.0.0.1", Some("is a multicast address")),
            ("239.1.2.3", Some("is a multicast address")),
            ("ff02::1", Some("is a multicast address")),
            ("ff0e::1", Some("is a multicast address")),
            ("255.255.255.255", Some("is the broadcast address")),
            ("240.0.0.0", Some("is a reserved address, which no policy allows")),
            ("255.255.255.254", Some("is a reserved address, which no policy allows")),
            ("fd00:ec2::254", Some("is a metadata address of AWS, which no policy allows")),
            ("fd20:ce::254", Some("is a metadata address of Google Cloud, which no policy allows")),
            ("168.63.129.16", Some("is a metadata address of Azure (WireServer), which no policy allows")),
            ("100.100.100.200", Some("is a metadata address of Alibaba Cloud, which no policy allows")),
            ("fd00:ec2::253", None),
            ("10.0.0.1", None),
            ("010.0.0.1", None),
            ("2001:db8::1", None),
        ] {
            let found = SpecialAddress::of(parse_lenient(text).unwrap()).map(|special| special.to_string());
            assert_eq!(found.as_deref(), want, "{text}");
        }
    }

    #[test]
    fn ipv4_addresses_are_found_in_every_form() {
        for (text, want) in [
            ("64:ff9b::10.0.0.1", &["10.0.0.1"] as &[&str]),
            ("64:ff9b::1:0:0", &[]),
            ("2002:a00:1::5", &["10.0.0.1"]),
            ("::10.0.0.1", &["10.0.0.1"]),
            ("::ffff:0:10.0.0.1", &["10.0.0.1"]),
            ("::ffff:1:10.0.0.1", &[]),
            // Prefixes of 48 and of 96 bits.
            ("64:ff9b:1:a00:0:100::", &["10.0.0.1"]),
            ("64:ff9b:1:a9fe:a9:fe00::", &["169.254.169.254"]),
            ("64:ff9b:1::10.0.0.1", &["10.0.0.1"]),
            ("64:ff9b:1:fffe::10.0.0.1", &["10.0.0.1"]),
            ("64:ff9b:1:7f00:0:100:a00:2", &["10.0.0.2", "127.0.0.1"]),
            ("64:ff9b:2::10.0.0.1", &[]),
            // The client 192.0.2.45 of the server 65.54.227.120, the example of RFC 4380.
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", &["192.0.2.45", "65.54.227.120"]),
            ("2001:1::1", &[]),
            ("fd00:1::5efe:10.0.0.1", &["10.0.0.1"]),
            ("2001:db8::200:5efe:192.0.2.1", &["192.0.2.1"]),
            ("2001:db8::100:5efe:192.0.2.1", &[]),
            ("2001:db8::1", &[]),
            ("10.0.0.1", &[]),
        ] {
            let found = embedded(parse_lenient(text).unwrap());
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), want, "{text}");
        }
    }
}
