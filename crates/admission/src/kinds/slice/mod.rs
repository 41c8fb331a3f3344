//! Checks of EndpointSlices.

mod checked_slice;
mod content;
mod service;

pub(super) use checked_slice::CheckedSlice;

use super::{
    addresses,
    object_check::{CheckedObject, ObjectCheck, Subject, check_managed_by},
};
use crate::{Rule, fault::ObjectTraffic, findings::RuleFindings, owner};

impl CheckedObject for CheckedSlice {
    const CHECKS: &'static [ObjectCheck<Self>] = &[
        ObjectCheck { rules: &[Rule::SliceLabels, Rule::SliceService], check: service::check },
        ObjectCheck { rules: &[Rule::ManagedBy], check: |s, f| check_managed_by(s, |o| &o.metadata, owner::SLICES, f) },
        ObjectCheck { rules: content::CAPACITY_RULES, check: content::check_capacity },
        ObjectCheck { rules: &[Rule::AddressType], check: content::check_address_type },
        ObjectCheck { rules: &[Rule::SpecialAddress], check: check_special },
        ObjectCheck { rules: &[Rule::DuplicateEndpoint], check: service::check_duplicates },
        ObjectCheck { rules: &[Rule::UnknownZone], check: content::check_zones },
        ObjectCheck { rules: &[Rule::Provenance], check: check_provenance },
    ];

    fn deleting(&self) -> bool {
        self.metadata.deleting()
    }

    fn traffic(&self) -> ObjectTraffic {
        self.traffic()
    }
}

/// [`Rule::SpecialAddress`]. The addresses behind host names are not known here.
fn check_special(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    if !subject.object.has_names() {
        addresses::check_special(subject.object.addresses(), findings);
    }
}

fn check_provenance(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    addresses::check_provenance(subject.object.addresses(), subject.namespace, subject.cluster, findings);
}
