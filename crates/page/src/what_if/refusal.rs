//! Why a change is refused: the input does not have what it names.

use roster_engine::model::spelling::{did_you_mean, nearest};
use roster_manifests::inventory::Inventory;

use super::Change;

/// Why `change` changes nothing of `objects`.
pub(super) fn of(change: &Change, objects: &Inventory) -> String {
    match change {
        Change::PodReadiness { pod, .. } | Change::PodLabel { pod, .. } => {
            let names = objects.pods.iter().map(|pod| format!("{}/{}", pod.namespace(), pod.name()));
            not_found("pod", pod, names)
        }
        Change::DrainNode { node } => not_found("node", node, objects.nodes.iter().map(|node| node.name.to_string())),
        Change::LoseZone { zone } => {
            not_found("zone", zone, objects.nodes.iter().filter_map(|node| node.zone()).map(ToString::to_string))
        }
        Change::TargetPort { service, port, .. } if has_service(objects, service) => {
            format!("{service} has no port {port}")
        }
        Change::Selector { service, .. }
        | Change::TargetPort { service, .. }
        | Change::TrafficDistribution { service, .. } => {
            let names = objects.services.iter().map(|of| format!("{}/{}", of.meta.namespace, of.meta.name));
            not_found("Service", service, names)
        }
    }
}

fn has_service(objects: &Inventory, title: &str) -> bool {
    let is_it = |(namespace, name): (&str, &str)| {
        objects.services.iter().any(|of| of.meta.namespace == *namespace && of.meta.name == *name)
    };
    title.split_once('/').is_some_and(is_it)
}

fn not_found(what: &str, name: &str, names: impl Iterator<Item = String>) -> String {
    let meant = nearest(name, names, String::as_str);
    format!("{what} {name} not found{}", did_you_mean(meant.as_slice()))
}
