//! Pod addresses, parsed once where they are decoded.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::Text;

/// An IP family, as in `spec.ipFamilies`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Family {
    /// 32-bit addresses, and IPv6 addresses that map one.
    #[serde(rename = "IPv4")]
    V4,
    /// 128-bit addresses.
    #[serde(rename = "IPv6")]
    V6,
}

impl Family {
    /// `IPv4` or `IPv6`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    /// The family of an address text. As in Kubernetes, a text that cannot be parsed is IPv4.
    pub fn of(text: &str) -> Self {
        match parse_lenient(text) {
            Some(IpAddr::V6(_)) => Self::V6,
            _ => Self::V4,
        }
    }
}

/// Parses an address as Kubernetes' `netutils.ParseIPSloppy`: leading zeros are allowed (and decimal),
/// and an IPv4-mapped IPv6 address is IPv4.
#[inline]
pub fn parse_lenient(text: &str) -> Option<IpAddr> {
    // Nearly every address is this, and slices have thousands.
    match parse_plain_v4(text.as_bytes()) {
        Some(ip) => Some(IpAddr::V4(ip)),
        None => parse_other(text),
    }
}

fn parse_other(text: &str) -> Option<IpAddr> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(ip.to_canonical());
    }
    if text.contains(':') {
        return parse_lenient_v6(text);
    }
    parse_lenient_v4(text).map(IpAddr::V4)
}

/// Four numbers without leading zeros; `None` for any other text.
#[inline]
fn parse_plain_v4(text: &[u8]) -> Option<Ipv4Addr> {
    // One number, not an array of octets: a processor waits where it reads at once what it wrote byte by byte.
    let (mut bits, mut rest) = plain_octet(text)?;
    for _ in 0..3 {
        let (b'.', after) = rest.split_first()? else { return None };
        let (octet, after) = plain_octet(after)?;
        (bits, rest) = (bits << 8 | octet, after);
    }
    rest.is_empty().then(|| Ipv4Addr::from_bits(bits))
}

/// A number up to 255 at the start of a text, and what follows it.
#[inline]
fn plain_octet(text: &[u8]) -> Option<(u32, &[u8])> {
    let digit =
        |place: usize| text.get(place).map(|byte| u32::from(byte.wrapping_sub(b'0'))).filter(|digit| *digit < 10);
    let first = digit(0)?;
    let Some(second) = digit(1) else { return Some((first, &text[1..])) };
    let number = first * 10 + second;
    let (number, len) = digit(2).map_or((number, 2), |third| (number * 10 + third, 3));
    (first > 0 && number <= 255).then(|| (number, &text[len..]))
}

/// What an address means, whichever text it has: `010.0.0.1` is `10.0.0.1`. A text that cannot be parsed is equal to
/// itself only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressKey<T> {
    /// An address.
    Ip(IpAddr),
    /// A text that is not an address.
    Text(T),
}

impl<'a> AddressKey<&'a str> {
    /// The key of a text.
    pub fn of(text: &'a str) -> Self {
        parse_lenient(text).map_or(Self::Text(text), Self::Ip)
    }

    /// The same key, without the borrow.
    pub fn into_owned(self) -> AddressKey<Text> {
        match self {
            Self::Ip(ip) => AddressKey::Ip(ip),
            Self::Text(text) => AddressKey::Text(text.into()),
        }
    }
}

/// Groups may have any number of leading zeros, and so may the numbers of an embedded IPv4 address.
fn parse_lenient_v6(text: &str) -> Option<IpAddr> {
    let mut strict = String::with_capacity(text.len());
    for (i, group) in text.split(':').enumerate() {
        if i > 0 {
            strict.push(':');
        }
        if group.contains('.') {
            strict.push_str(&parse_lenient_v4(group)?.to_string());
        } else {
            let digits = group.trim_start_matches('0');
            strict.push_str(if digits.is_empty() && !group.is_empty() { "0" } else { digits });
        }
    }
    strict.parse::<Ipv6Addr>().ok().map(|ip| IpAddr::V6(ip).to_canonical())
}

fn parse_lenient_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let digits = parts.next()?;
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *octet = digits
            .trim_start_matches('0')
            .parse()
            .or_else(|e| if digits.bytes().all(|b| b == b'0') { Ok(0) } else { Err(e) })
            .ok()?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

