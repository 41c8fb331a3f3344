//! What a watch of the API server feeds.

use std::sync::Arc;

use super::{
    edge_cache::EdgeCache,
    raw_object::ObjectName,
    reachability::Reachability,
    upstream_event::{UpstreamEvent, UpstreamObject},
};
use crate::{
    inventory::{Loss, Sink},
    model::{Resource, Text, json::raw::object_key},
};

/// Feeds the objects of a resource into the cache.
#[derive(Debug)]
pub(super) struct UpstreamSink {
    pub(super) cache: Arc<EdgeCache>,
    pub(super) resource: Resource,
    /// The name of the own node.
    pub(super) node: Text,
    pub(super) reachability: Arc<Reachability>,
}

/// The name in the text of an object.
fn name(text: &str) -> Option<ObjectName> {
    let key = object_key(serde_json::from_str(text).ok()?);
    Some(ObjectName::new(key.namespace, key.name))
}

impl Sink for UpstreamSink {
    /// An object that cannot be read is as if it did not change; `None` if it was not known before.
    type Row = Option<UpstreamObject>;

    fn row(&self, object: &str, _: Option<&Self::Row>) -> serde_json::Result<Self::Row> {
        Ok(match UpstreamObject::read(self.resource, object, &self.node) {
            // A list has all objects again, most of them as they are held.
            Ok(object) => Some(self.cache.share(object)),
            Err(error) => {
                tracing::warn!(resource = self.resource.plural(), %error, "an object cannot be read");
                name(object).and_then(|name| self.cache.held(self.resource, &name))
            }
        })
    }

    fn apply(&mut self, row: Self::Row) {
        self.reachability.heard();
        if let Some(object) = row {
            self.cache.apply(UpstreamEvent::Apply(object));
        }
    }

    fn delete(&mut self, row: Self::Row) {
        self.reachability.heard();
        if let Some(object) = row {
            self.cache.apply(UpstreamEvent::Delete(self.resource, object.name));
        }
    }

    fn replace(&mut self, rows: Vec<Self::Row>) {
        self.reachability.heard();
        self.cache.apply(UpstreamEvent::Replace(self.resource, rows.into_iter().flatten().collect()));
    }

    /// While the API server is away, clients see what was last known.
    fn lost(&mut self, loss: Loss) {
        if loss == Loss::NotInstalled {
            self.cache.apply(UpstreamEvent::Replace(self.resource, Vec::new()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::servers::edge::{scheme::EdgeScheme, tests::TestedEdge};

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
        let mut sink = UpstreamSink { cache, resource: Resource::EndpointSlice, node: "edge-1".into(), reachability };
        let count = || edge.cache.list(Resource::EndpointSlice, None).objects.len();
        for (listed, want) in [
            (vec![&good], 1),
            (vec![&slice(json!("none")), &unnamed], 1),
            (vec![&good, &slice(json!([5]))], 1),
            (vec![], 0),
            // It was not known before.
            (vec![&slice(json!("none"))], 0),
        ] {
            let rows = listed.iter().map(|object| sink.row(&object.to_string(), None).unwrap()).collect();
            sink.replace(rows);
            assert_eq!(count(), want, "{listed:?}");
        }
    }
}
