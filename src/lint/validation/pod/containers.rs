//! The containers of a pod.

use std::collections::BTreeSet;

use super::{container_ports, container_ports::HostPorts, environment, place::PodPlace, probes, resources, volumes};
use crate::lint::validation::{
    faults::{Faults, quoted},
    field::{Field, FieldRules, Presence, Rule, check_fields},
};

const CONTAINER: &FieldRules = &[
    ("name", Presence::Required, Rule::Label),
    ("image", Presence::Required, Rule::Text),
    ("imagePullPolicy", Presence::Optional, Rule::OneOf(&["Always", "IfNotPresent", "Never"])),
    ("terminationMessagePolicy", Presence::Optional, Rule::OneOf(&["File", "FallbackToLogsOnError"])),
    ("restartPolicy", Presence::Nullable, Rule::OneOf(&["Always", "Never", "OnFailure"])),
];

const SECURITY: &FieldRules = &[
    ("runAsUser", Presence::Optional, Rule::Range(0, i32::MAX as i64)),
    ("runAsGroup", Presence::Optional, Rule::Range(0, i32::MAX as i64)),
    ("procMount", Presence::Optional, Rule::OneOf(&["Default", "Unmasked"])),
];

/// Checks the containers of a pod with these volumes.
pub(super) fn check(spec: &Field<'_, '_>, place: PodPlace, volumes: &BTreeSet<&str>, faults: &mut Faults<'_>) {
    let mut names = BTreeSet::new();
    let host_network = spec.key("hostNetwork").is_true();
    let mut taken = HostPorts::new(host_network, place);
    for container in spec.key("containers").items() {
        check_common(&container, place, volumes, &mut names, faults);
        taken.check(&container, faults);
        taken.check_numbers(&container, faults);
        probes::check(&container, spec, faults);
    }
    for container in spec.key("initContainers").items() {
        check_common(&container, place, volumes, &mut names, faults);
        // Init containers run one after another.
        HostPorts::new(host_network, place).check(&container, faults);
        if container.key("restartPolicy").text() == "Always" {
            probes::check(&container, spec, faults);
        } else {
            probes::check_absent(&container, faults);
        }
    }
}

fn check_common<'v>(
    container: &Field<'v, '_>,
    place: PodPlace,
    volumes: &BTreeSet<&str>,
    names: &mut BTreeSet<&'v str>,
    faults: &mut Faults<'_>,
) {
    check_fields(container, CONTAINER, faults);
    let name = container.key("name");
    if !name.text().is_empty() && !names.insert(name.text()) {
        name.refuse(format!("the container name {} is repeated", quoted(name.text())), faults);
    }
    let image = container.key("image");
    if place == PodPlace::Pod && image.text().trim() != image.text() {
        image.refuse("an image has no spaces around its name", faults);
    }
    container_ports::check(&container.key("ports"), faults);
    environment::check(container, faults);
    volumes::check_mounts(container, volumes, faults);
    resources::check(&container.key("resources"), faults);
    check_security(&container.key("securityContext"), faults);
}

fn check_security(security: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(security, SECURITY, faults);
    let escalation = security.key("allowPrivilegeEscalation");
    if escalation.is_false() && security.key("privileged").is_true() {
        escalation.refuse("a privileged container can escalate its privileges", faults);
    }
}
