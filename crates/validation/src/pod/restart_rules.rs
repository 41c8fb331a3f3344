//! What a container does when it has ended with some exit code.

use crate::{
    faults::Faults,
    field::{Field, Presence, Rule},
};

const MOST_RULES: usize = 20;
const MOST_EXIT_CODES: usize = 255;

pub(super) fn check(container: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (rules, policy) = (container.key("restartPolicyRules"), container.key("restartPolicy"));
    if !rules.is_empty() && !policy.is_set() {
        policy.require("restartPolicyRules need it", faults);
    }
    rules.check_len(MOST_RULES, "rules", faults);
    for rule in rules.items() {
        Rule::OneOf(&["Restart", "RestartAllContainers"]).check(&rule.key("action"), Presence::Required, faults);
        let codes = rule.key("exitCodes");
        if !codes.is_set() {
            codes.require("a rule needs exit codes", faults);
            continue;
        }
        Rule::OneOf(&["In", "NotIn"]).check(&codes.key("operator"), Presence::Required, faults);
        codes.key("values").check_len(MOST_EXIT_CODES, "exit codes", faults);
    }
}
