//! Requests and limits of containers, and of a pod as a whole.

use std::collections::BTreeSet;

use roster_engine::model::wide_nano_value;

use super::resource_claims::check_uses;
use crate::{
    faults::{Faults, quoted},
    field::Field,
    values::not_qualified,
};

const ONE: i128 = 1_000_000_000;
/// Resources of which a whole pod can have requests and limits, besides huge pages.
const OF_POD: [&str; 2] = ["cpu", "memory"];

/// Checks the resources of a container of a pod with these resource claims.
pub(super) fn check(resources: &Field<'_, '_>, claims: &BTreeSet<&str>, faults: &mut Faults<'_>) {
    for list in ["limits", "requests"].map(|name| resources.key(name)) {
        for (name, quantity) in list.entries() {
            check_name(name, &quantity, faults);
        }
    }
    check_amounts(resources, faults);
    check_uses(&resources.key("claims"), claims, faults);
}

/// Checks the resources of a pod with this spec as a whole.
pub(super) fn check_pod(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let resources = spec.key("resources");
    for list in ["limits", "requests"].map(|name| resources.key(name)) {
        for (name, quantity) in list.entries() {
            if !OF_POD.contains(&name) && !is_huge_pages(name) {
                quantity.refuse(format!("{} is not a resource of whole pods", quoted(name)), faults);
            }
        }
    }
    check_amounts(&resources, faults);
    let claims = resources.key("claims");
    if claims.is_set() {
        claims.refuse("it is for containers only", faults);
    }
    check_sums(spec, &resources.key("requests"), faults);
    let limits = resources.key("limits");
    for container in spec.key("containers").items() {
        let of_container = container.key("resources");
        for (name, limit) in of_container.key("limits").entries() {
            let most = limits.key(name);
            if limit.quantity().zip(most.quantity()).is_some_and(|(limit, most)| limit > most) {
                limit.refuse(format!("{} is more than the limit of the pod, {}", limit.plain(), most.plain()), faults);
            }
        }
    }
}

/// The requests of a pod cover those of the containers that run at the same time.
fn check_sums(spec: &Field<'_, '_>, requests: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (containers, init) = (spec.key("containers"), spec.key("initContainers"));
    for (name, request) in requests.entries() {
        let of_container = |container: &Field<'_, '_>| {
            let resources = container.key("resources");
            resources.key("requests").key(name).quantity().unwrap_or(0)
        };
        let sidecars = init.items().filter(|container| container.key("restartPolicy").text() == "Always");
        let sum: i128 = containers.items().chain(sidecars).map(|container| of_container(&container)).sum();
        if request.quantity().is_some_and(|request| request < sum) {
            request.refuse(format!("{} is less than the sum of its containers", request.plain()), faults);
        }
    }
}

/// Checks what a runtime takes of a node in addition.
pub(super) fn check_overhead(overhead: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for (name, quantity) in overhead.entries() {
        check_name(name, &quantity, faults);
        check_quantity(name, &quantity, faults);
    }
}

fn check_amounts(resources: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (requests, limits) = (resources.key("requests"), resources.key("limits"));
    for list in [&limits, &requests] {
        for (name, quantity) in list.entries() {
            check_quantity(name, &quantity, faults);
        }
    }
    let has =
        |is_meant: fn(&str) -> bool| [&limits, &requests].iter().any(|list| list.entries().any(|(n, _)| is_meant(n)));
    if has(is_huge_pages) && !has(|name| name == "cpu" || name == "memory") {
        resources.refuse("huge pages need cpu or memory as well", faults);
    }
    for (name, quantity) in requests.entries() {
        let limit = limits.key(name);
        if !limit.is_set() {
            if is_exact(name) {
                limit.require(format!("a request of {name} needs an equal limit"), faults);
            }
            continue;
        }
        // The schema reports what is not a quantity.
        let (Some(request), Some(most)) = (quantity.quantity(), limit.quantity()) else { continue };
        if request > most {
            quantity.refuse(format!("{} is more than the limit of {}", quantity.plain(), limit.plain()), faults);
        } else if request < most && is_exact(name) {
            quantity.refuse(format!("it is not equal to the limit of {}", limit.plain()), faults);
        }
    }
}

/// Checks the name of a resource of containers, which `field` has or is.
pub(crate) fn check_name(name: &str, field: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let of_kubernetes = ["cpu", "memory", "ephemeral-storage"].contains(&name) || is_huge_pages(name);
    if let Some(why) = not_qualified(name) {
        field.refuse(format!("{} is not the name of a resource: {why}", quoted(name)), faults);
    } else if !of_kubernetes && (!name.contains('/') || name.starts_with("requests.")) {
        let message = format!("{} is not a resource of containers; others have a domain before a /", quoted(name));
        field.refuse(message, faults);
    }
}

fn check_quantity(name: &str, quantity: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let Some(value) = quantity.quantity() else { return };
    let page = name.strip_prefix("hugepages-").and_then(wide_nano_value);
    if value < 0 {
        quantity.refuse(format!("{} is negative", quantity.plain()), faults);
    } else if is_extended(name) && value % ONE != 0 {
        quantity.refuse(format!("{name} is counted in whole numbers"), faults);
    } else if is_huge_pages(name) && page.is_none_or(|page| page <= 0 || page % ONE != 0 || value % page != 0) {
        quantity.refuse(format!("{} is not a multiple of the size of {name}", quantity.plain()), faults);
    }
}

/// Whether another party than Kubernetes names the resource.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/")
}

/// Whether request and limit must be equal.
fn is_exact(name: &str) -> bool {
    is_extended(name) || is_huge_pages(name)
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}
