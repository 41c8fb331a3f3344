//! The rules, each in a file of its own.

mod backend_port_missing;
mod backend_service_missing;
mod budget_selects_nothing;
mod monitor_port_missing;
mod monitor_selects_nothing;
mod reference_grant_missing;
#[cfg(test)]
mod tests;

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
    ];
}
