//! Checks of the external IPs and the load balancer IP of a Service (CVE-2020-8554).

use crate::{
    admission::{
        Rule,
        fault::{AddressReadiness, Fault},
        findings::RuleFindings,
        kinds::{addresses::Ranges, check::Subject},
    },
    model::{AddressKey, Service},
};

/// [`Rule::ExternalIp`] and [`Rule::LoadBalancerIp`].
pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    let service = subject.object;
    for (i, ip) in service.external_ips.iter().enumerate() {
        if let Some(why) = Ranges::of(findings).objection(ip) {
            let field = format_args!("spec.externalIPs[{i}]");
            findings.add(Rule::ExternalIp, redirected(ip), field, format_args!("{ip} {why}"));
        }
    }
    let ip = &service.load_balancer_ip;
    if !ip.is_empty()
        && let Some(why) = Ranges::of(findings).objection(ip)
    {
        let field = format_args!("spec.loadBalancerIP");
        findings.add(Rule::LoadBalancerIp, redirected(ip), field, format_args!("{ip} {why}"));
    }
}

/// The fault of an address whose traffic the Service redirects to its pods.
fn redirected(ip: &str) -> Fault<'_> {
    Fault::Address { address: AddressKey::of(ip), traffic: 0, readiness: AddressReadiness::Ready }
}
