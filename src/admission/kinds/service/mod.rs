//! Checks of Services.

mod external;
mod labels;
mod pods;
mod tolerate;
mod topology;

use super::{Check, Checked, Subject};
use crate::{admission::Rule, model::Service};

impl Checked for Service {
    const CHECKS: &'static [Check<Self>] = &[
        Check { rules: &[Rule::TolerateUnready, Rule::TolerateUnreadyValue], look: tolerate::check },
        Check { rules: &[Rule::ReservedLabel], look: labels::check },
        Check { rules: &[Rule::TopologyMode], look: topology::mode },
        Check { rules: &[Rule::TrafficDistribution], look: topology::distribution },
        Check { rules: &[Rule::SuperedgeKeys], look: topology::superedge },
        Check { rules: &[Rule::OpenyurtKeys], look: topology::openyurt },
        Check { rules: &[Rule::ExternalIp, Rule::LoadBalancerIp], look: external::check },
        Check {
            rules: &[Rule::SelectorMatchesNothing, Rule::TargetPortMissing, Rule::TargetPortDiffers],
            look: pods::check,
        },
    ];

    fn deleting(&self) -> bool {
        self.meta.deleting()
    }

    /// No controller writes Services.
    fn is_owned(_: &Subject<'_, Self>) -> bool {
        false
    }
}
