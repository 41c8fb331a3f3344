//! Endpoints of the own node while the API server is away: what its pods are now takes the place of what was last known.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::Serialize;
use serde_json::json;

use super::{
    raw_object::{ObjectName, RawObject},
    scheme::Surroundings,
};
use crate::{
    engine::local_overlay::{LocalPods, OverlaidEndpoint, overlay_endpoints, overlay_slices},
    model::{EndpointSlice, Endpoints, Pod, Resource, Service},
};

/// When the pods of the node count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OverlayPhase {
    /// The API server is there, and its state counts alone.
    #[default]
    Off,
    /// The API server is away.
    On,
    /// The API server is back. What it has of the node may be from before: a Service follows it as soon as both agree.
    CatchingUp,
}

/// The pods of the own node, as its kubelet knows them, and the Services for which they count.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    pub(super) pods: Vec<Pod>,
    pub(super) phase: OverlayPhase,
    /// The Services whose endpoints differ from what the API server last had.
    differing: BTreeSet<ObjectName>,
    /// The slices that were added for a Service.
    added: BTreeMap<ObjectName, BTreeSet<ObjectName>>,
}

/// The Endpoints or the slices of a Service with the endpoints of the node decided anew.
#[derive(Debug)]
pub(super) struct Overlaid {
    pub(super) objects: Vec<Arc<RawObject>>,
    /// Slices that were added before, and are not any more.
    pub(super) gone: Vec<ObjectName>,
}

impl Overlay {
    /// The Services whose endpoints differ from what the API server last had.
    pub(super) fn differing(&self) -> impl Iterator<Item = &ObjectName> {
        self.differing.iter()
    }

    fn applies_to(&self, service: &ObjectName) -> bool {
        match self.phase {
            OverlayPhase::Off => false,
            OverlayPhase::On => true,
            OverlayPhase::CatchingUp => self.differing.contains(service),
        }
    }

    /// Lays the pods of the node over the Endpoints or the slices of a Service. `text` is that of the Service.
    pub(super) fn lay(
        &mut self,
        name: &ObjectName,
        text: Option<&RawObject>,
        resource: Resource,
        objects: Vec<Arc<RawObject>>,
        around: &Surroundings,
    ) -> Overlaid {
        let service: Option<Service> =
            text.filter(|_| self.applies_to(name)).and_then(|raw| serde_json::from_str(&raw.text).ok());
        let Some(service) = service else { return self.without(name, resource, objects) };
        let local = self.pods.iter().filter(|pod| *pod.namespace() == name.namespace).collect::<Vec<_>>();
        let local = LocalPods { node: &around.node, nodes: &around.nodes, pods: &local };
        let (objects, added, differs) = match resource {
            Resource::Endpoints => endpoints_over(&service, objects, &local),
            _ => slices_over(&service, name, objects, &local),
        };
        if differs {
            self.differing.insert(name.clone());
        } else if resource == Resource::EndpointSlice {
            // Endpoints are decided about first, and kube-proxy reads slices.
            self.differing.remove(name);
        }
        let gone = self.replace_added(name, resource, added);
        Overlaid { objects, gone }
    }

    /// What the API server last had.
    fn without(&mut self, name: &ObjectName, resource: Resource, objects: Vec<Arc<RawObject>>) -> Overlaid {
        self.differing.remove(name);
        Overlaid { objects, gone: self.replace_added(name, resource, BTreeSet::new()) }
    }

    /// Remembers the added slices of a Service, and returns those that are gone.
    fn replace_added(&mut self, name: &ObjectName, resource: Resource, added: BTreeSet<ObjectName>) -> Vec<ObjectName> {
        if resource != Resource::EndpointSlice {
            return Vec::new();
        }
        let before = self.added.remove(name).unwrap_or_default();
        let gone = before.difference(&added).cloned().collect();
        if !added.is_empty() {
            self.added.insert(name.clone(), added);
        }
        gone
    }
}

/// Objects, the names of those that were added, and whether anything differs.
type Laid = (Vec<Arc<RawObject>>, BTreeSet<ObjectName>, bool);

fn endpoints_over(service: &Service, objects: Vec<Arc<RawObject>>, local: &LocalPods<'_>) -> Laid {
    let mut differs = false;
    let over = |raw: Arc<RawObject>| {
        let stored: Option<Endpoints> = serde_json::from_str(&raw.text).ok();
        let after = stored.and_then(|stored| overlay_endpoints(service, &stored, local));
        let tail = raw.endpoints.as_ref().map(|lists| lists.tail_at);
        let text =
            after.zip(tail).map(|(after, at)| format!(r#"{},"subsets":{}}}"#, &raw.text[..at], json!(after.subsets)));
        let read = text.and_then(|text| RawObject::read(Resource::Endpoints, &text).ok());
        differs |= read.is_some();
        read.map_or(raw, Arc::new)
    };
    (objects.into_iter().map(over).collect(), BTreeSet::new(), differs)
}

fn slices_over(service: &Service, name: &ObjectName, mut objects: Vec<Arc<RawObject>>, local: &LocalPods<'_>) -> Laid {
    let slices: Option<Vec<EndpointSlice>> = objects.iter().map(|raw| serde_json::from_str(&raw.text).ok()).collect();
    // What cannot be read stays as it is, with everything else of its Service: its endpoints may be among those.
    let Some(slices) = slices else { return (objects, BTreeSet::new(), false) };
    let overlay = overlay_slices(service, &slices.iter().collect::<Vec<_>>(), local);
    let differs = !overlay.is_empty();
    for (index, endpoints) in overlay.changed {
        let over = objects.get(index).and_then(|raw| with_endpoints(raw, &endpoints));
        if let (Some(raw), Some(place)) = (over, objects.get_mut(index)) {
            *place = Arc::new(raw);
        }
    }
    let mut added = BTreeSet::new();
    for (number, mut slice) in overlay.added.into_iter().enumerate() {
        // No controller generates names with dots.
        slice.meta.name = format!("{}.{}.{number}", name.name, local.node).into();
        if let Some(raw) = json_of(&slice).and_then(|text| RawObject::read(Resource::EndpointSlice, &text).ok()) {
            added.insert(raw.name());
            objects.push(Arc::new(raw));
        }
    }
    (objects, added, differs)
}

/// A slice with other endpoints. Those that are stored keep their text.
fn with_endpoints(raw: &RawObject, endpoints: &[OverlaidEndpoint]) -> Option<RawObject> {
    let lists = raw.endpoints.as_ref()?;
    let list = lists.lists.first()?;
    let mut out = raw.text[..list.text.start].to_owned();
    for (i, endpoint) in endpoints.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        match endpoint {
            OverlaidEndpoint::Stored(index) => out.push_str(&raw.text[lists.endpoints.get(*index)?.text.clone()]),
            OverlaidEndpoint::Decided(endpoint) => out.push_str(&json_of(endpoint)?),
        }
    }
    out.push_str(&raw.text[list.text.end..]);
    RawObject::read(Resource::EndpointSlice, &out).ok()
}

/// A value as JSON. The values here are plain objects, which always are JSON.
fn json_of(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}
