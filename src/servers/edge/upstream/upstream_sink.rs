//! What a watch of the API server feeds.

use std::sync::Arc;

use roster_engine::model::{Resource, Text, json::raw::object_key};
use roster_manifests::inventory::{Loss, Sink};

use super::{
    reachability::Reachability,
    upstream_event::{UpstreamEvent, UpstreamObject},
};
use crate::servers::edge::cache::{edge_cache::EdgeCache, raw_object::ObjectName};

/// Feeds the objects of a resource into the cache.
#[derive(Debug)]
pub(crate) struct UpstreamSink {
    cache: Arc<EdgeCache>,
    resource: Resource,
    /// The name of the own node.
    node: Text,
    reachability: Arc<Reachability>,
    /// Events that have arrived, and are decided about together.
    arrived: ArrivedEvents,
    /// The list that is being read. Objects that are as before share their text with those that are held.
    listed: Vec<UpstreamObject>,
}

/// Events that wait for those behind them.
#[derive(Debug, Default)]
struct ArrivedEvents {
    events: Vec<UpstreamEvent>,
    /// The length of their texts.
    bytes: usize,
}

impl ArrivedEvents {
    /// Most events that wait, and most bytes of them.
    const EVENTS: usize = 256;
    const BYTES: usize = 4 << 20;

    fn add(&mut self, event: UpstreamEvent) {
        if let UpstreamEvent::Apply(UpstreamObject { held, .. }) = &event {
            self.bytes += held.text().map_or(0, |raw| raw.text.len());
        }
        self.events.push(event);
    }

    fn are_enough(&self) -> bool {
        self.events.len() >= Self::EVENTS || self.bytes >= Self::BYTES
    }

    /// The last of them that is about the object.
    fn last_of(&self, name: &ObjectName) -> Option<&UpstreamEvent> {
        let is_about = |event: &&UpstreamEvent| match event {
            UpstreamEvent::Apply(object) => object.name == *name,
            UpstreamEvent::Delete(_, deleted) => deleted == name,
            UpstreamEvent::Replace(..) => false,
        };
        self.events.iter().rev().find(is_about)
    }
}

impl UpstreamSink {
    /// A sink of a resource; `node` is the own one.
    pub(crate) fn new(cache: Arc<EdgeCache>, resource: Resource, node: Text, reachability: Arc<Reachability>) -> Self {
        Self { cache, resource, node, reachability, arrived: ArrivedEvents::default(), listed: Vec::new() }
    }

    /// Takes an event, as soon as no other one has arrived behind it: many changes of one Service, such as those of a rollout,
    /// are decided about once.
    fn take(&mut self, event: UpstreamEvent) {
        self.reachability.heard();
        self.arrived.add(event);
        if self.arrived.are_enough() {
            self.settle();
        }
    }

    /// Replaces what is held, after all that has arrived.
    fn replace_all(&mut self, objects: Vec<UpstreamObject>) {
        self.settle();
        self.cache.apply(vec![UpstreamEvent::Replace(self.resource, objects)]);
    }
}

/// The name in the text of an object.
fn name(text: &str) -> Option<ObjectName> {
    let key = object_key(serde_json::from_str(text).ok()?);
    Some(ObjectName::new(key.namespace, key.name))
}

impl Sink for UpstreamSink {
    /// An object that cannot be read is as if it did not change; `None` if it was not known before.
    type Row = Option<UpstreamObject>;

    fn row(&self, object: &str) -> serde_json::Result<Self::Row> {
        Ok(match UpstreamObject::read(self.resource, object, &self.node) {
            // A list has all objects again, most of them as they are held.
            Ok(object) => Some(self.cache.share(object)),
            Err(error) => {
                tracing::warn!(resource = self.resource.plural(), %error, "an object cannot be read");
                let held = |name| match self.arrived.last_of(&name) {
                    Some(UpstreamEvent::Apply(object)) => Some(object.clone()),
                    Some(_) => None,
                    None => self.cache.held(self.resource, &name),
                };
                name(object).and_then(held)
            }
        })
    }

    fn apply(&mut self, row: Self::Row) {
        if let Some(object) = row {
            self.take(UpstreamEvent::Apply(object));
        }
    }

    fn delete(&mut self, namespace: &str, name: &str) {
        self.take(UpstreamEvent::Delete(self.resource, ObjectName::new(namespace, name)));
    }

    fn settle(&mut self) {
        let ArrivedEvents { events, .. } = std::mem::take(&mut self.arrived);
        if !events.is_empty() {
            self.cache.apply(events);
        }
    }

