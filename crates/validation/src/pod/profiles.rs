//! The seccomp and `AppArmor` profiles of pods and containers.

use super::paths::check_descending;
use crate::{
    faults::Faults,
    field::{Field, FieldRule, Presence},
};

const TYPES: FieldRule = FieldRule::OneOf(&["Localhost", "RuntimeDefault", "Unconfined"]);
const MOST_CHARACTERS: usize = 4095;

/// Checks both profiles of a security context.
pub(super) fn check(security: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (seccomp, app_armor) = (security.key("seccompProfile"), security.key("appArmorProfile"));
    check_type(&seccomp, faults);
    check_descending(&seccomp.key("localhostProfile"), faults);
    check_type(&app_armor, faults);
    let name = app_armor.key("localhostProfile");
    if name.text().trim() != name.text() {
        name.refuse("a profile has no spaces around its name", faults);
    } else if name.as_text() == Some("") {
        name.require("it must not be empty", faults);
    } else if name.text().len() > MOST_CHARACTERS {
        name.refuse(format!("it has more than {MOST_CHARACTERS} characters"), faults);
    }
}

/// Only a profile of type Localhost has a name.
fn check_type(profile: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if !profile.is_set() {
        return;
    }
    let (kind, name) = (profile.key("type"), profile.key("localhostProfile"));
    TYPES.check(&kind, Presence::Required, faults);
    match kind.text() {
        "Localhost" if !name.is_set() => name.require("a profile of type Localhost needs a name", faults),
        "Localhost" => {}
        _ if name.is_set() => name.refuse("it needs type: Localhost", faults),
        _ => {}
    }
}
