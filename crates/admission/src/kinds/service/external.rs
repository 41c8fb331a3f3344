//! Checks of the external IPs and the load balancer IP of a Service (CVE-2020-8554).

use roster_engine::model::{AddressKey, Service, ServiceType};

use crate::{
    Rule,
    fault::{AddressReadiness, Fault},
    findings::RuleFindings,
    kinds::{addresses::objection, object_check::Subject},
};

/// [`Rule::ExternalIp`] and [`Rule::LoadBalancerIp`].
pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    let service = subject.object;
    let ranges = findings.settings().ranges.lookup();
    for (i, ip) in service.external_ips.iter().enumerate() {
        if let Some(why) = objection(&ranges, ip) {
            let field = format_args!("spec.externalIPs[{i}]");
            findings.add(Rule::ExternalIp, redirected(ip, AddressReadiness::Ready), field, format_args!("{ip} {why}"));
        }
    }
    let ip = &service.load_balancer_ip;
    if !ip.is_empty()
        && let Some(why) = objection(&ranges, ip)
    {
        let field = format_args!("spec.loadBalancerIP");
        findings.add(Rule::LoadBalancerIp, redirected(ip, requested(service.kind)), field, format_args!("{ip} {why}"));
    }
}

/// How far a Service of this type takes the traffic of its load balancer IP: the field has no effect on other types.
fn requested(kind: ServiceType) -> AddressReadiness {
    if kind == ServiceType::LoadBalancer { AddressReadiness::Ready } else { AddressReadiness::NotReady }
}

/// The fault of an address whose traffic the Service redirects to its pods.
fn redirected(ip: &str, readiness: AddressReadiness) -> Fault<'_> {
    Fault::Address { address: AddressKey::of(ip), traffic: 0, readiness }
}
