//! Whether a container restarts when its resources change.

use std::collections::BTreeSet;

use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRules, Presence, Rule, check_fields},
};

const RESTART: &str = "RestartContainer";

const POLICY: &FieldRules = &[
    ("resourceName", Presence::Required, Rule::OneOf(&["cpu", "memory"])),
    ("restartPolicy", Presence::Required, Rule::OneOf(&["NotRequired", RESTART])),
];

/// Checks the policies of a container of a pod with this spec.
pub(super) fn check(container: &Field<'_, '_>, spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
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
