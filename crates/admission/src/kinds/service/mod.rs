//! Checks of Services.

mod pods;
mod topology;

use roster_engine::model::{AddressKey, Service, ServicePort, ServiceType, TargetPort, names, protocol_or_tcp};

pub use self::pods::POD_RULES;
use super::{
    addresses::{Objection, objection},
    object_check::{CheckedObject, ObjectCheck, Subject},
};
use crate::{
    Rule,
    fault::{AddressReadiness, Fault, ObjectTraffic, Traffic, TrafficPort},
    findings::{Correction, RuleFindings},
    patch::set,
};

impl CheckedObject for Service {
    const CHECKS: &'static [ObjectCheck<Self>] = &[
        ObjectCheck { rules: &[Rule::TolerateUnready, Rule::TolerateUnreadyValue], check: check_tolerate },
        ObjectCheck { rules: &[Rule::ReservedLabel], check: check_reserved_labels },
        ObjectCheck { rules: &[Rule::TopologyMode], check: topology::check_mode },
        ObjectCheck { rules: &[Rule::TrafficDistribution], check: topology::check_distribution },
        ObjectCheck { rules: &[Rule::SuperedgeKeys], check: topology::check_superedge },
        ObjectCheck { rules: &[Rule::OpenyurtKeys], check: topology::check_openyurt },
        ObjectCheck { rules: &[Rule::ExternalIp, Rule::LoadBalancerIp], check: check_external },
        ObjectCheck { rules: POD_RULES, check: pods::check },
    ];

    fn deleting(&self) -> bool {
        self.meta.deleting()
    }

    /// All its ports, to the pods that it selects.
    fn traffic(&self) -> ObjectTraffic {
        let labels = &self.meta.labels;
        let ignored = labels.contains_key(names::HEADLESS) || labels.contains_key(names::PROXY_NAME);
        // An API server sets the number of the port where there is no target.
        let is_default = |port: &ServicePort| {
            port.target_port == TargetPort::default() || port.target_port == TargetPort::Number(port.port)
        };
        let ports = self.ports.iter().map(|port| TrafficPort {
            name: port.name.clone(),
            protocol: protocol_or_tcp(&port.protocol).into(),
            number: Some(port.port),
            target: (!is_default(port)).then(|| port.target_port.clone()),
        });
        // An API server drops an empty selector.
        let selector = self.selector.clone().unwrap_or_default();
        ObjectTraffic {
            is_proxied: !ignored && self.kind != ServiceType::ExternalName && !self.declared_headless(),
            all: vec![Traffic::to(ports).for_pods(selector)],
        }
    }
}

/// [`Rule::TolerateUnready`] and [`Rule::TolerateUnreadyValue`]. Up to 1.23 the annotation replaces `publishNotReadyAddresses`,
/// in both directions.
fn check_tolerate(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    const ANNOTATION: &str = names::TOLERATE_UNREADY;
    let service = subject.object;
    let Some(text) = service.meta.annotations.get(ANNOTATION) else { return };
    let Some(publish) = service.tolerates_unready() else {
        findings.add(
            Rule::TolerateUnreadyValue,
            Fault::Text(text),
            format_args!("metadata.annotations[{ANNOTATION}]"),
            format_args!("{text:?} is not a Go boolean"),
        );
        return;
    };
    if publish != service.publish_not_ready {
        let correction = Correction {
            field: format_args!("spec.publishNotReadyAddresses"),
            message: format_args!("is {}, but the annotation says {publish}", !publish),
            change: format_args!("set to {publish}"),
            patch: || set(subject.raw, &["spec", "publishNotReadyAddresses"], publish),
        };
        findings.correct(Rule::TolerateUnready, correction);
    }
}

/// Labels that are reserved for controllers, and their effects. The value does not matter: controllers look for the key.
const RESERVED_LABELS: [(&str, &str); 4] = [
    (names::HEADLESS, "kube-proxy ignores a Service with this label"),
    (names::SERVICE_NAME, "the label names the Service of a slice"),
    (names::SLICE_MANAGED_BY, "the label names the writer of a slice"),
    (names::ENDPOINTS_MANAGED_BY, "the Endpoints controller writes Endpoints at every sync"),
];

/// [`Rule::ReservedLabel`].
fn check_reserved_labels(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    for (label, why) in RESERVED_LABELS {
        if subject.object.meta.labels.contains_key(label) {
            findings.add(
                Rule::ReservedLabel,
                Fault::Text(label),
                format_args!("metadata.labels[{label}]"),
                format_args!("{why}"),
            );
        }
    }
}

/// [`Rule::ExternalIp`] and [`Rule::LoadBalancerIp`] (CVE-2020-8554).
fn check_external(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    let service = subject.object;
    let ranges = findings.settings().ranges.lookup();
    for (i, ip) in service.external_ips.iter().enumerate() {
        if let Some(why) = objection(&ranges, ip) {
            let field = format_args!("spec.externalIPs[{i}]");
            let risk = risk(why, "may be another's");
            let fault = redirected(ip, AddressReadiness::Ready);
            findings.add(Rule::ExternalIp, fault, field, format_args!("{ip} {why}{risk}"));
        }
    }
    let ip = &service.load_balancer_ip;
    if !ip.is_empty()
        && let Some(why) = objection(&ranges, ip)
    {
        let field = format_args!("spec.loadBalancerIP");
        let risk = risk(why, "the field is deprecated");
        let fault = redirected(ip, requested(service.kind));
        findings.add(Rule::LoadBalancerIp, fault, field, format_args!("{ip} {why}{risk}"));
    }
}

/// What speaks against an address where no policy speaks of addresses: many clusters have none.
fn risk(why: Objection<'_>, risk: &str) -> String {
    if matches!(why, Objection::NothingAllowed) { format!(", and {risk}") } else { String::new() }
}

/// How far a Service of this type takes the traffic of its load balancer IP: the field has no effect on other types.
fn requested(kind: ServiceType) -> AddressReadiness {
    if kind == ServiceType::LoadBalancer { AddressReadiness::Ready } else { AddressReadiness::NotReady }
}

/// The fault of an address whose traffic the Service redirects to its pods.
fn redirected(ip: &str, readiness: AddressReadiness) -> Fault<'_> {
    Fault::Address { address: AddressKey::of(ip), traffic: 0, readiness }
}
