//! The rules, each in a file of its own.

mod backend_port_missing;
mod backend_service_missing;
mod budget_selects_nothing;
mod monitor_port_missing;
mod monitor_selects_nothing;
mod reference_grant_missing;
#[cfg(test)]
mod tests;
mod webhook_unserved;

pub(crate) use backend_port_missing::RULE as BACKEND_PORT_MISSING;
pub(crate) use backend_service_missing::RULE as BACKEND_SERVICE_MISSING;

use crate::rule::LintRule;

impl LintRule {
    /// All rules, by their codes.
    pub const ALL: &[&Self] = &[
        &backend_port_missing::RULE,
        &backend_service_missing::RULE,
        &budget_selects_nothing::RULE,
        &monitor_port_missing::RULE,
        &monitor_selects_nothing::RULE,
        &reference_grant_missing::RULE,
        &webhook_unserved::RULE,
    ];
}
