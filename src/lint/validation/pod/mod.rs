//! What an API server refuses of the spec of a pod, in a Pod or in a template.
//!
//! ```text
//! spec ─► fields of the pod, dns, scheduling
//!      ─► volumes ─► containers ─► container_ports, environment, probes, resources
//! ```

mod affinity;
mod container_ports;
mod containers;
mod dns;
mod environment;
mod paths;
mod place;
mod probes;
mod resources;
mod scheduling;
mod volumes;

use std::collections::BTreeSet;

use super::{
    addresses::check_ip,
    faults::{Faults, quoted},
    field::{Field, FieldRules, Presence, Rule, check_fields},
    values::{not_label_value, not_qualified},
};
pub(super) use place::PodPlace;

const POD: &FieldRules = &[
    ("hostname", Presence::Optional, Rule::Label),
    ("subdomain", Presence::Optional, Rule::Label),
    ("nodeName", Presence::Optional, Rule::Subdomain),
    ("serviceAccountName", Presence::Optional, Rule::Subdomain),
    ("priorityClassName", Presence::Optional, Rule::Subdomain),
    ("runtimeClassName", Presence::Nullable, Rule::Subdomain),
    ("dnsPolicy", Presence::Optional, Rule::OneOf(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"])),
    ("preemptionPolicy", Presence::Optional, Rule::OneOf(&["PreemptLowerPriority", "Never"])),
    ("activeDeadlineSeconds", Presence::Optional, Rule::Range(1, i32::MAX as i64)),
];

const SECURITY: &FieldRules = &[
    ("runAsUser", Presence::Optional, Rule::Range(0, i32::MAX as i64)),
    ("runAsGroup", Presence::Optional, Rule::Range(0, i32::MAX as i64)),
    ("fsGroup", Presence::Optional, Rule::Range(0, i32::MAX as i64)),
    ("fsGroupChangePolicy", Presence::Nullable, Rule::OneOf(&["OnRootMismatch", "Always"])),
];

/// Checks a spec. `claims` are the names of the volumes that the controller of the pod adds.
pub(super) fn check(spec: &Field<'_, '_>, place: PodPlace, claims: &BTreeSet<&str>, faults: &mut Faults<'_>) {
    check_fields(spec, POD, faults);
    check_fields(&spec.key("securityContext"), SECURITY, faults);
    if place == PodPlace::Pod {
        let ephemeral = spec.key("ephemeralContainers");
        if !ephemeral.is_empty() {
            ephemeral.refuse("it is set later, on a running pod", faults);
        }
    }
    check_hostname_override(spec, faults);
    check_namespaces(spec, faults);
    check_labels(&spec.key("nodeSelector"), faults);
    check_gates(spec, place, faults);
    check_host_aliases(&spec.key("hostAliases"), faults);
    dns::check(spec, faults);
    scheduling::check(spec, faults);
    affinity::check(&spec.key("affinity"), faults);
    let mut volumes = volumes::check(&spec.key("volumes"), faults);
    volumes.extend(claims);
    containers::check(spec, place, &volumes, faults);
}

fn check_hostname_override(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let name = spec.key("hostnameOverride");
    if !name.is_set() {
        return;
    }
    Rule::Subdomain.check(&name, Presence::Nullable, faults);
    if name.text().len() > 64 {
        name.refuse("it has more than 64 characters", faults);
    }
    for other in ["hostNetwork", "setHostnameAsFQDN"] {
        if spec.key(other).is_true() {
            name.refuse(format!("it cannot be set beside {other}: true"), faults);
        }
    }
}

/// Namespaces of the host exclude each other.
fn check_namespaces(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (pid, ipc) = (spec.key("hostPID"), spec.key("hostIPC"));
    let shared = spec.key("shareProcessNamespace");
    if shared.is_true() && pid.is_true() {
        shared.refuse("it cannot be set beside hostPID: true", faults);
    }
    let users = spec.key("hostUsers");
    let network = spec.key("hostNetwork");
    for of_host in [pid, ipc, network] {
        if users.is_false() && of_host.is_true() {
            of_host.refuse("it cannot be set beside hostUsers: false", faults);
        }
    }
}

/// Checks labels that a node is to have.
fn check_labels(labels: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for (key, value) in labels.entries() {
        if let Some(why) = not_qualified(key) {
            value.refuse(format!("{} is not the key of a label: {why}", quoted(key)), faults);
        } else if let Some(why) = not_label_value(value.text()) {
            value.refuse(format!("{} is not the value of a label: {why}", quoted(value.text())), faults);
        }
    }
}

fn check_gates(spec: &Field<'_, '_>, place: PodPlace, faults: &mut Faults<'_>) {
    for gate in spec.key("readinessGates").items() {
        Rule::QualifiedName.check(&gate.key("conditionType"), Presence::Required, faults);
    }
    let mut names = BTreeSet::new();
    for gate in spec.key("schedulingGates").items() {
        let name = gate.key("name");
        Rule::QualifiedName.check(&name, Presence::Required, faults);
        if !names.insert(name.text()) {
            name.refuse(format!("{} is repeated", quoted(name.text())), faults);
        }
    }
    let node = spec.key("nodeName");
    if place == PodPlace::Pod && !names.is_empty() && !node.text().is_empty() {
        node.refuse("it cannot be set beside schedulingGates", faults);
    }
}

fn check_host_aliases(aliases: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for alias in aliases.items() {
        check_ip(&alias.key("ip"), faults);
        for name in alias.key("hostnames").items() {
            Rule::Subdomain.check(&name, Presence::Nullable, faults);
        }
    }
}
