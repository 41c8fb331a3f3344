//! When a container restarts: when its resources change, and when it has ended with some exit code.

use std::collections::BTreeSet;

use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
};

const RESTART: &str = "RestartContainer";

const POLICY: &FieldRules = &[
    ("resourceName", Presence::Required, FieldRule::OneOf(&["cpu", "memory"])),
    ("restartPolicy", Presence::Required, FieldRule::OneOf(&["NotRequired", RESTART])),
];

/// Checks the policies of a container of a pod with this spec.
pub(super) fn check_resize(container: &Field<'_, '_>, spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let never = spec.key("restartPolicy").text() == "Never";
    let mut seen = BTreeSet::new();
    for policy in container.key("resizePolicy").items() {
        check_fields(&policy, POLICY, faults);
        let (resource, restart) = (policy.key("resourceName"), policy.key("restartPolicy"));
        if !seen.insert(resource.text()) {
            resource.refuse(format!("{} is repeated", quoted(resource.text())), faults);
        }
        if never && restart.text() == RESTART {
            restart.refuse("the containers of a pod with restartPolicy: Never do not restart", faults);
        }
    }
}

/// Checks an init container that ends before the others start.
pub(super) fn check_no_restart(container: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for policy in container.key("resizePolicy").items() {
        let restart = policy.key("restartPolicy");
        if restart.text() == RESTART {
            restart.refuse("an init container needs restartPolicy: Always to have it", faults);
        }
    }
}

const MOST_RULES: usize = 20;
const MOST_EXIT_CODES: usize = 255;

/// Checks what a container does when it has ended with some exit code.
pub(super) fn check_rules(container: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (rules, policy) = (container.key("restartPolicyRules"), container.key("restartPolicy"));
    if !rules.is_empty() && !policy.is_set() {
        policy.require("restartPolicyRules need it", faults);
    }
    rules.check_len(MOST_RULES, "rules", faults);
    for rule in rules.items() {
        FieldRule::OneOf(&["Restart", "RestartAllContainers"]).check(&rule.key("action"), Presence::Required, faults);
        let codes = rule.key("exitCodes");
        if !codes.is_set() {
            codes.require("a rule needs exit codes", faults);
            continue;
        }
        FieldRule::OneOf(&["In", "NotIn"]).check(&codes.key("operator"), Presence::Required, faults);
        codes.key("values").check_len(MOST_EXIT_CODES, "exit codes", faults);
    }
}
