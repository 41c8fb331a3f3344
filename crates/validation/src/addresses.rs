//! Addresses that an API server allows in Endpoints and EndpointSlices.

use std::net::{IpAddr, Ipv6Addr};

use roster_engine::model::{Family, dns, parse_lenient};

use super::{
    faults::{Faults, quoted},
    field::Field,
};

/// Why a text is not the address of an endpoint, in either kind.
pub(super) fn not_endpoint_address(text: &str) -> Option<&'static str> {
    let Ok(ip) = text.parse::<IpAddr>() else { return Some(not_address(text)) };
    if let IpAddr::V6(ip) = ip
        && ip.to_ipv4_mapped().is_some()
    {
        return Some("it maps an IPv4 address into IPv6");
    }
    if ip.is_unspecified() {
        Some("it is the unspecified address")
    } else if ip.is_loopback() {
        Some("it is a loopback address")
    } else if is_link_local(ip) {
        Some("it is a link-local address")
    } else {
        None
    }
}

/// Checks an address that is not that of an endpoint.
pub(super) fn check_ip(ip: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if let Some(why) = not_ip(ip.text()) {
        ip.refuse(format!("{} is not an address: {why}", quoted(ip.text())), faults);
    }
}

/// Why a text is not an IP address as an API server reads them today.
fn not_ip(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Err(_) => Some(not_address(text)),
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => Some("it maps an IPv4 address into IPv6"),
        Ok(_) => None,
    }
}

/// Why a text is not an address in a slice of this type. Only IPv6 slices need the canonical form.
pub(super) fn not_slice_address(text: &str, family: Family) -> Option<String> {
    if let Some(why) = not_endpoint_address(text) {
        return Some(why.to_owned());
    }
    if Family::of(text) != family {
        return Some(format!("it is not an {} address", family.as_str()));
    }
    let canonical = text.parse::<Ipv6Addr>().ok()?.to_string();
    (canonical != text).then(|| format!("its canonical form is {canonical}"))
}

/// Why a text is not an address in a slice of type FQDN.
pub(super) fn not_full_domain_name(text: &str) -> Option<&'static str> {
    let name = text.strip_suffix('.').unwrap_or(text);
    if !dns::is_subdomain(name.as_bytes()) || !name.split('.').all(|label| dns::is_label(label.as_bytes())) {
        Some("it is not a DNS name in lower case")
    } else if !name.contains('.') {
        Some("a full domain name has at least two labels")
    } else {
        None
    }
}

/// Why a text is not a CIDR block such as `10.0.0.0/8`.
pub(super) fn not_cidr(text: &str) -> Option<&'static str> {
    const FORM: &str = "is not a CIDR block such as 10.0.0.0/8";
    let Some((ip, length)) = text.split_once('/') else { return Some(FORM) };
    let (Ok(ip), Ok(bits)) = (ip.parse::<IpAddr>(), length.parse::<u32>()) else { return Some(FORM) };
    let (address, size) = match ip {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()), 32),
        IpAddr::V6(ip) => (ip.to_bits(), 128),
    };
    if bits > size || length != bits.to_string() {
        return Some(FORM);
    }
    let host_bits = 1_u128.checked_shl(size - bits).map_or(u128::MAX, |bit| bit - 1);
    (address & host_bits != 0).then_some("has bits beyond the length of its prefix")
}

fn not_address(text: &str) -> &'static str {
    if parse_lenient(text).is_some() { "a number in it has leading zeros" } else { "it is not an IP address" }
}

/// Link-local, of unicast or multicast.
fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.segments()[0] & 0xff0f == 0xff02,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_endpoints_are_checked() {
        let (v4, v6) = (Some(Family::V4), Some(Family::V6));
        for (text, in_endpoints, in_slice) in [
            ("10.0.0.1", true, v4),
            ("fd00::1", true, v6),
            // Endpoints store it as it is written.
            ("FD00::1", true, None),
            ("fd00:0::1", true, None),
            ("239.1.1.1", true, v4),
            ("010.0.0.1", false, None),
            ("127.0.0.1", false, None),
            ("::1", false, None),
            ("169.254.1.1", false, None),
            ("fe80::1", false, None),
            ("ff02::1", false, None),
            ("224.0.0.1", false, None),
            ("0.0.0.0", false, None),
            ("::", false, None),
            ("::ffff:10.0.0.1", false, None),
            ("1.2.3", false, None),
            ("", false, None),
        ] {
            let family = [Family::V4, Family::V6].into_iter().find(|f| not_slice_address(text, *f).is_none());
            assert_eq!((not_endpoint_address(text).is_none(), family), (in_endpoints, in_slice), "{text}");
        }
    }

    #[test]
    fn full_domain_names_have_two_labels() {
        for (text, want) in [("a.b", true), ("a.b.", true), ("a", false), ("A.b", false), ("", false), ("a..b", false)]
        {
            assert_eq!(not_full_domain_name(text).is_none(), want, "{text}");
        }
    }
}
