//! Checks of Endpoints.

mod capacity;
mod checked_endpoints;
mod duplicates;

use roster_engine::model::{json::pointer::pointer, names};
use serde::de::IgnoredAny;

use super::{
    addresses,
    object_check::{self, CheckedObject, ObjectCheck, Subject, check_managed_by},
};
use crate::{
    KnownClusterIp, Rule, Unknown,
    decision::Decision,
    fault::{Fault, ObjectTraffic},
    findings::{Correction, RuleFindings},
    knowledge::Knowledge,
    owner,
    patch::{PatchOp, set},
    request::{AdmissionRequest, Stage},
    settings::Settings,
};
use checked_endpoints::{CheckedAddress, CheckedEndpoints, ReadAddress};

/// Runs the checks of Endpoints. Those that may change an object only count its addresses, which are not read for them.
pub(super) fn run(
    request: &AdmissionRequest<'_>,
    stage: Stage,
    settings: &Settings,
    cluster: &dyn Knowledge,
) -> Result<Decision, String> {
    let run = match stage {
        Stage::Mutate => object_check::run::<CheckedEndpoints<IgnoredAny>>,
        Stage::Validate => object_check::run::<CheckedEndpoints<CheckedAddress>>,
    };
    run(request, stage, settings, cluster)
}

/// The checks that read no address.
impl<A> CheckedEndpoints<A> {
    const CAPACITY: ObjectCheck<Self> =
        ObjectCheck { rules: &[Rule::OverCapacity, Rule::OverCapacityWarning], check: capacity::check };
    const HEADLESS: ObjectCheck<Self> = ObjectCheck { rules: &[Rule::HeadlessLabel], check: check_headless };
}

impl ReadAddress for IgnoredAny {
    const CHECKS: &'static [ObjectCheck<CheckedEndpoints<Self>>] =
        &[CheckedEndpoints::CAPACITY, CheckedEndpoints::HEADLESS];
}

impl ReadAddress for CheckedAddress {
    const CHECKS: &'static [ObjectCheck<CheckedEndpoints<Self>>] = &[
        CheckedEndpoints::CAPACITY,
        CheckedEndpoints::HEADLESS,
        ObjectCheck {
            rules: &[Rule::ManagedBy],
            check: |s, f| check_managed_by(s, |o| &o.metadata, owner::ENDPOINTS, f),
        },
        ObjectCheck { rules: &[Rule::SpecialAddress], check: check_special },
        ObjectCheck { rules: &[Rule::DuplicateAddress], check: duplicates::check },
        ObjectCheck { rules: &[Rule::Provenance], check: check_provenance },
        ObjectCheck { rules: &[Rule::EndpointsDeprecated], check: check_deprecated },
    ];
}

impl<A: ReadAddress> CheckedObject for CheckedEndpoints<A> {
    const CHECKS: &'static [ObjectCheck<Self>] = A::CHECKS;

    fn deleting(&self) -> bool {
        self.metadata.deleting()
    }

    fn traffic(&self) -> ObjectTraffic {
        self.traffic()
    }

    /// Endpoints of a Service with a selector.
    fn is_owned(subject: &Subject<'_, Self>) -> bool {
        matches!(
            subject.cluster.service(subject.namespace, subject.name),
            Ok(Some(service)) if service.has_selector && !service.is_external_name
        )
    }
}

fn check_special(subject: &Subject<'_, CheckedEndpoints<CheckedAddress>>, findings: &mut RuleFindings<'_>) {
    addresses::check_special(subject.object.addresses(), findings);
}

fn check_provenance(subject: &Subject<'_, CheckedEndpoints<CheckedAddress>>, findings: &mut RuleFindings<'_>) {
    addresses::check_provenance(subject.object.addresses(), subject.namespace, subject.cluster, findings);
}

/// [`Rule::EndpointsDeprecated`]. Endpoints that are the lock of a leader election have nothing to move to slices.
fn check_deprecated(subject: &Subject<'_, CheckedEndpoints<CheckedAddress>>, findings: &mut RuleFindings<'_>) {
    if !subject.object.metadata.annotations.contains_key(names::LEADER) {
        findings.add(
            Rule::EndpointsDeprecated,
            Fault::Text(""),
            format_args!(""),
            format_args!("v1 Endpoints are deprecated since 1.33; write discovery.k8s.io/v1 EndpointSlices"),
        );
    }
}

/// [`Rule::HeadlessLabel`], which marks the Endpoints of a headless Service. Mirrored slices inherit the label, and kube-proxy ignores slices that have it.
fn check_headless<A>(subject: &Subject<'_, CheckedEndpoints<A>>, findings: &mut RuleFindings<'_>) {
    let service = match subject.cluster.service(subject.namespace, subject.name) {
        // A Service from a file may not have a cluster IP yet: whether it is headless is not known.
        Ok(Some(service)) if !service.is_external_name && service.cluster_ip != KnownClusterIp::Missing => service,
        Ok(_) => return,
        Err(Unknown(why)) => return findings.unchecked(Rule::HeadlessLabel, why),
    };
    let path = ["metadata", "labels", names::HEADLESS];
    let field = format_args!("metadata.labels[{}]", names::HEADLESS);
    let present = subject.object.metadata.labels.contains_key(names::HEADLESS);
    match (service.cluster_ip == KnownClusterIp::Headless, present) {
        (true, false) => {
            let message = format_args!("is missing, but the Service is headless");
            let patch = || set(subject.raw, &path, "");
            let correction = Correction { field, message, change: format_args!("added"), patch };
            findings.correct(Rule::HeadlessLabel, correction);
        }
        (false, true) => {
            let message = format_args!("is set, but the Service is not headless");
            let patch = || vec![PatchOp::remove(pointer(&path))];
            let correction = Correction { field, message, change: format_args!("removed"), patch };
            findings.correct(Rule::HeadlessLabel, correction);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Remedy;

    #[test]
    fn every_rule_that_changes_an_object_is_checked_without_its_addresses() {
        assert_eq!(changing::<IgnoredAny>(), changing::<CheckedAddress>());
    }

    fn changing<A: ReadAddress>() -> Vec<Rule> {
        let rules = A::CHECKS.iter().flat_map(|check| check.rules).copied();
        rules.filter(|rule| rule.remedy() == Remedy::Change).collect()
    }
}
