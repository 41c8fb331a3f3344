//! Address ranges, as policies contain them.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A range of addresses: `10.0.0.0/8`, `fd00::/8`. A single address is a range of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr(IpNet);

/// Why a text is not an address range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CidrError {
    /// The address cannot be read.
    #[error("{0:?} is not an IP address")]
    Address(String),
    /// The text after the slash is not a number, or too large.
    #[error("/{0} is not a prefix length")]
    Length(String),
    /// It is IPv6 in form but means IPv4: no address is ever in it.
    #[error("{0} is an IPv4-mapped address; write it as IPv4")]
    Mapped(String),
    /// Bits are set beyond the prefix: another range may have been meant.
    #[error("{0} has bits set beyond its prefix; write {1}")]
    HostBits(String, Cidr),
}

impl Cidr {
    /// Whether an address lies in the range. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn contains(&self, ip: IpAddr) -> bool {
        self.0.contains(&ip.to_canonical())
    }

    /// Its first address.
    pub fn first(&self) -> IpAddr {
        self.0.network()
    }

    /// Whether every address of `other` lies in the range.
    pub fn contains_range(&self, other: &Self) -> bool {
        self.0.contains(&other.0)
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    /// Stricter than [`IpNet`]: without mapped addresses, leading zeros and host bits.
    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (address, length) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
        let ip: IpAddr = address.parse().map_err(|_| CidrError::Address(address.to_owned()))?;
        if ip.to_canonical() != ip {
            return Err(CidrError::Mapped(text.to_owned()));
        }
        let Some(length) = length else { return Ok(Self(ip.into())) };
        let plain = length == "0" || (!length.starts_with(['0', '+']));
        let net = length.parse().ok().filter(|_| plain).and_then(|bits| IpNet::new(ip, bits).ok());
        let net = net.ok_or_else(|| CidrError::Length(length.to_owned()))?;
        let range = Self(net.trunc());
        if range.0 == net { Ok(range) } else { Err(CidrError::HostBits(text.to_owned(), range)) }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Cidr {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cidr {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed_and_contain_addresses() {
        for (range, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("192.0.2.6/31", "::ffff:192.0.2.7", "192.0.2.8"),
            ("fd00::/8", "fdff::1", "fe00::"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("2001:db8::1/128", "2001:db8::1", "2001:db8::2"),
        ] {
            let cidr: Cidr = range.parse().unwrap();
            assert!(cidr.contains(inside.parse().unwrap()), "{range} {inside}");
            assert!(!cidr.contains(outside.parse().unwrap()), "{range} {outside}");
            assert_eq!(cidr.to_string().parse(), Ok(cidr));
        }
        for (text, why) in [
            ("", "\"\" is not an IP address"),
            ("10.0.0.0/33", "/33 is not a prefix length"),
            ("10.0.0.0/+8", "/+8 is not a prefix length"),
            ("10.0.0.0/08", "/08 is not a prefix length"),
            ("::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104 is an IPv4-mapped address; write it as IPv4"),
            ("::ffff:10.0.0.1", "::ffff:10.0.0.1 is an IPv4-mapped address; write it as IPv4"),
            ("10.0.0.0/", "/ is not a prefix length"),
            ("010.0.0.0/8", "\"010.0.0.0\" is not an IP address"),
            ("10.0.0.1/8", "10.0.0.1/8 has bits set beyond its prefix; write 10.0.0.0/8"),
        ] {
            assert_eq!(text.parse::<Cidr>().map_err(|e| e.to_string()), Err(why.to_owned()), "{text}");
        }
    }
}
