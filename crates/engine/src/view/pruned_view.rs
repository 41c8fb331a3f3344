//! What a proxy before kube-proxy leaves of all Endpoints and slices.

use std::collections::BTreeMap;

use super::{
    openyurt::YurtView,
    pruned_object::{EndpointObject, PrunedObject},
    superedge::GridView,
};
use crate::{
    model::{EndpointSlice, Endpoints, Service},
    reason::Finding,
};

/// What a proxy leaves of all objects, and why the rest is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrunedView {
    /// The Endpoints, by namespace and name of their Services.
    pub endpoints: Vec<Endpoints>,
    /// The slices, by namespace and name of their Services.
    pub endpoint_slices: Vec<EndpointSlice>,
    /// What was removed.
    pub reasons: Vec<Finding>,
}

/// The Services by namespace and name; of several with one name the last one counts.
struct Services<'a> {
    all: &'a [Service],
    places: BTreeMap<(&'a str, &'a str), usize>,
}

impl<'a> Services<'a> {
    fn of(all: &'a [Service]) -> Self {
        let places = all.iter().map(|s| (s.meta.namespace.as_str(), s.meta.name.as_str())).zip(0..).collect();
        Self { all, places }
    }

    fn get(&self, namespace: &str, name: &str) -> Option<&'a Service> {
        self.places.get(&(namespace, name)).map(|place| &self.all[*place])
    }

    /// The objects of each Service, with the Service if it is known.
    fn groups<'o, T: EndpointObject>(
        &self,
        objects: &'o [T],
    ) -> impl Iterator<Item = (Option<&'a Service>, Vec<&'o T>)> {
        let mut sorted: Vec<&T> = objects.iter().collect();
        // Stable: the objects of one Service stay in their order.
        sorted.sort_by_key(|object| (object.namespace(), object.service_name()));
        let is_one = |a: &&T, b: &&T| (a.namespace(), a.service_name()) == (b.namespace(), b.service_name());
        let service = |object: &T| self.get(object.namespace(), object.service_name()?);
        let groups: Vec<_> = sorted.chunk_by(is_one).map(|group| (service(group[0]), group.to_vec())).collect();
        groups.into_iter()
    }
}

impl PrunedView {
    /// What SuperEdge's application-grid-wrapper leaves.
    pub fn of_grid(
        grid: &GridView<'_>,
        services: &[Service],
        endpoints: &[Endpoints],
        slices: &[EndpointSlice],
    ) -> Self {
        let (services, mut view) = (Services::of(services), Self::default());
        for (service, objects) in services.groups(endpoints) {
            let pruned = grid.prune(service, &objects);
            view.endpoints.extend(pruned.into_iter().map(|o| o.reported(&mut view.reasons)));
        }
        for (service, objects) in services.groups(slices) {
            let pruned = grid.prune(service, &objects);
            view.endpoint_slices.extend(pruned.into_iter().map(|o| o.reported(&mut view.reasons)));
        }
        view
    }

    /// What OpenYurt's yurthub leaves.
    pub fn of_yurt(yurt: &YurtView<'_>, services: &[Service], slices: &[EndpointSlice]) -> Self {
        let mut view = Self::default();
        for service in services {
            let message = "kube-proxy of the node does not see the Service";
            view.reasons.extend(yurt.hides(service).map(|why| Finding::new(why, service.key(), message)));
        }
        for (service, objects) in Services::of(services).groups(slices) {
            let pruned = objects.into_iter().map(|object| yurt.prune(service, object));
            view.endpoint_slices.extend(pruned.map(|o| o.reported(&mut view.reasons)));
        }
        view
    }
}

impl<T: EndpointObject> PrunedObject<T> {
    /// The object; why it is as it is goes to the findings.
    fn reported(self, findings: &mut Vec<Finding>) -> T {
        let key = self.object.key();
        if let Some(reason) = self.reason {
            findings.push(Finding::new(reason, key.clone(), "the object is as it is for the node because of this"));
        }
        for removed in self.removed {
            let node = removed.node.map_or_else(|| "without a node".to_owned(), |node| format!("on node {node}"));
            let message = format!("{} {node} is removed", removed.address);
            findings.push(Finding::new(removed.reason, key.clone(), message));
        }
        self.object
    }
}
