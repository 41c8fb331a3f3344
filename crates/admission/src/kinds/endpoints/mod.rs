//! Checks of Endpoints.

mod capacity;
mod checked_endpoints;
mod duplicates;
mod headless;

use checked_endpoints::ReadAddress;
pub(super) use checked_endpoints::{CheckedAddress, CheckedEndpoints};

use roster_engine::model::names;
use serde::de::IgnoredAny;

use super::{
    addresses,
    object_check::{CheckedObject, ObjectCheck, Subject, check_managed_by},
};
use crate::{
    Rule,
    fault::{Fault, ObjectTraffic},
    findings::RuleFindings,
    owner,
};

/// Those that may change an object look at no address. They only count them.
impl ReadAddress for IgnoredAny {
    const CHECKS: &'static [ObjectCheck<CheckedEndpoints<Self>>] = &[
        ObjectCheck { rules: &[Rule::OverCapacity, Rule::OverCapacityWarning], check: capacity::check },
        ObjectCheck { rules: &[Rule::HeadlessLabel], check: headless::check },
    ];
}

impl ReadAddress for CheckedAddress {
    const CHECKS: &'static [ObjectCheck<CheckedEndpoints<Self>>] = &[
        ObjectCheck { rules: &[Rule::OverCapacity, Rule::OverCapacityWarning], check: capacity::check },
        ObjectCheck { rules: &[Rule::HeadlessLabel], check: headless::check },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Remedy;

    #[test]
    fn every_rule_that_changes_an_object_is_checked_without_its_addresses() {
        let rules = |checks: &[&'static [Rule]]| -> Vec<Rule> {
            checks.iter().copied().flatten().copied().filter(|rule| rule.remedy() == Remedy::Change).collect()
        };
        let all = rules(&CheckedAddress::CHECKS.iter().map(|check| check.rules).collect::<Vec<_>>());
        assert_eq!(rules(&IgnoredAny::CHECKS.iter().map(|check| check.rules).collect::<Vec<_>>()), all);
    }
}
