//! The security settings of pods and containers.

use super::{paths::check_descending, sysctls, windows};
use crate::{
    faults::Faults,
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
};

/// The number of a user or of a group.
const ID: FieldRule = FieldRule::Range(0, i32::MAX as i64);

const POD: &FieldRules = &[
    ("runAsUser", Presence::Optional, ID),
    ("runAsGroup", Presence::Optional, ID),
    ("fsGroup", Presence::Optional, ID),
    ("fsGroupChangePolicy", Presence::Nullable, FieldRule::OneOf(&["OnRootMismatch", "Always"])),
    ("supplementalGroupsPolicy", Presence::Nullable, FieldRule::OneOf(&["Merge", "Strict"])),
    ("seLinuxChangePolicy", Presence::Nullable, FieldRule::OneOf(&["Recursive", "MountOption"])),
];

const CONTAINER: &FieldRules = &[
    ("runAsUser", Presence::Optional, ID),
    ("runAsGroup", Presence::Optional, ID),
    ("procMount", Presence::Nullable, FieldRule::OneOf(&["Default", "Unmasked"])),
];

/// Checks the security context of a pod with this spec.
pub(super) fn check_pod(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let security = spec.key("securityContext");
    check_fields(&security, POD, faults);
    for group in security.key("supplementalGroups").items() {
        ID.check(&group, Presence::Optional, faults);
    }
    sysctls::check(&security.key("sysctls"), spec, faults);
    check_profiles(&security, faults);
    windows::check(spec, faults);
}

/// Checks the security context of a container of a pod with this spec.
pub(super) fn check_container(container: &Field<'_, '_>, spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let security = container.key("securityContext");
    check_fields(&security, CONTAINER, faults);
    check_profiles(&security, faults);
    windows::check_options(&security.key("windowsOptions"), faults);
    let mounts = security.key("procMount");
    if mounts.text() == "Unmasked" && !spec.key("hostUsers").is_false() {
        mounts.refuse("Unmasked needs hostUsers: false in the pod", faults);
    }
    let escalation = security.key("allowPrivilegeEscalation");
    if !escalation.is_false() {
        return;
    }
    if security.key("privileged").is_true() {
        escalation.refuse("a privileged container can escalate its privileges", faults);
    }
    let capabilities = security.key("capabilities");
    if capabilities.key("add").items().any(|capability| capability.text() == "CAP_SYS_ADMIN") {
        escalation.refuse("a container with CAP_SYS_ADMIN can escalate its privileges", faults);
    }
}

const PROFILE_TYPES: FieldRule = FieldRule::OneOf(&["Localhost", "RuntimeDefault", "Unconfined"]);
const MOST_NAME_CHARACTERS: usize = 4095;

/// Checks both profiles of a security context.
fn check_profiles(security: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (seccomp, app_armor) = (security.key("seccompProfile"), security.key("appArmorProfile"));
    check_profile_type(&seccomp, faults);
    check_descending(&seccomp.key("localhostProfile"), faults);
    check_profile_type(&app_armor, faults);
    let name = app_armor.key("localhostProfile");
    if name.text().trim() != name.text() {
        name.refuse("a profile has no spaces around its name", faults);
    } else if name.as_text() == Some("") {
        name.require("it must not be empty", faults);
    } else if name.text().len() > MOST_NAME_CHARACTERS {
        name.refuse(format!("it has more than {MOST_NAME_CHARACTERS} characters"), faults);
    }
}

/// Only a profile of type Localhost has a name.
fn check_profile_type(profile: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if !profile.is_set() {
        return;
    }
    let (kind, name) = (profile.key("type"), profile.key("localhostProfile"));
    PROFILE_TYPES.check(&kind, Presence::Required, faults);
    match kind.text() {
        "Localhost" if !name.is_set() => name.require("a profile of type Localhost needs a name", faults),
        "Localhost" => {}
        _ if name.is_set() => name.refuse("it needs type: Localhost", faults),
        _ => {}
    }
}
