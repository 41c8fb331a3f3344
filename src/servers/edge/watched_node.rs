//! What the watches of a node proxy feed, without an API server: for a program that measures it.

use std::sync::Arc;

use axum::http::Uri;
use futures::FutureExt;

use super::{
    EdgeScheme, api_server::ApiServer, edge_cache::EdgeCache, node_state::NodeState, reachability::Reachability,
    upstream_sink::UpstreamSink, versions::Versions,
};
use crate::{engine::view::KeyOrder, inventory::Sink, model::Resource};

/// The cache of a node, and the watches that feed it.
#[derive(Debug)]
pub struct WatchedNode {
    cache: Arc<EdgeCache>,
    reachability: Arc<Reachability>,
    scheme: EdgeScheme,
    node: String,
}

impl WatchedNode {
    /// A cache that knows nothing yet.
    pub fn new(node: &str, scheme: EdgeScheme) -> Self {
        let state = NodeState::new(node.into(), scheme, KeyOrder::default());
        let cache = Arc::new(EdgeCache::new(state, Versions::start(0, None, None)));
        // It is never asked.
        let api = ApiServer::at(Uri::default(), |_| std::future::pending().boxed());
        Self { cache, reachability: Reachability::new(api), scheme, node: node.to_owned() }
    }

    /// Takes the first list of every resource: each text is an object, with its kind.
    pub fn list(&self, objects: &[(&str, &str)]) -> serde_json::Result<()> {
        for resource in NodeState::watched(self.scheme).collect::<Vec<_>>() {
            let mut sink = self.sink(resource);
            let of_resource = objects.iter().filter(|(kind, _)| *kind == resource.kind());
            let rows = of_resource.map(|(_, text)| sink.row(text, None)).collect::<serde_json::Result<Vec<_>>>()?;
            sink.replace(rows);
        }
        Ok(())
    }

    /// Takes an event: the object is there, or it was deleted.
    pub fn take(&self, kind: &str, object: &str, is_deleted: bool) -> serde_json::Result<()> {
        let Some(resource) = NodeState::watched(self.scheme).find(|resource| resource.kind() == kind) else {
            return Ok(());
        };
        let mut sink = self.sink(resource);
        let row = sink.row(object, None)?;
        if is_deleted {
            sink.delete(row);
        } else {
            sink.apply(row);
        }
        Ok(())
    }

    /// The number of objects of a kind that a client sees.
    pub fn listed(&self, kind: &str) -> usize {
        let resource = NodeState::watched(self.scheme).find(|resource| resource.kind() == kind);
        resource.map_or(0, |resource| self.cache.list(resource, None).objects.len())
    }

    fn sink(&self, resource: Resource) -> UpstreamSink {
        let (cache, reachability) = (self.cache.clone(), self.reachability.clone());
        UpstreamSink { cache, resource, node: self.node.as_str().into(), reachability }
    }
}
