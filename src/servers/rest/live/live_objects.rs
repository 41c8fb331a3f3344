//! The objects that a caller sees, and which of them have changed since they were last sent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use roster_engine::model::Resource;
use roster_manifests::decode::MemoryAccount;
use serde::Serialize;

use super::projection::{ProjectedObject, project};
use crate::servers::rest::object_memory::ObjectMemory;

/// What an object takes besides its JSON and its name, about.
const ENTRY: usize = 256;

/// Resource, namespace and name.
type ObjectId = (Resource, String, String);

/// The objects that a caller sees.
#[derive(Debug)]
pub(super) struct LiveObjects {
    objects: BTreeMap<ObjectId, Bytes>,
    /// What the page does not have yet, or still has.
    changed: BTreeSet<ObjectId>,
    /// What the lists that are being read have so far.
    listing: BTreeMap<Resource, BTreeSet<ObjectId>>,
    memory: ObjectMemory,
    held: usize,
    /// The most bytes that are held.
    most: usize,
}

/// Why objects cannot be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotHeld {
    /// They are too large for one caller.
    TooMany,
    /// Other requests need the memory.
    NoMemory,
}

/// An object that is gone, as a line names it.
#[derive(Serialize)]
struct DeletedObject<'a> {
    kind: Resource,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    name: &'a str,
}

impl LiveObjects {
    /// No objects yet. They may take `most` bytes of this memory.
    pub(super) fn new(memory: ObjectMemory, most: usize) -> Self {
        let (objects, changed, listing) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { objects, changed, listing, memory, held: 0, most }
    }

    /// A list of a resource begins.
    pub(super) fn begin(&mut self, resource: Resource) {
        self.listing.insert(resource, BTreeSet::new());
    }

    /// The list is complete: what it does not have is gone.
    pub(super) fn complete(&mut self, resource: Resource) {
        let listed = self.listing.remove(&resource).unwrap_or_default();
        self.retain(resource, |id| listed.contains(id));
    }

    /// The caller may not see a resource any more.
    pub(super) fn forget(&mut self, resource: Resource) {
        self.listing.remove(&resource);
        self.retain(resource, |_| false);
    }

    fn retain(&mut self, resource: Resource, keep: impl Fn(&ObjectId) -> bool) {
        let first = (resource, String::new(), String::new());
        let all = self.objects.range(first..).map(|(id, _)| id).take_while(|id| id.0 == resource);
        let gone: Vec<ObjectId> = all.filter(|id| !keep(id)).cloned().collect();
        for id in gone {
            self.remove(id);
        }
    }

    /// An object was deleted.
    pub(super) fn delete(&mut self, resource: Resource, namespace: String, name: String) {
        self.remove((resource, namespace, name));
    }

    fn remove(&mut self, id: ObjectId) {
        if let Some(json) = self.objects.remove(&id) {
            let bytes = size(&id, &json);
            self.held -= bytes;
            self.memory.give_back(bytes);
            self.changed.insert(id);
        }
    }

    /// An object is as this JSON says. One that cannot be read is left out.
    pub(super) fn put(&mut self, resource: Resource, object: &str) -> Result<(), NotHeld> {
        let ProjectedObject { namespace, name, json } = match project(resource, object) {
            Ok(object) => object,
            Err(error) => {
                tracing::debug!(resource = resource.plural(), %error, "an object of a live cluster cannot be read");
                return Ok(());
            }
        };
        let id = (resource, namespace, name);
        if let Some(listing) = self.listing.get_mut(&resource) {
            listing.insert(id.clone());
        }
        let before = self.objects.get(&id);
        if before == Some(&json) {
            return Ok(());
        }
        let (old, new) = (before.map_or(0, |before| size(&id, before)), size(&id, &json));
        if self.held - old + new > self.most {
            return Err(NotHeld::TooMany);
        }
        self.memory.give_back(old);
        if !self.memory.take(new) {
            return Err(NotHeld::NoMemory);
        }
        self.held = self.held - old + new;
        self.objects.insert(id.clone(), json);
        self.changed.insert(id);
        Ok(())
    }

    /// Whether something has changed since it was last sent.
    pub(super) fn have_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// The line with all objects, in pieces. `unread` is the field of this name.
    pub(super) fn list(&mut self, unread: &str) -> VecDeque<Bytes> {
        self.changed.clear();
        let items = self.objects.iter().filter(|((resource, ..), _)| *resource != Resource::Namespace);
        let mut line =
            VecDeque::from([Bytes::from_static(b"{\"list\":{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[")]);
        push_all(&mut line, items.map(|(_, json)| json.clone()));
        line.push_back(format!("]}},\"namespaces\":{},\"unread\":{unread}}}\n", self.namespaces()).into());
        line
    }

    /// The line with what has changed, in pieces.
    pub(super) fn changes(&mut self, unread: &str) -> VecDeque<Bytes> {
        let changed = std::mem::take(&mut self.changed);
        let (namespaces, others): (Vec<_>, Vec<_>) = changed.into_iter().partition(|id| id.0 == Resource::Namespace);
        let mut line = VecDeque::from([Bytes::from_static(b"{\"applied\":[")]);
        push_all(&mut line, others.iter().filter_map(|id| self.objects.get(id).cloned()));
        let is_gone = |id: &&ObjectId| !self.objects.contains_key(*id);
        let deleted: Vec<DeletedObject<'_>> = others.iter().filter(is_gone).map(deleted).collect();
        let namespaces =
            if namespaces.is_empty() { String::new() } else { format!(",\"namespaces\":{}", self.namespaces()) };
        // Plain values always serialize.
        let deleted = serde_json::to_string(&deleted).unwrap_or_default();
        line.push_back(format!("],\"deleted\":{deleted}{namespaces},\"unread\":{unread}}}\n").into());
        line
    }

    /// The names of the namespaces, as JSON.
    fn namespaces(&self) -> String {
        let all = self.objects.keys().filter(|id| id.0 == Resource::Namespace);
        serde_json::to_string(&all.map(|id| &id.2).collect::<Vec<_>>()).unwrap_or_default()
    }
}

fn deleted((kind, namespace, name): &ObjectId) -> DeletedObject<'_> {
    DeletedObject { kind: *kind, namespace, name }
}

/// The memory that an object takes, about: its name stands in three maps at most.
fn size((_, namespace, name): &ObjectId, json: &Bytes) -> usize {
    json.len() + 3 * (namespace.len() + name.len()) + ENTRY
}

/// Adds objects with commas between them.
fn push_all(line: &mut VecDeque<Bytes>, objects: impl Iterator<Item = Bytes>) {
    for (place, json) in objects.enumerate() {
        if place > 0 {
            line.push_back(Bytes::from_static(b","));
        }
        line.push_back(json);
    }
}
