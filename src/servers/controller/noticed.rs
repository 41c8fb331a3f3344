//! What kube-controller-manager learns of a change.
//!
//! It puts a Service into its queue for some changes only, and forgets others: those stay wrong until something else happens to
//! the Service, and nothing is broken meanwhile. (Upstream: `GetServicesToUpdateOnPodChange`, `podEndpointsChanged`, and the event
//! handlers of the three controllers.)

use roster_engine::model::{EndpointSlice, Endpoints, Node, Pod, PodReadiness, Service};
use roster_manifests::inventory::{Live, PlanningRows};

use super::{affected::ObjectChange, queue::Notice};

fn of_cluster(reacts: bool) -> Notice {
    Notice { cluster: true, wakes_endpoints: reacts, wakes_slices: reacts, ..Notice::default() }
}

/// It does not look at a phase, a port or a hostname of its own.
pub(super) fn by_pod(change: &ObjectChange<Pod>) -> Notice {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return of_cluster(true) };
    let shown = |pod: &Pod| (pod.deleting, pod.readiness == PodReadiness::Ready);
    let is_seen = shown(before) != shown(after) || before.ips != after.ips || before.labels != after.labels;
    of_cluster(is_seen)
}

pub(super) fn by_service(_: &ObjectChange<Service>) -> Notice {
    of_cluster(true)
}

/// It looks at all nodes again, but only for Services with hints that it could not give before.
pub(super) fn by_node(_: &ObjectChange<Node>) -> Notice {
    of_cluster(false)
}

/// Of Endpoints that it writes itself, it only misses those that are deleted.
pub(super) fn by_endpoints(change: &ObjectChange<Endpoints>, cluster: &Live<PlanningRows>) -> Notice {
    let is_mirrored = change.states().last().is_some_and(|endpoints| {
        let service = cluster.services.last_known().get(&endpoints.meta.namespace, &endpoints.meta.name);
        service.is_some_and(|service| service.selector.is_none())
    });
    let is_gone = change.after.is_none();
    Notice { endpoints: true, wakes_endpoints: is_gone, wakes_slices: is_mirrored, ..Notice::default() }
}

/// It sees that others have written a slice.
pub(super) fn by_slice(_: &ObjectChange<EndpointSlice>) -> Notice {
    Notice { slices: true, wakes_slices: true, ..Notice::default() }
}
