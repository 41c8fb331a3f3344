//! What the watches of a node proxy feed, without an API server: for a program that measures it.

use std::sync::Arc;

use axum::http::Uri;
use futures::FutureExt;
use roster_engine::{model::Resource, view::KeyOrder};
use roster_manifests::inventory::Sink;

use super::EdgeScheme;
use crate::servers::edge::{
    cache::{edge_cache::EdgeCache, node_state::NodeState, versions::Versions},
    upstream::{api_server::ApiServer, reachability::Reachability, upstream_sink::UpstreamSink},
};

/// The cache of a node, and the watches that feed it.
#[derive(Debug)]
pub struct WatchedNode {
    cache: Arc<EdgeCache>,
    sinks: Vec<(Resource, UpstreamSink)>,
}

impl WatchedNode {
    /// A cache that knows nothing yet.
    pub fn new(node: &str, scheme: EdgeScheme) -> Self {
        let state = NodeState::new(node.into(), scheme, KeyOrder::default());
        let cache = Arc::new(EdgeCache::new(state, Versions::start(0, None, None)));
        // It is never asked.
        let reachability = Reachability::new(ApiServer::at(Uri::default(), |_| std::future::pending().boxed()));
        let sink = |resource| UpstreamSink::new(cache.clone(), resource, node.into(), reachability.clone());
        let sinks = NodeState::watched(scheme).map(|resource| (resource, sink(resource))).collect();
        Self { cache, sinks }
    }

    /// Takes the first list of every resource: each text is an object, with its kind.
    pub fn list(&mut self, objects: &[(&str, &str)]) -> serde_json::Result<()> {
        for (resource, sink) in &mut self.sinks {
            let of_resource = objects.iter().filter(|(kind, _)| *kind == resource.kind());
            sink.begin_list();
            for (_, text) in of_resource {
                let row = sink.row(text)?;
                sink.list(row);
            }
            sink.end_list();
        }
        Ok(())
    }

    /// Takes an event: the object is there, or it was deleted. What arrives together is decided about with
    /// [`WatchedNode::settle`].
    pub fn take(&mut self, kind: &str, object: &str, is_deleted: bool) -> serde_json::Result<()> {
        let Some((_, sink)) = self.sinks.iter_mut().find(|(resource, _)| resource.kind() == kind) else {
            return Ok(());
        };
        let row = sink.row(object)?;
        match row {
            Some(object) if is_deleted => sink.delete(&object.name.namespace, &object.name.name),
            row => sink.apply(row),
        }
        Ok(())
    }

    /// Decides about all events that were taken.
    pub fn settle(&mut self) {
        for (_, sink) in &mut self.sinks {
            sink.settle();
        }
    }

    /// The number of objects of a kind that a client sees.
    pub fn listed(&self, kind: &str) -> usize {
        let of_kind = self.sinks.iter().find(|(resource, _)| resource.kind() == kind);
        of_kind.map_or(0, |(resource, _)| self.cache.list(*resource, None).objects.len())
    }
}
