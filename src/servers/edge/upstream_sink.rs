//! What a watch of the API server feeds.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{
    edge_cache::EdgeCache,
    upstream_event::{UpstreamEvent, UpstreamObject},
};
use crate::{
    inventory::{Loss, Sink},
    model::{Resource, Text},
};

/// Feeds the objects of a resource into the cache.
#[derive(Debug)]
pub(super) struct UpstreamSink {
    pub(super) cache: Arc<EdgeCache>,
    pub(super) resource: Resource,
    /// The name of the own node.
    pub(super) node: Text,
}

/// The text of an object.
#[derive(Clone, Debug)]
pub(super) struct ObjectText(Box<str>);

impl<'de> Deserialize<'de> for ObjectText {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(d).map(|raw| Self(raw.into()))
    }
}

impl Sink for UpstreamSink {
    type Object = ObjectText;
    /// `None`: the object cannot be read. It is as if it did not change.
    type Row = Option<UpstreamObject>;

    fn row(&self, object: ObjectText, _: Option<&Self::Row>) -> Self::Row {
        UpstreamObject::read(self.resource, &object.0, &self.node)
            // A list has all objects again, most of them as they are held.
            .map(|object| self.cache.share(object))
            .inspect_err(|error| tracing::warn!(resource = self.resource.plural(), %error, "an object cannot be read"))
            .ok()
    }

    fn apply(&mut self, row: Self::Row) {
        if let Some(object) = row {
            self.cache.apply(UpstreamEvent::Apply(object));
        }
    }

    fn delete(&mut self, row: Self::Row) {
        if let Some(object) = row {
            self.cache.apply(UpstreamEvent::Delete(self.resource, object.name));
        }
    }

    fn replace(&mut self, rows: Vec<Self::Row>) {
        self.cache.apply(UpstreamEvent::Replace(self.resource, rows.into_iter().flatten().collect()));
    }

    /// While the API server is away, clients see what was last known.
    fn lost(&mut self, loss: Loss) {
        if loss == Loss::NotInstalled {
            self.cache.apply(UpstreamEvent::Replace(self.resource, Vec::new()));
        }
    }
}
