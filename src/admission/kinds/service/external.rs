//! Addresses that a Service takes traffic for (CVE-2020-8554).

use crate::{
    admission::{
        Rule,
        findings::{About, Findings},
        kinds::{Subject, addresses::Ranges},
    },
    model::Service,
};

pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut Findings<'_>) {
    let service = subject.object;
    for (i, ip) in service.external_ips.iter().enumerate() {
        if let Some(why) = Ranges::of(findings).objection(ip) {
            let field = format_args!("spec.externalIPs[{i}]");
            findings.add(Rule::ExternalIp, About::Text(ip), field, format_args!("{ip} {why}"));
        }
    }
    let ip = &service.load_balancer_ip;
    if !ip.is_empty()
        && let Some(why) = Ranges::of(findings).objection(ip)
    {
        let field = format_args!("spec.loadBalancerIP");
        findings.add(Rule::LoadBalancerIp, About::Text(ip), field, format_args!("{ip} {why}"));
    }
}
