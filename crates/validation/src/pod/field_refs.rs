//! Fields of a pod and resources of its containers, as variables and files refer to them.

use crate::{
    faults::{Faults, quoted},
    field::Field,
    values::not_qualified,
};

const RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Checks the path of a field of the pod: one of `fields`, a label or an annotation.
pub(super) fn check_pod_field(path: &Field<'_, '_>, fields: &[&str], faults: &mut Faults<'_>) {
    let text = path.text();
    let of_map = text.strip_suffix("']").and_then(|text| {
        let (key, is_label) = match text.strip_prefix("metadata.labels['") {
            Some(key) => (key.to_owned(), true),
            // Keys of annotations may have capital letters in their prefix.
            None => (text.strip_prefix("metadata.annotations['")?.to_ascii_lowercase(), false),
        };
        not_qualified(&key).is_none().then_some(is_label)
    });
    if !fields.contains(&text) && of_map.is_none() {
        path.refuse(format!("{} is not a field of the pod that can be had here", quoted(text)), faults);
    }
}

/// Checks a request or limit of a container, and the unit in which it is counted.
pub(super) fn check_resource(reference: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (resource, divisor) = (reference.key("resource"), reference.key("divisor"));
    let text = resource.text();
    let name = text.strip_prefix("limits.").or_else(|| text.strip_prefix("requests."));
    let Some(name) = name.filter(|name| RESOURCES.contains(name) || name.starts_with("hugepages-")) else {
        return resource.refuse(format!("{} is not a resource of a container", quoted(text)), faults);
    };
    let is_unit = if name == "cpu" { is_cpu_unit } else { is_byte_unit };
    if divisor.quantity().is_some_and(|value| value != 0 && !is_unit(value, divisor.plain().ends_with('i'))) {
        divisor.refuse(format!("{} is not a unit of {name}, such as 1", divisor.plain()), faults);
    }
}

/// 1 and 1m, in billionths.
fn is_cpu_unit(value: i128, _: bool) -> bool {
    matches!(value, 1_000_000 | 1_000_000_000)
}

/// 1, 1k and so on to 1E, or 1Ki to 1Ei, in billionths.
fn is_byte_unit(value: i128, is_binary: bool) -> bool {
    let base: i128 = if is_binary { 1024 } else { 1000 };
    (0..=6).any(|power| value == base.pow(power) * 1_000_000_000)
}
