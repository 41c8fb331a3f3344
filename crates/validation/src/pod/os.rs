//! The operating system of a pod, and the settings of the other one.

use crate::{
    faults::Faults,
    field::{Field, FieldRule, Presence},
};

/// What the spec of a Windows pod cannot have.
const NOT_OF_WINDOWS: [&str; 3] = ["hostUsers", "shareProcessNamespace", "resources"];
/// What it can have as `false` only.
const FALSE_ON_WINDOWS: [&str; 2] = ["hostPID", "hostIPC"];

/// What the security context of a Windows pod cannot have.
const NOT_OF_POD: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];

/// What that of its containers cannot have.
const NOT_OF_CONTAINER: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

pub(super) fn check(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let os = spec.key("os");
    if !os.is_set() {
        return;
    }
    let name = os.key("name");
    FieldRule::OneOf(&["linux", "windows"]).check(&name, Presence::Required, faults);
    let (of_pod, of_container): (&[&str], &[&str]) = match name.text() {
        "linux" => (&["windowsOptions"], &["windowsOptions"]),
        "windows" => {
            check_windows(spec, faults);
            (&NOT_OF_POD, &NOT_OF_CONTAINER)
        }
        _ => return,
    };
    refuse_all(&spec.key("securityContext"), of_pod, name.text(), faults);
    for list in ["containers", "initContainers"] {
        for container in spec.key(list).items() {
            refuse_all(&container.key("securityContext"), of_container, name.text(), faults);
        }
    }
}

fn check_windows(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    refuse_all(spec, &NOT_OF_WINDOWS, "windows", faults);
    for name in FALSE_ON_WINDOWS {
        let field = spec.key(name);
        if field.is_true() {
            field.refuse("a windows pod cannot have it", faults);
        }
    }
    let security = spec.key("securityContext");
    let sysctls = security.key("sysctls");
    if !sysctls.is_empty() {
        sysctls.refuse("a windows pod cannot have it", faults);
    }
}

fn refuse_all(of: &Field<'_, '_>, names: &[&str], os: &str, faults: &mut Faults<'_>) {
    for name in names {
        let field = of.key(name);
        if field.is_set() {
            field.refuse(format!("a {os} pod cannot have it"), faults);
        }
    }
}
