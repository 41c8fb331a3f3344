//! What the API server reports of its objects, as the state of the node takes it.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use roster_engine::model::{Node, NodePool, Resource, Text};
use serde_json::json;

use crate::servers::edge::cache::{
    held_objects::{HeldNode, HeldPart, HeldPool, HeldService},
    raw_object::{MalformedObject, ObjectName, RawObject},
};

/// A change of objects of the API server.
#[derive(Debug)]
pub(crate) enum UpstreamEvent {
    /// The object is there, as it is now.
    Apply(UpstreamObject),
    /// The object was deleted.
    Delete(Resource, ObjectName),
    /// All objects of the resource: every other one was deleted.
    Replace(Resource, Vec<UpstreamObject>),
}

impl UpstreamEvent {
    /// The resource whose objects change.
    pub(crate) fn resource(&self) -> Resource {
        match self {
            Self::Apply(object) => object.resource,
            Self::Delete(resource, _) | Self::Replace(resource, _) => *resource,
        }
    }
}

/// An object of the API server, as far as it is held.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamObject {
    pub(crate) resource: Resource,
    pub(crate) name: ObjectName,
    pub(crate) held: HeldPart,
}

/// A change of what is held. Only a journal needs its record, which `NodeState` makes.
#[derive(Debug)]
pub(crate) enum HeldChange {
    Put(Resource, ObjectName),
    Delete(Resource, ObjectName),
    Listed(Resource),
}

impl HeldChange {
    /// The last change of each object: the journal has objects as they are after all of them.
    pub(crate) fn last_of_each(mut changes: Vec<Self>) -> Vec<Self> {
        let mut seen = BTreeSet::new();
        changes.reverse();
        changes.retain(|change| match change {
            Self::Put(resource, name) | Self::Delete(resource, name) => seen.insert((*resource, name.clone())),
            Self::Listed(_) => true,
        });
        changes.reverse();
        changes
    }
}

impl UpstreamObject {
    /// The text from which [`UpstreamObject::read`] reads the same.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        let part = match &self.held {
            HeldPart::Service(service) => return Cow::Borrowed(&service.text.text),
            HeldPart::Text(raw) | HeldPart::Node(HeldNode { text: Some(raw), .. }) => return Cow::Borrowed(&raw.text),
            HeldPart::Node(HeldNode { node, text: None }) => {
                let Node { name, labels, .. } = &**node;
                json!({ "metadata": { "name": name, "labels": labels } })
            }
            HeldPart::Pool(HeldPool(pool)) => {
                let NodePool { name, nodes } = &**pool;
                json!({ "metadata": { "name": name }, "status": { "nodes": nodes } })
            }
        };
        Cow::Owned(part.to_string())
    }

    /// Reads an object. `node` is the name of the own node.
    pub(crate) fn read(resource: Resource, text: &str, node: &str) -> Result<Self, MalformedObject> {
        if resource == Resource::NodePool {
            let pool: Arc<NodePool> =
                serde_json::from_str(text).map(Arc::new).map_err(|e| MalformedObject(e.to_string()))?;
            let name = ObjectName::new(Text::default(), pool.name.clone());
            return Ok(Self { resource, name, held: HeldPart::Pool(HeldPool(pool)) });
        }
        let raw = RawObject::read(resource, text)?;
        let name = raw.name.clone();
        let held = match resource {
            Resource::Service => HeldPart::Service(Arc::new(HeldService::new(raw))),
            Resource::Node => {
                let labelled = Node { name: name.name.clone(), labels: raw.labels.clone(), ..Node::default() };
                let is_own = name.name == node;
                HeldPart::Node(HeldNode { node: Arc::new(labelled), text: is_own.then(|| Arc::new(raw)) })
            }
            _ => HeldPart::Text(Arc::new(raw)),
        };
        Ok(Self { resource, name, held })
    }
}
