//! A client of the proxy that holds what it sees, and notices an object that goes back in time.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures::{StreamExt, TryStreamExt};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::changes::step_of;

/// Objects by `namespace/name`, without `resourceVersion`.
pub(super) type Objects = BTreeMap<String, Value>;

/// kube's watcher, and what it holds.
pub(super) struct Reflector {
    pub(super) resource: ApiResource,
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    objects: Objects,
    listed: Objects,
    seen: BTreeMap<String, Seen>,
    events: usize,
    lists: usize,
    faults: Vec<String>,
}

/// The last that was seen of an object.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    step: u64,
    version: u64,
    is_deleted: bool,
}

impl Reflector {
    pub(super) fn start(runtime: &Runtime, client: Client, resource: ApiResource, config: watcher::Config) -> Self {
        let held = Arc::<Mutex<Held>>::default();
        let (written, api) = (held.clone(), Api::<DynamicObject>::all_with(client, &resource));
        runtime.spawn(async move {
            let mut events = watcher(api, config).default_backoff().boxed();
            loop {
                match events.try_next().await {
                    Ok(Some(event)) => written.lock().unwrap().take(event),
                    Ok(None) => return,
                    Err(_) => {}
                }
            }
        });
        Self { resource, held }
    }

    pub(super) fn objects(&self) -> Objects {
        self.held.lock().unwrap().objects.clone()
    }

    /// Events, lists, and what went back in time.
    pub(super) fn report(&self) -> (usize, usize, Vec<String>) {
        let held = self.held.lock().unwrap();
        (held.events, held.lists, held.faults.clone())
    }
}

impl Held {
    fn take(&mut self, event: watcher::Event<DynamicObject>) {
        self.events += 1;
        match event {
            watcher::Event::Init => self.listed.clear(),
            watcher::Event::InitApply(object) => {
                self.look_at("listed", &object, false);
                let (name, object) = plain(object);
                self.listed.insert(name, object);
            }
            watcher::Event::InitDone => {
                self.lists += 1;
                self.objects = std::mem::take(&mut self.listed);
                for (name, seen) in &mut self.seen {
                    seen.is_deleted |= !self.objects.contains_key(name);
                }
            }
            watcher::Event::Apply(object) => {
                self.look_at("watched", &object, false);
                let (name, object) = plain(object);
                self.objects.insert(name, object);
            }
            watcher::Event::Delete(object) => {
                self.look_at("deleted", &object, true);
                self.objects.remove(&plain(object).0);
            }
        }
    }

    /// Whether the object is newer than the last that was seen of its name, or the same.
    fn look_at(&mut self, how: &str, object: &DynamicObject, is_deleted: bool) {
        let version = object.metadata.resource_version.as_ref().unwrap().parse().unwrap();
        let now = Seen { step: step_of(&object.metadata), version, is_deleted };
        let name = name_of(object);
        let before = self.seen.get(&name).copied().unwrap_or_default();
        let is_resurrected = before.is_deleted && !is_deleted && now.step <= before.step;
        if now.step < before.step || now.version < before.version || is_resurrected {
            self.faults.push(format!("{name} was {how} as {now:?} after {before:?}"));
        }
        self.seen.insert(name, now);
    }
}

fn name_of(object: &DynamicObject) -> String {
    let meta = &object.metadata;
    format!("{}/{}", meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

/// An object without its version, and its name.
pub(super) fn plain(mut object: DynamicObject) -> (String, Value) {
    object.metadata.resource_version = None;
    object.metadata.managed_fields = None;
    object.types = None;
    (name_of(&object), serde_json::to_value(object).unwrap())
}
