//! What kube-controller-manager learns of a change.
//!
//! It puts a Service into its queue for some changes only, and forgets others: those stay wrong until something else happens to
//! the Service, and nothing is broken meanwhile. (Upstream: `GetServicesToUpdateOnPodChange`, `podEndpointsChanged`, and the event
//! handlers of the three controllers.)

use roster_engine::{
    compare::PublishedList,
    model::{EndpointSlice, Endpoints, Node, Pod, PodReadiness, Service},
};
use roster_manifests::inventory::{Live, PlanningRows};

use super::super::affected::ObjectChange;

/// The changes that concern a Service since it was looked at last.
#[expect(clippy::struct_excessive_bools, reason = "what has changed does not depend on what the reference makes of it")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Notice {
    /// The Service, a pod or a node has changed.
    pub(super) cluster: bool,
    /// Its Endpoints were written or deleted.
    pub(super) endpoints: bool,
    /// One of its slices was written or deleted.
    pub(super) slices: bool,
    /// The reference has put the Service into its queue of Endpoints.
    pub(super) wakes_endpoints: bool,
    /// The same for slices.
    pub(super) wakes_slices: bool,
}

impl Notice {
    /// Whether a list was written or deleted, and whether the reference looks at it.
    pub(super) fn of_list(self, list: PublishedList) -> (bool, bool) {
        match list {
            PublishedList::Endpoints => (self.endpoints, self.wakes_endpoints),
            PublishedList::Slices => (self.slices, self.wakes_slices),
        }
    }

    /// Both.
    pub(in super::super) fn and(self, other: Self) -> Self {
        Self {
            cluster: self.cluster || other.cluster,
            endpoints: self.endpoints || other.endpoints,
            slices: self.slices || other.slices,
            wakes_endpoints: self.wakes_endpoints || other.wakes_endpoints,
            wakes_slices: self.wakes_slices || other.wakes_slices,
        }
    }

    fn of_cluster(reacts: bool) -> Self {
        Self { cluster: true, wakes_endpoints: reacts, wakes_slices: reacts, ..Self::default() }
    }

    /// It does not look at a phase, a port or a hostname of its own.
    pub(in super::super) fn of_pod(change: &ObjectChange<Pod>) -> Self {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return Self::of_cluster(true) };
        let shown = |pod: &Pod| (pod.deleting, pod.readiness == PodReadiness::Ready);
        let is_seen = shown(before) != shown(after) || before.ips != after.ips || before.labels != after.labels;
        Self::of_cluster(is_seen)
    }

    pub(in super::super) fn of_service(_: &ObjectChange<Service>) -> Self {
        Self::of_cluster(true)
    }

    /// It looks at all nodes again, but only for Services with hints that it could not give before.
    pub(in super::super) fn of_node(_: &ObjectChange<Node>) -> Self {
        Self::of_cluster(false)
    }

    /// Of Endpoints that it writes itself, it only misses those that are deleted.
    pub(in super::super) fn of_endpoints(change: &ObjectChange<Endpoints>, cluster: &Live<PlanningRows>) -> Self {
        let is_mirrored = change.states().last().is_some_and(|endpoints| {
            let service = cluster.services.last_known().get(&endpoints.meta.namespace, &endpoints.meta.name);
            service.is_some_and(|service| service.selector.is_none())
        });
        let is_gone = change.after.is_none();
        Self { endpoints: true, wakes_endpoints: is_gone, wakes_slices: is_mirrored, ..Self::default() }
    }

    /// It sees that others have written a slice.
    pub(in super::super) fn of_slice(_: &ObjectChange<EndpointSlice>) -> Self {
        Self { slices: true, wakes_slices: true, ..Self::default() }
    }
}
