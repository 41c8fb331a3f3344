//! What an API server refuses of the addresses and IP families of a Service.

use std::{collections::BTreeSet, net::IpAddr};

use super::{
    faults::{Faults, quoted},
    service::ServiceSpec,
    values::one_of,
};
use crate::{engine::reason::Reason, model::json::pointer::Pointer};

/// Checks the fields of `spec`, which is at `root`, that have addresses or families.
pub(super) fn check(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    check_external_ips(spec, &Pointer::Key(root, "externalIPs"), faults);
    if spec.kind == "ExternalName" {
        return;
    }
    check_families(spec, root, faults);
    check_cluster_ips(spec, root, faults);
    check_source_ranges(spec, &Pointer::Key(root, "loadBalancerSourceRanges"), faults);
}

fn check_external_ips(spec: &ServiceSpec, list: &Pointer<'_>, faults: &mut Faults<'_>) {
    for (i, ip) in spec.external_ips.iter().enumerate() {
        if let Some(why) = ip.as_str().and_then(not_external) {
            faults.add(Reason::InvalidValue, Pointer::Index(list, i), why);
        }
    }
}

/// Why a Service cannot have this external address.
fn not_external(text: &str) -> Option<String> {
    let what = match text.parse::<IpAddr>() {
        Err(_) => return Some(format!("{} is not an IP address", quoted(text))),
        Ok(ip) if ip.is_loopback() => "a loopback address",
        Ok(ip) if ip.is_unspecified() => "the unspecified address",
        Ok(IpAddr::V4(ip)) if ip.is_link_local() => "a link-local address",
        Ok(IpAddr::V4(ip)) if ip.octets().starts_with(&[224, 0, 0]) => "a link-local multicast address",
        Ok(IpAddr::V6(ip)) if ip.is_unicast_link_local() => "a link-local address",
        Ok(IpAddr::V6(ip)) if ip.segments()[0] & 0xff0f == 0xff02 => "a link-local multicast address",
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => "an IPv4 address mapped into IPv6",
        Ok(_) => return None,
    };
    Some(format!("{} is {what}", quoted(text)))
}

fn check_families(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    let list = Pointer::Key(root, "ipFamilies");
    let mut seen = BTreeSet::new();
    for (i, family) in spec.ip_families.iter().enumerate() {
        let at = Pointer::Index(&list, i);
        one_of(family, &["IPv4", "IPv6"], at, faults);
        if !seen.insert(family) {
            faults.add(Reason::InvalidValue, at, format!("the family {} is repeated", quoted(family)));
        }
    }
    let is_single = match spec.ip_family_policy.as_deref() {
        Some(policy) => policy == "SingleStack",
        // An API server gives both families to a headless Service without selector.
        None => spec.cluster_ip != "None" || !spec.selector.is_empty(),
    };
    if !is_single {
        return;
    }
    let policy = if spec.ip_family_policy.is_some() { Pointer::Key(root, "ipFamilyPolicy") } else { list };
    let most = "needs ipFamilyPolicy: PreferDualStack or RequireDualStack";
    if spec.ip_families.len() > 1 {
        faults.add(Reason::InvalidValue, policy, format!("a Service with two IP families {most}"));
    } else if spec.cluster_ips.len() > 1 && spec.cluster_ip != "None" {
        faults.add(
            Reason::InvalidValue,
            Pointer::Key(root, "clusterIPs"),
            format!("a Service with two cluster IPs {most}"),
        );
    }
}

fn check_cluster_ips(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    let mut refuse = |field, message| faults.add(Reason::InvalidValue, Pointer::Key(root, field), message);
    if let Some(first) = spec.cluster_ips.first() {
        if spec.cluster_ip.is_empty() {
            refuse("clusterIPs", "it needs clusterIP, with the first of its addresses".to_owned());
        } else if *first != spec.cluster_ip {
            let message = format!("the first is {}, and clusterIP is {}", quoted(first), quoted(&spec.cluster_ip));
            refuse("clusterIPs", message);
        } else if first == "None" && spec.cluster_ips.len() > 1 {
            refuse("clusterIPs", "None cannot stand beside addresses".to_owned());
        }
    }
    let family = spec.cluster_ip.parse::<IpAddr>().ok().map(|ip| if ip.is_ipv4() { "IPv4" } else { "IPv6" });
    if let (Some(family), Some(first)) = (family, spec.ip_families.first())
        && family != first
    {
        refuse("clusterIP", format!("it is an {family} address, and the first of ipFamilies is {}", quoted(first)));
    }
}

fn check_source_ranges(spec: &ServiceSpec, list: &Pointer<'_>, faults: &mut Faults<'_>) {
    for (i, range) in spec.load_balancer_source_ranges.iter().enumerate() {
        if let Some(why) = not_range(range.trim()) {
            faults.add(Reason::InvalidValue, Pointer::Index(list, i), format!("{} {why}", quoted(range)));
        }
    }
}

/// Why a text is not a CIDR block such as `10.0.0.0/8`.
fn not_range(text: &str) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// As kube-apiserver 1.37 answers.
    #[test]
    fn addresses_and_ranges_are_those_of_an_api_server() {
        for (text, is_address, is_range) in [
            ("192.0.2.1", true, false),
            ("239.0.0.1", true, false),
            ("FD00::1", true, false),
            ("1.2.3", false, false),
            ("010.0.0.1", false, false),
            ("127.0.0.1", false, false),
            ("0.0.0.0", false, false),
            ("169.254.1.1", false, false),
            ("224.0.0.1", false, false),
            ("ff02::1", false, false),
            ("fe80::1", false, false),
            ("::ffff:192.0.2.1", false, false),
            ("10.0.0.0/8", false, true),
            ("0.0.0.0/0", false, true),
            ("::/0", false, true),
            ("192.0.2.1/32", false, true),
            ("fd00::/8", false, true),
            ("10.0.0.1/8", false, false),
            ("010.0.0.0/8", false, false),
            ("10.0.0.0/08", false, false),
            ("10.0.0.0/33", false, false),
            ("", false, false),
        ] {
            assert_eq!((not_external(text).is_none(), not_range(text).is_none()), (is_address, is_range), "{text:?}");
        }
    }
}
