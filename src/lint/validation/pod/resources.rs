//! Requests and limits of a container.

use crate::{
    lint::validation::{
        faults::{Faults, quoted},
        field::Field,
        values::not_qualified,
    },
    model::nano_value,
};

const ONE: i64 = 1_000_000_000;

pub(super) fn check(resources: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (requests, limits) = (resources.key("requests"), resources.key("limits"));
    for list in [&limits, &requests] {
        for (name, quantity) in list.entries() {
            check_name(name, &quantity, faults);
            check_quantity(name, &quantity, faults);
        }
    }
    let has =
        |is_meant: fn(&str) -> bool| [&limits, &requests].iter().any(|list| list.entries().any(|(n, _)| is_meant(n)));
    if has(is_huge_pages) && !has(|name| name == "cpu" || name == "memory") {
        resources.refuse("a container with huge pages needs cpu or memory as well", faults);
    }
    for (name, quantity) in requests.entries() {
        let limit = limits.key(name);
        if !limit.is_set() {
            if is_exact(name) {
                limit.require(format!("a container that requests {name} needs an equal limit"), faults);
            }
            continue;
        }
        // The schema reports what is not a quantity.
        let (Some(request), Some(most)) = (nano_value(&quantity.plain()), nano_value(&limit.plain())) else { continue };
        if request > most {
            quantity.refuse(format!("{} is more than the limit of {}", quantity.plain(), limit.plain()), faults);
        } else if request < most && is_exact(name) {
            quantity.refuse(format!("it is not equal to the limit of {}", limit.plain()), faults);
        }
    }
}

fn check_name(name: &str, quantity: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let of_kubernetes = ["cpu", "memory", "ephemeral-storage"].contains(&name) || is_huge_pages(name);
    if let Some(why) = not_qualified(name) {
        quantity.refuse(format!("{} is not the name of a resource: {why}", quoted(name)), faults);
    } else if !of_kubernetes && (!name.contains('/') || name.starts_with("requests.")) {
        let message = format!("{} is not a resource of containers; others have a domain before a /", quoted(name));
        quantity.refuse(message, faults);
    }
}

fn check_quantity(name: &str, quantity: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let Some(value) = nano_value(&quantity.plain()) else { return };
    if value < 0 {
        quantity.refuse(format!("{} is negative", quantity.plain()), faults);
    } else if is_extended(name) && value % ONE != 0 {
        quantity.refuse(format!("{name} is counted in whole numbers"), faults);
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
