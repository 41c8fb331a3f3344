//! What SuperEdge's application-grid-wrapper leaves of an object for its node.

use std::{collections::BTreeMap, net::IpAddr};

use super::{
    pruned_object::{EndpointObject, EndpointPlace, PrunedObject},
    topology_keys::{KeyOrder, OwnLabels, TopologyKeys, each_once},
    viewpoint::Viewpoint,
};
use crate::{
    model::{Node, Nodes, Service, Text},
    reason::Reason,
};

/// Annotations of Endpoints and slices of the API server: where a node reaches it.
const LOCAL_ENDPOINT: &str = "superedge.io/local-endpoint";
const LOCAL_PORT: &str = "superedge.io/local-port";

/// What the wrapper of a node knows, and how it is configured.
#[derive(Clone, Copy, Debug)]
pub struct GridView<'a> {
    /// The node.
    pub at: Viewpoint<'a>,
    /// All nodes.
    pub nodes: &'a Nodes,
    /// Whether the API server is replaced by the address in the annotations (`--wrapper-in-cluster`).
    pub substitutes_api_server: bool,
    /// The health of nodes, if it counts (`--service-autonomy-enhancement`); a node that it does not name is healthy.
    pub health: Option<&'a BTreeMap<Text, bool>>,
    /// How several keys are read.
    pub order: KeyOrder,
}

impl GridView<'_> {
    /// Prunes the Endpoints or the slices of a Service: all of one kind together, because in ordered mode, the endpoints
    /// of all of them choose the key. `service` is `None` if none of the name is known.
    pub fn prune<T: EndpointObject>(&self, service: Option<&Service>, objects: &[&T]) -> Vec<PrunedObject<T>> {
        let objects: Vec<PrunedObject<T>> = objects.iter().map(|object| self.substitute(*object)).collect();
        let Some(service) = service else {
            // Its Service may come later: nothing is removed.
            return objects.into_iter().map(|o| o.because(Reason::ServiceUnknown)).collect();
        };
        match TopologyKeys::of(service) {
            Ok(keys) if keys.is_empty() => objects.into_iter().map(|o| self.without_unhealthy(o)).collect(),
            Ok(keys) => self.fenced(&keys, objects),
            Err(_) => {
                let pruned = objects.into_iter().map(|o| self.without_unhealthy(o));
                pruned.map(|o| o.because(Reason::TopologyKeysMalformed)).collect()
            }
        }
    }

    /// Replaces the endpoints of the API server by the one in the annotations, if both are valid. The port may be any
    /// number: the wrapper does not check its range.
    fn substitute<T: EndpointObject>(&self, object: &T) -> PrunedObject<T> {
        let mut pruned = PrunedObject::whole(object, None);
        if !self.substitutes_api_server || !object.is_of_api_server() {
            return pruned;
        }
        let annotation = |name| object.annotations().get(name);
        let (Some(address), Some(port)) = (annotation(LOCAL_ENDPOINT), annotation(LOCAL_PORT)) else { return pruned };
        match (address.parse::<IpAddr>(), port.parse::<i32>()) {
            (Ok(address), Ok(port)) => {
                pruned.object.replace(smol_str::format_smolstr!("{}", address.to_canonical()), port);
                pruned.because(Reason::LocalApiServer)
            }
            _ => pruned.because(Reason::LocalApiServerInvalid),
        }
    }

    /// A Service without keys keeps all healthy endpoints; that of the API server keeps all.
    fn without_unhealthy<T: EndpointObject>(&self, pruned: PrunedObject<T>) -> PrunedObject<T> {
        if self.health.is_none() || pruned.object.is_of_api_server() {
            return pruned;
        }
        pruned.without_more(|place| self.node_of(place).err())
    }

    fn fenced<T: EndpointObject>(&self, keys: &TopologyKeys, objects: Vec<PrunedObject<T>>) -> Vec<PrunedObject<T>> {
        match self.order {
            KeyOrder::AnyKey => self.fenced_by_any(keys, objects),
            KeyOrder::Ordered => self.fenced_in_order(keys, objects),
        }
    }

    fn fenced_by_any<T: EndpointObject>(
        &self,
        keys: &TopologyKeys,
        objects: Vec<PrunedObject<T>>,
    ) -> Vec<PrunedObject<T>> {
        let Some(here) = self.at.labels() else {
            let pruned = objects.into_iter().map(|o| o.without_more(|_| Some(Reason::TopologyNodeMissing)));
            return pruned.collect();
        };
        let pruned = self.fenced_by(keys.labels(here), objects);
        if keys.ignores_label_of(here) { because_cut(pruned) } else { pruned }
    }

    /// Removes the endpoints whose nodes agree with this one in none of these labels.
    fn fenced_by<T: EndpointObject>(
        &self,
        labels: OwnLabels<'_>,
        objects: Vec<PrunedObject<T>>,
    ) -> Vec<PrunedObject<T>> {
        let mut nodes = labels.compared();
        let mut why = |place: EndpointPlace<'_>| match self.node_of(place) {
            Ok(node) => (!nodes.agree(node)).then_some(Reason::TopologyLabelDiffers),
            Err(reason) => Some(reason),
        };
        objects.into_iter().map(|o| o.without_more(&mut why)).collect()
    }

    fn fenced_in_order<T: EndpointObject>(
        &self,
        keys: &TopologyKeys,
        objects: Vec<PrunedObject<T>>,
    ) -> Vec<PrunedObject<T>> {
        let mut ready: Vec<&Node> = Vec::new();
        for object in &objects {
            object.object.each(|place| ready.extend(self.node_of(place).ok().filter(|_| place.ready)));
        }
        let ready = each_once(ready);
        let Some(deciding) = keys.deciding(self.at, &ready) else {
            if keys.is_cut() && !keys.has_wildcard() {
                // A key that does not count may decide: to leave all of them could lead traffic out of its fence.
                return because_cut(self.fenced_by(OwnLabels::default(), objects));
            }
            // Nothing fits, or `*` comes first: all of them, and the unhealthy ones only if there are no others.
            let any_healthy = !ready.is_empty();
            let keep_all = |o: PrunedObject<T>| if any_healthy { self.without_unhealthy(o) } else { o };
            return objects.into_iter().map(|o| keep_all(o).because(Reason::TopologyFallback)).collect();
        };
        self.fenced_by(deciding, objects)
    }

    /// The node of an endpoint, if it is known and healthy.
    fn node_of(&self, place: EndpointPlace<'_>) -> Result<&Node, Reason> {
        let name = place.node.ok_or(Reason::EndpointWithoutNode)?;
        let node = self.nodes.get(name).ok_or(Reason::EndpointNodeUnknown)?;
        match self.health.and_then(|health| health.get(name)) {
            Some(false) => Err(Reason::NodeUnhealthy),
            Some(true) | None => Ok(node),
        }
    }
}

fn because_cut<T: EndpointObject>(objects: Vec<PrunedObject<T>>) -> Vec<PrunedObject<T>> {
    objects.into_iter().map(|o| o.because(Reason::TopologyKeysCut)).collect()
}