    fn begin_list(&mut self) {
        self.listed.clear();
    }

    fn list(&mut self, row: Self::Row) {
        self.listed.extend(row);
    }

    fn end_list(&mut self) {
        self.reachability.heard();
        let listed = std::mem::take(&mut self.listed);
        self.replace_all(listed);
    }

    /// While the API server is away, clients see what was last known.
    fn lost(&mut self, loss: Loss) {
        if loss == Loss::NotInstalled {
            self.replace_all(Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::servers::edge::{
        cache::{scheme::EdgeScheme, served_object::ServedObject},
        tests::TestedEdge,
    };

    fn list(sink: &mut UpstreamSink, objects: &[&Value]) {
        sink.begin_list();
        for object in objects {
            let row = sink.row(&object.to_string()).unwrap();
            sink.list(row);
        }
        sink.end_list();
    }

    /// For clients, an object that is gone is one that was deleted: kube-proxy would remove its rules.
    #[test]
    fn what_can_no_longer_be_read_stays_as_it_was() {
        let slice = |endpoints: Value| {
            let labels = json!({ "kubernetes.io/service-name": "web" });
            json!({ "metadata": { "name": "web-9", "namespace": "shop", "labels": labels }, "addressType": "IPv4", "ports": [], "endpoints": endpoints })
        };
        let good = slice(json!([{ "addresses": ["10.0.9.9"] }]));
        let unnamed = json!({ "metadata": { "labels": 5 }, "endpoints": [] });
        let edge = TestedEdge::new(EdgeScheme::SuperEdge);
        let (cache, reachability) = (edge.cache.clone(), edge.reachability.clone());
        let mut sink = UpstreamSink::new(cache, Resource::EndpointSlice, "edge-1".into(), reachability);
        let count = || edge.cache.list(Resource::EndpointSlice, None).objects.len();
        for (listed, want) in [
            (vec![&good], 1),
            (vec![&slice(json!("none")), &unnamed], 1),
            (vec![&good, &slice(json!([5]))], 1),
            (vec![], 0),
            // It was not known before.
            (vec![&slice(json!("none"))], 0),
        ] {
            list(&mut sink, &listed);
            assert_eq!(count(), want, "{listed:?}");
        }
    }

    /// What cannot be read leaves the object as it was, and that may be what has arrived just before it.
    #[test]
    fn events_that_arrive_together_are_in_force_together() {
        /// Events, whether the object is deleted, and the zones of the objects after them.
        type Row<'a> = (&'a str, &'a [(&'a Value, bool)], &'a [&'a str]);
        let slice = |name: &str, zone: &str| json!({ "metadata": { "name": name, "namespace": "shop" }, "addressType": "IPv4", "endpoints": [], "zone": zone });
        let (old, new) = (slice("web", "old"), slice("web", "new"));
        let wrong = json!({ "metadata": { "name": "web", "namespace": "shop" }, "endpoints": 5 });
        let table: &[Row<'_>] = &[
            ("the last one counts", &[(&old, false), (&new, false)], &["new"]),
            ("a malformed one changes nothing", &[(&new, false), (&wrong, false)], &["new"]),
            ("deleted", &[(&new, false), (&new, true)], &[]),
            ("deleted, and there again", &[(&old, true), (&new, false)], &["new"]),
            ("a malformed one is deleted", &[(&new, false), (&wrong, true)], &[]),
            ("a malformed one is not there again", &[(&old, true), (&wrong, false)], &[]),
        ];
        for (name, events, want) in table {
            let edge = TestedEdge::new(EdgeScheme::SuperEdge);
            let (cache, reachability) = (edge.cache.clone(), edge.reachability.clone());
            let mut sink = UpstreamSink::new(cache, Resource::EndpointSlice, "edge-1".into(), reachability);
            list(&mut sink, &[&old]);
            let version = edge.cache.version();
            for (object, is_deleted) in *events {
                if *is_deleted {
                    sink.delete("shop", "web");
                    continue;
                }
                let row = sink.row(&object.to_string()).unwrap();
                sink.apply(row);
            }
            assert_eq!(edge.cache.version(), version, "{name}: not before the last one");
            sink.settle();
            let listed = edge.cache.list(Resource::EndpointSlice, None).objects;
            let zone = |object: &ServedObject| {
                let mut text = Vec::new();
                object.write(1, &mut text);
                serde_json::from_slice::<Value>(&text).unwrap()["zone"].as_str().unwrap().to_owned()
            };
            let zones: Vec<String> = listed.iter().map(|listed| zone(&listed.object)).collect();
            assert_eq!(zones, *want, "{name}");
        }
    }
}