/// The first sixteen bytes of an address, as a number of the same order: enough to tell nearly all addresses
/// apart, as those of IPv4 are never longer.
#[inline]
pub(crate) fn head(text: &str) -> u128 {
    let bytes = text.as_bytes();
    if let Some(all) = bytes.first_chunk() {
        return u128::from_be_bytes(*all);
    }
    // Two overlapping halves, as a copy of so few bytes would cost more than what is done with them.
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let behind = 8 * (16 - bytes.len());
        return u128::from(u64::from_be_bytes(*first)) << 64 | u128::from(u64::from_be_bytes(*last)) << behind;
    }
    bytes.iter().zip(0..).fold(0, |head, (byte, at)| head | u128::from(*byte) << (120 - 8 * at))
}

/// One address of a pod: as written, and parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodIp {
    /// The text in `status.podIPs`.
    pub raw: Text,
    /// The text that Kubernetes prints for it since 1.33; `None` where it cannot be parsed.
    pub canonical: Option<Text>,
    /// Its family; as upstream does, a text that cannot be parsed counts as IPv4.
    pub family: Family,
    /// Whether it is an address that is not in canonical form.
    pub uncanonical: bool,
}

impl PodIp {
    /// Parses `raw`.
    pub fn new(raw: Text) -> Self {
        let Some(ip) = parse_lenient(&raw) else {
            return Self { raw, canonical: None, family: Family::V4, uncanonical: false };
        };
        let family = if ip.is_ipv6() { Family::V6 } else { Family::V4 };
        let printed = smol_str::format_smolstr!("{ip}");
        // Sharing a canonical text saves an allocation for long IPv6 addresses.
        let uncanonical = printed != raw;
        let canonical = Some(if uncanonical { printed } else { raw.clone() });
        Self { raw, canonical, family, uncanonical }
    }

    /// The text that a release publishes; `None` if it publishes canonical text and the address cannot be parsed.
    #[inline]
    pub fn published(&self, canonical: bool) -> Option<&Text> {
        if canonical { self.canonical.as_ref() } else { Some(&self.raw) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_addresses_are_read_as_the_library_reads_them() {
        for text in [
            "10.0.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "256.0.0.1",
            "1.2.3",
            "1.2.3.",
            ".1.2.3",
            "1..2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            "1.2.3.00",
            "1.2.3.1000",
            "1.2.3.a",
            "",
            "1.2.3.4 ",
            "::1",
        ] {
            assert_eq!(parse_plain_v4(text.as_bytes()), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn heads_are_ordered_as_texts() {
        let digits = "10.20.30.40-fd00::1:2";
        for len in 0..digits.len() {
            let mut bytes = digits.as_bytes()[..len.min(16)].to_vec();
            bytes.resize(16, 0);
            assert_eq!(head(&digits[..len]).to_be_bytes().as_slice(), bytes, "{len}");
        }
    }

    #[test]
    fn addresses_are_parsed_as_upstream_parses_them() {
        for (raw, canonical, family) in [
            ("10.0.0.1", Some("10.0.0.1"), Family::V4),
            ("010.0.0.007", Some("10.0.0.7"), Family::V4),
            ("000.0.0.0", Some("0.0.0.0"), Family::V4),
            ("10.0.0.256", None, Family::V4),
            ("10.0.0", None, Family::V4),
            ("::ffff:10.0.0.9", Some("10.0.0.9"), Family::V4),
            ("::ffff:010.0.0.9", Some("10.0.0.9"), Family::V4),
            ("fd00:0::AB", Some("fd00::ab"), Family::V6),
            ("fd00:00001::0000ab", Some("fd00:1::ab"), Family::V6),
            ("fd00::10000", None, Family::V4),
            ("fd00::00000:1", Some("fd00::1"), Family::V6),
            ("1:2:3:4:5:6:7::8", None, Family::V4),
            ("::FFFF:0a00:0009", Some("10.0.0.9"), Family::V4),
            ("::10.0.0.9", Some("::a00:9"), Family::V6),
            ("10.0.0.9::", None, Family::V4),
            ("fe80::1%eth0", None, Family::V4),
            ("junk", None, Family::V4),
            ("", None, Family::V4),
        ] {
            let ip = PodIp::new(raw.into());
            let uncanonical = canonical.is_some_and(|c| c != raw);
            assert_eq!((ip.canonical.as_deref(), ip.family, ip.uncanonical), (canonical, family, uncanonical), "{raw}");
        }
    }
}
