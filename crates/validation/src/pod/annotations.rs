//! Annotations of pods that Kubernetes reads.

use std::collections::BTreeSet;

use super::paths::is_descending;
use crate::{
    faults::{Faults, quoted},
    field::Field,
};

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const MIRROR: &str = "kubernetes.io/config.mirror";
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Checks the annotations of a pod with this spec.
pub(crate) fn check(annotations: &Field<'_, '_>, spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let cost = annotations.key(DELETION_COST);
    if cost.as_text().is_some_and(|text| !is_cost(text)) {
        cost.refuse(format!("{} is not a 32-bit integer", quoted(cost.text())), faults);
    }
    let mirror = annotations.key(MIRROR);
    if mirror.is_set() && spec.key("nodeName").text().is_empty() {
        mirror.refuse("the pod of a kubelet needs nodeName", faults);
    }
    let mut containers = None;
    for (key, profile) in annotations.entries() {
        if (key == SECCOMP_OF_POD || key.starts_with(SECCOMP_OF_CONTAINER)) && !is_seccomp(profile.text()) {
            profile.refuse(format!("{} is not a seccomp profile", quoted(profile.text())), faults);
        }
        let Some(name) = key.strip_prefix(APP_ARMOR) else { continue };
        let containers = containers.get_or_insert_with(|| names_of_containers(spec));
        if !containers.contains(name) {
            profile.refuse(format!("the pod has no container {}", quoted(name)), faults);
        } else if !is_app_armor(profile.text()) {
            profile.refuse(format!("{} is not an AppArmor profile", quoted(profile.text())), faults);
        }
    }
}

/// An integer without `+` and without zeros before it.
fn is_cost(text: &str) -> bool {
    text.parse::<i32>().is_ok_and(|cost| cost.to_string() == text)
}

fn is_seccomp(profile: &str) -> bool {
    matches!(profile, "runtime/default" | "docker/default" | "unconfined")
        || profile.strip_prefix("localhost/").is_some_and(is_descending)
}

fn is_app_armor(profile: &str) -> bool {
    matches!(profile, "" | "runtime/default" | "unconfined") || profile.starts_with("localhost/")
}

fn names_of_containers<'v>(spec: &Field<'v, '_>) -> BTreeSet<&'v str> {
    let names = ["containers", "initContainers"]
        .map(|list| spec.key(list).items().map(|container| container.key("name").text()).collect::<BTreeSet<&str>>());
    names.into_iter().flatten().collect()
}
