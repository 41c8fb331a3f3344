//! Whether kube-proxy serves a Service.

use std::fmt;

use crate::model::{Family, Service, ServiceType, Text, names};

/// Why kube-proxy does not serve a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotProxied {
    /// `type: ExternalName`: a CNAME.
    ExternalName,
    /// No cluster IP: clients get the addresses of the pods from DNS.
    NoClusterIp,
    /// No cluster IP of the family.
    NoAddressOfFamily(Family),
}

impl fmt::Display for NotProxied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExternalName => f.write_str("type is ExternalName, so clients follow a CNAME"),
            Self::NoClusterIp => f.write_str("the Service has no cluster IP, so clients get addresses from DNS"),
            Self::NoAddressOfFamily(family) => write!(f, "the Service has no {} cluster IP", family.as_str()),
        }
    }
}

/// Why kube-proxy does not serve the addresses of a family of a Service (upstream: `serviceToServiceMap`,
/// `ShouldSkipService`).
pub fn not_proxied(service: &Service, family: Family) -> Option<NotProxied> {
    if service.headless() {
        return Some(NotProxied::NoClusterIp);
    }
    if service.kind == ServiceType::ExternalName {
        return Some(NotProxied::ExternalName);
    }
    cluster_ip(service, family).is_none().then_some(NotProxied::NoAddressOfFamily(family))
}

/// The cluster IP of a family (upstream: `GetClusterIPByFamily`).
pub fn cluster_ip(service: &Service, family: Family) -> Option<&str> {
    if service.families.is_empty() {
        let is_of_family = !service.headless() && Family::of(&service.cluster_ip) == family;
        return is_of_family.then_some(&service.cluster_ip);
    }
    let mut places = service.families.iter().enumerate().filter(|(_, has)| **has == family);
    places.find_map(|(place, _)| service.cluster_ips.get(place)).map(Text::as_str).filter(|ip| !ip.is_empty())
}

/// The proxy that serves a Service instead of kube-proxy, by its label.
pub fn other_proxy(service: &Service) -> Option<&str> {
    service.meta.labels.get(names::PROXY_NAME).map(Text::as_str)
}
