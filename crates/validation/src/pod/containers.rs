//! The containers of a pod.

use std::collections::BTreeSet;

use super::{
    PodPlace,
    container_ports::{self, HostPorts},
    environment, mounts, probes, resources, restarts, security,
    volumes::Volumes,
};
use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
};

const CONTAINER: &FieldRules = &[
    ("name", Presence::Required, FieldRule::Label),
    ("image", Presence::Required, FieldRule::Text),
    ("imagePullPolicy", Presence::Optional, FieldRule::OneOf(&["Always", "IfNotPresent", "Never"])),
    ("terminationMessagePolicy", Presence::Optional, FieldRule::OneOf(&["File", "FallbackToLogsOnError"])),
    ("restartPolicy", Presence::Nullable, FieldRule::OneOf(&["Always", "Never", "OnFailure"])),
];

/// What all containers of a pod have in common.
struct Pod<'p, 'v> {
    spec: &'p Field<'v, 'p>,
    place: PodPlace,
    volumes: &'p Volumes<'v>,
    /// The names of its resource claims.
    claims: &'p BTreeSet<&'v str>,
}

/// Checks the containers of a pod with these volumes and resource claims.
pub(super) fn check<'v>(
    spec: &Field<'v, '_>,
    place: PodPlace,
    volumes: &Volumes<'v>,
    claims: &BTreeSet<&'v str>,
    faults: &mut Faults<'_>,
) {
    let pod = Pod { spec, place, volumes, claims };
    let mut names = BTreeSet::new();
    let host_network = spec.key("hostNetwork").is_true();
    let mut taken = HostPorts::new(host_network, place);
    for container in spec.key("containers").items() {
        pod.check_common(&container, &mut names, faults);
        taken.check(&container, faults);
        taken.check_numbers(&container, faults);
        probes::check(&container, spec, place, faults);
    }
    for container in spec.key("initContainers").items() {
        pod.check_common(&container, &mut names, faults);
        // Init containers run one after another.
        HostPorts::new(host_network, place).check(&container, faults);
        if container.key("restartPolicy").text() == "Always" {
            probes::check(&container, spec, place, faults);
        } else {
            probes::check_absent(&container, faults);
            restarts::check_no_restart(&container, faults);
        }
    }
}

impl<'v> Pod<'_, 'v> {
    fn check_common(&self, container: &Field<'v, '_>, names: &mut BTreeSet<&'v str>, faults: &mut Faults<'_>) {
        check_fields(container, CONTAINER, faults);
        let name = container.key("name");
        if !name.text().is_empty() && !names.insert(name.text()) {
            name.refuse(format!("the container name {} is repeated", quoted(name.text())), faults);
        }
        let image = container.key("image");
        if self.place == PodPlace::Pod && image.text().trim() != image.text() {
            image.refuse("an image has no spaces around its name", faults);
        }
        container_ports::check(&container.key("ports"), faults);
        environment::check(container, self.volumes, faults);
        mounts::check(container, self.spec, self.volumes, faults);
        resources::check(&container.key("resources"), self.claims, faults);
        restarts::check_resize(container, self.spec, faults);
        restarts::check_rules(container, faults);
        security::check_container(container, self.spec, faults);
    }
}
