//! Checks of Endpoints.

mod capacity;
mod checked_endpoints;
mod duplicates;
mod headless;

pub(super) use checked_endpoints::CheckedEndpoints;

use roster_engine::model::names;

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

impl CheckedObject for CheckedEndpoints {
    const CHECKS: &'static [ObjectCheck<Self>] = &[
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

fn check_special(subject: &Subject<'_, CheckedEndpoints>, findings: &mut RuleFindings<'_>) {
    addresses::check_special(subject.object.addresses(), findings);
}

fn check_provenance(subject: &Subject<'_, CheckedEndpoints>, findings: &mut RuleFindings<'_>) {
    addresses::check_provenance(subject.object.addresses(), subject.namespace, subject.cluster, findings);
}

/// [`Rule::EndpointsDeprecated`]. Endpoints that are the lock of a leader election have nothing to move to slices.
fn check_deprecated(subject: &Subject<'_, CheckedEndpoints>, findings: &mut RuleFindings<'_>) {
    if !subject.object.metadata.annotations.contains_key(names::LEADER) {
        findings.add(
            Rule::EndpointsDeprecated,
            Fault::Text(""),
            format_args!(""),
            format_args!("v1 Endpoints are deprecated since 1.33; write discovery.k8s.io/v1 EndpointSlices"),
        );
    }
}
