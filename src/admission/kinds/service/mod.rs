//! Checks of Services.

mod external;
mod labels;
mod pods;
mod tolerate;
mod topology;

use super::check::{CheckedObject, ObjectCheck, Subject};
use crate::{admission::Rule, model::Service};

impl CheckedObject for Service {
    const CHECKS: &'static [ObjectCheck<Self>] = &[
        ObjectCheck { rules: &[Rule::TolerateUnready, Rule::TolerateUnreadyValue], check: tolerate::check },
        ObjectCheck { rules: &[Rule::ReservedLabel], check: labels::check },
        ObjectCheck { rules: &[Rule::TopologyMode], check: topology::check_mode },
        ObjectCheck { rules: &[Rule::TrafficDistribution], check: topology::check_distribution },
        ObjectCheck { rules: &[Rule::SuperedgeKeys], check: topology::check_superedge },
        ObjectCheck { rules: &[Rule::OpenyurtKeys], check: topology::check_openyurt },
        ObjectCheck { rules: &[Rule::ExternalIp, Rule::LoadBalancerIp], check: external::check },
        ObjectCheck {
            rules: &[Rule::SelectorMatchesNothing, Rule::TargetPortMissing, Rule::TargetPortDiffers],
            check: pods::check,
        },
    ];

    fn deleting(&self) -> bool {
        self.meta.deleting()
    }

    /// No built-in controller writes Services.
    fn is_owned(_: &Subject<'_, Self>) -> bool {
        false
    }
}
