//! What an API server refuses of the addresses and IP families of a Service.

use std::{collections::BTreeSet, net::IpAddr};

use roster_engine::{model::json::pointer::Pointer, reason::Reason};

use super::{
    addresses::not_cidr,
    faults::{Faults, quoted},
    service::ServiceSpec,
    values::one_of_given,
};

/// Checks the fields of `spec`, which is at `root`, that have addresses or families.
pub(super) fn check(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    check_external_ips(spec, &Pointer::Key(root, "externalIPs"), faults);
    check_source_ranges(spec, &Pointer::Key(root, "loadBalancerSourceRanges"), faults);
    if spec.kind == "ExternalName" {
        return;
    }
    check_families(spec, root, faults);
    check_cluster_ips(spec, root, faults);
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
        one_of_given(Some(family), &["IPv4", "IPv6"], at, faults);
        if !seen.insert(family.as_str()) {
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
    let list = Pointer::Key(root, "clusterIPs");
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
    let families: Vec<Option<&str>> = spec.cluster_ips.iter().map(|ip| family_of(ip)).collect();
    if spec.cluster_ips.len() > 2 || matches!(families[..], [Some(one), Some(other)] if one == other) {
        refuse("clusterIPs", "a Service has at most one address of each IP family".to_owned());
    }
    if let (Some(family), Some(first)) = (family_of(&spec.cluster_ip), spec.ip_families.first())
        && family != first
    {
        refuse("clusterIP", format!("it is an {family} address, and the first of ipFamilies is {}", quoted(first)));
    }
    for (i, ip) in spec.cluster_ips.iter().enumerate().filter(|(i, ip)| *i > 0 || ip.as_str() != "None") {
        let at = Pointer::Index(&list, i);
        match (family_of(ip), spec.ip_families.get(i)) {
            (None, _) => faults.add(Reason::InvalidValue, at, format!("{} is not an IP address", quoted(ip))),
            (Some(family), Some(wanted)) if family != wanted => {
                let message = format!("it is an {family} address, and that of ipFamilies is {}", quoted(wanted));
                faults.add(Reason::InvalidValue, at, message);
            }
            _ => {}
        }
    }
}

/// The family of an address; `None` if it is not one.
fn family_of(ip: &str) -> Option<&'static str> {
    ip.parse::<IpAddr>().ok().map(|ip| if ip.is_ipv4() { "IPv4" } else { "IPv6" })
}

fn check_source_ranges(spec: &ServiceSpec, list: &Pointer<'_>, faults: &mut Faults<'_>) {
    for (i, range) in spec.load_balancer_source_ranges.iter().enumerate() {
        if let Some(why) = not_cidr(range.trim()) {
            faults.add(Reason::InvalidValue, Pointer::Index(list, i), format!("{} {why}", quoted(range)));
        }
    }
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
            assert_eq!((not_external(text).is_none(), not_cidr(text).is_none()), (is_address, is_range), "{text:?}");
        }
    }
}
