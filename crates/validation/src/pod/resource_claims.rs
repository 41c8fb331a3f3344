//! Devices that a pod claims.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
};

const CLAIM: &FieldRules = &[
    ("name", Presence::Required, FieldRule::Label),
    ("resourceClaimName", Presence::Nullable, FieldRule::Subdomain),
    ("resourceClaimTemplateName", Presence::Nullable, FieldRule::Subdomain),
];

/// Checks the claims of a pod; their names.
pub(super) fn check<'v>(claims: &Field<'v, '_>, faults: &mut Faults<'_>) -> BTreeSet<&'v str> {
    let mut names = BTreeSet::new();
    for claim in claims.items() {
        check_fields(&claim, CLAIM, faults);
        let name = claim.key("name");
        if !names.insert(name.text()) {
            name.refuse(format!("the claim {} is repeated", quoted(name.text())), faults);
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"].map(|name| claim.key(name).is_set());
        if sources[0] == sources[1] {
            claim.refuse("it needs either resourceClaimName or resourceClaimTemplateName", faults);
        }
    }
    names
}

/// Checks what a container uses of the claims with these names.
pub(super) fn check_uses<'v>(uses: &Field<'v, '_>, names: &BTreeSet<&'v str>, faults: &mut Faults<'_>) {
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for claim in uses.items() {
        let (name, request) = (claim.key("name"), claim.key("request"));
        FieldRule::Text.check(&name, Presence::Required, faults);
        FieldRule::Label.check(&request, Presence::Optional, faults);
        // A claim is used as a whole, or request by request.
        let requests = seen.entry(name.text()).or_default();
        let is_whole = requests.contains("") || request.text().is_empty() && !requests.is_empty();
        if !requests.insert(request.text()) || is_whole {
            claim.refuse(format!("the claim {} is repeated", quoted(name.text())), faults);
        }
        if !name.text().is_empty() && !names.contains(name.text()) {
            name.refuse(format!("the pod has no resource claim {}", quoted(name.text())), faults);
        }
    }
}
