//! What an API server refuses of the spec of a pod, in a Pod or in a template.
//!
//! ```text
//! spec ─► fields of the pod, dns, scheduling, affinity, security, os, resource_claims
//!      ─► volumes ─► projected, volume_files
//!      ─► containers ─► container_ports, environment, mounts, probes, resources, restarts, security
//! annotations ─► annotations
//! ```

mod affinity;
mod annotations;
mod container_ports;
mod containers;
mod dns;
mod environment;
mod field_refs;
mod mounts;
mod os;
mod paths;
mod probes;
mod projected;
mod resource_claims;
mod resources;
mod restarts;
mod scheduling;
mod security;
mod sysctls;
mod volume_files;
mod volumes;
mod windows;

use std::collections::BTreeSet;

use super::{
    addresses::check_ip,
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
    labels::check_labels,
};
pub(super) use affinity::check_own_labels;
pub(super) use annotations::check as check_annotations;
pub(super) use resources::check_name as check_resource_name;

const POD: &FieldRules = &[
    ("nodeName", Presence::Optional, FieldRule::Subdomain),
    ("serviceAccountName", Presence::Optional, FieldRule::Subdomain),
    ("priorityClassName", Presence::Optional, FieldRule::Subdomain),
    ("runtimeClassName", Presence::Nullable, FieldRule::Subdomain),
    (
        "dnsPolicy",
        Presence::Optional,
        FieldRule::OneOf(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]),
    ),
    ("preemptionPolicy", Presence::Nullable, FieldRule::OneOf(&["PreemptLowerPriority", "Never"])),
    ("activeDeadlineSeconds", Presence::Optional, FieldRule::Range(1, i32::MAX as i64)),
];

/// Where a spec stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PodPlace {
    /// In a Pod. An API server fills in host ports, and checks a little more.
    Pod,
    /// In the template of a workload.
    Template,
    /// In the template of a StatefulSet, which sets hostname and subdomain of its pods, and replaces volumes.
    StatefulSet,
}

/// Names that the controller of a StatefulSet sets, so that those in its template are ignored.
const IDENTITY: &FieldRules =
    &[("hostname", Presence::Optional, FieldRule::Label), ("subdomain", Presence::Optional, FieldRule::Label)];

/// Checks a spec. `claims` are the names of the volumes that the controller of the pod adds.
pub(super) fn check(spec: &Field<'_, '_>, place: PodPlace, claims: &BTreeSet<&str>, faults: &mut Faults<'_>) {
    check_fields(spec, POD, faults);
    if place != PodPlace::StatefulSet {
        check_fields(spec, IDENTITY, faults);
    }
    let ephemeral = spec.key("ephemeralContainers");
    if !ephemeral.is_empty() {
        ephemeral.refuse("it is set later, on a running pod", faults);
    }
    // The older name of serviceAccountName.
    if spec.key("serviceAccountName").text().is_empty() {
        FieldRule::Subdomain.check(&spec.key("serviceAccount"), Presence::Optional, faults);
    }
    check_hostname_override(spec, faults);
    check_namespaces(spec, faults);
    check_labels(&spec.key("nodeSelector"), faults);
    check_gates(spec, place, faults);
    check_host_aliases(&spec.key("hostAliases"), faults);
    security::check_pod(spec, faults);
    os::check(spec, faults);
    dns::check(spec, faults);
    scheduling::check(spec, faults);
    affinity::check(&spec.key("affinity"), faults);
    let resource_claims = resource_claims::check(&spec.key("resourceClaims"), faults);
    resources::check_overhead(&spec.key("overhead"), faults);
    resources::check_pod(spec, faults);
    let volumes = volumes::check(&spec.key("volumes"), claims, faults);
    containers::check(spec, place, &volumes, &resource_claims, faults);
}

fn check_hostname_override(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let name = spec.key("hostnameOverride");
    if !name.is_set() {
        return;
    }
    FieldRule::Subdomain.check(&name, Presence::Nullable, faults);
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

fn check_gates(spec: &Field<'_, '_>, place: PodPlace, faults: &mut Faults<'_>) {
    for gate in spec.key("readinessGates").items() {
        FieldRule::QualifiedName.check(&gate.key("conditionType"), Presence::Required, faults);
    }
    let mut names = BTreeSet::new();
    for gate in spec.key("schedulingGates").items() {
        let name = gate.key("name");
        FieldRule::QualifiedName.check(&name, Presence::Required, faults);
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
            FieldRule::Subdomain.check(&name, Presence::Nullable, faults);
        }
    }
}
