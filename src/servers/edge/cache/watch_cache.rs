//! The objects of one resource as they are served, and their last events.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use roster_engine::model::{Resource, Text};

use super::{
    event_ring::{EventRing, Expired, RingEvent, SelectedEvent},
    node_state::ServedChange,
    raw_object::ObjectName,
    selection::Selection,
    served_object::ServedObject,
    versions::Versions,
};

/// The objects of a resource, each with the version of its last change. Every change of what clients see is one event
/// with a version of its own; whatever leaves the text as it is makes no event.
#[derive(Debug, Default)]
pub(super) struct WatchCache {
    objects: BTreeMap<ObjectName, VersionedObject>,
    events: EventRing,
}

/// An object, and the version since which it is as it is.
#[derive(Clone, Debug)]
pub(crate) struct VersionedObject {
    pub(crate) version: u64,
    pub(crate) object: Arc<ServedObject>,
}

/// How many events are looked at in one turn with the lock.
pub(crate) const PIECE: usize = 256;

/// Events that a watch sends next.
#[derive(Clone, Debug)]
pub(crate) struct EventBatch {
    pub(crate) events: Vec<SelectedEvent>,
    /// The version up to which all events were looked at.
    pub(crate) version: u64,
}

/// A change that was compared with what clients see, and has its version. To put it in place takes little time, whatever it is.
#[derive(Debug)]
pub(super) struct CacheChange {
    pub(crate) resource: Resource,
    name: ObjectName,
    before: Option<Arc<ServedObject>>,
    after: Option<Arc<ServedObject>>,
    /// `None`: clients see the same text, of which other endpoints were removed.
    version: Option<u64>,
}

impl CacheChange {
    /// Compares an object with the one of its name that clients see. `None`: nothing changes.
    pub(crate) fn of(change: ServedChange, before: Option<Arc<ServedObject>>, versions: &mut Versions) -> Option<Self> {
        let ServedChange { resource, name, object } = change;
        let is_same = match (&before, &object) {
            (None, None) => return None,
            (Some(before), Some(object)) if before.is_same(object) => {
                if before.removals() == object.removals() {
                    return None;
                }
                true
            }
            _ => false,
        };
        let version = (!is_same).then(|| versions.next());
        Some(Self { resource, name, before, after: object.map(Arc::new), version })
    }

    /// The object that clients see from now on.
    pub(crate) fn after(&self) -> Option<&Arc<ServedObject>> {
        self.after.as_ref()
    }
}

impl WatchCache {
    /// Puts an object in place of the one of its name, or removes that one. Returns whether clients see a change.
    #[cfg(test)]
    pub(crate) fn apply(&mut self, name: ObjectName, object: Option<ServedObject>, versions: &mut Versions) -> bool {
        let before = self.get(&name).map(|versioned| versioned.object.clone());
        let resource = object.as_ref().map_or(Resource::Service, ServedObject::resource);
        let Some(change) = CacheChange::of(ServedChange { resource, name, object }, before, versions) else {
            return false;
        };
        let is_event = change.version.is_some();
        self.put(change);
        is_event
    }

    /// Puts a change in place. It was compared with the current state. Returns the events that are forgotten.
    pub(crate) fn put(&mut self, change: CacheChange) -> Vec<RingEvent> {
        let CacheChange { name, before, after, version, .. } = change;
        let Some(version) = version else {
            if let (Some(versioned), Some(object)) = (self.objects.get_mut(&name), after) {
                versioned.object = object;
            }
            return Vec::new();
        };
        match &after {
            Some(object) => self.objects.insert(name.clone(), VersionedObject { version, object: object.clone() }),
            None => self.objects.remove(&name),
        };
        self.events.push(RingEvent { version, name, before, after })
    }

    /// Forgets the events so far, and returns them: nobody has seen a state before `version`.
    pub(crate) fn restart(&mut self, version: u64) -> Vec<RingEvent> {
        self.events.restart(version)
    }

    /// The objects of a namespace, or all, in the order of their names. Which of them a client wants is found without the lock.
    pub(crate) fn in_namespace(&self, namespace: Option<&Text>) -> Vec<VersionedObject> {
        let first = match namespace {
            Some(namespace) => Bound::Included(ObjectName::new(namespace.clone(), "")),
            None => return self.objects.values().cloned().collect(),
        };
        let objects = self.objects.range((first, Bound::Unbounded));
        let of_namespace = objects.take_while(|(name, _)| namespace.is_none_or(|n| *n == name.namespace));
        of_namespace.map(|(_, versioned)| versioned.clone()).collect()
    }

    /// The objects of a selection, in the order of their names.
    #[cfg(test)]
    pub(crate) fn list(&self, selection: &Selection) -> Vec<VersionedObject> {
        let mut objects = self.in_namespace(selection.namespace.as_ref());
        objects.retain(|versioned| selection.matches(versioned.object.object_name(), &versioned.object));
        objects
    }

    pub(crate) fn get(&self, name: &ObjectName) -> Option<&VersionedObject> {
        self.objects.get(name)
    }

    /// The next events after `version`, at most `most`; `now` is the current version.
    pub(super) fn next_events(&self, version: u64, now: u64, most: usize) -> Result<Vec<RingEvent>, Expired> {
        if version > now {
            return Err(Expired);
        }
        Ok(self.events.since(version)?.take(most).cloned().collect())
    }

    /// What a watch of a selection sees after `version`, at most `most` events; `now` is the current version.
    #[cfg(test)]
    pub(crate) fn events_since(
        &self,
        version: u64,
        now: u64,
        selection: &Selection,
        most: usize,
    ) -> Result<EventBatch, Expired> {
        EventBatch::collect(version, selection, most, |version| Ok((self.next_events(version, now, PIECE)?, now)))
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }
}

impl EventBatch {
    /// What a watch of a selection sees after `version`, at most `most` events. `next` gives the next events after a version, at
    /// most [`PIECE`] of them, and the current version.
    pub(crate) fn collect(
        mut version: u64,
        selection: &Selection,
        most: usize,
        next: impl Fn(u64) -> Result<(Vec<RingEvent>, u64), Expired>,
    ) -> Result<Self, Expired> {
        let mut events: Vec<SelectedEvent> = Vec::new();
        loop {
            let (piece, now) = next(version)?;
            for event in &piece {
                if events.len() == most {
                    return Ok(Self { events, version });
                }
                events.extend(event.of(selection));
                version = event.version;
            }
            if piece.len() < PIECE {
                return Ok(Self { events, version: now });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use roster_engine::model::Resource;

    use super::*;
    use crate::servers::edge::cache::{event_ring::WatchEventType, raw_object::RawObject, selection::FieldTest};

    const START: u64 = 100;

    fn service(name: &str, labels: &str) -> ServedObject {
        let text = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n","labels":{labels}}}}}"#);
        ServedObject::whole(Resource::Service, Arc::new(RawObject::read(Resource::Service, &text).unwrap()))
    }

    struct Tested {
        cache: WatchCache,
        versions: Versions,
    }

    impl Tested {
        fn new() -> Self {
            let mut cache = WatchCache::default();
            cache.restart(START);
            Self { cache, versions: Versions::from(START) }
        }

        fn set(&mut self, name: &str, labels: &str) -> bool {
            self.cache.apply(ObjectName::new("n", name), Some(service(name, labels)), &mut self.versions)
        }

        fn delete(&mut self, name: &str) -> bool {
            self.cache.apply(ObjectName::new("n", name), None, &mut self.versions)
        }

        fn events(&self, since: u64, selection: &Selection) -> Result<Vec<(WatchEventType, u64, String)>, Expired> {
            let batch = self.cache.events_since(since, self.versions.current(), selection, usize::MAX)?;
            Ok(batch.events.iter().map(|e| (e.kind, e.version, e.object.name().name.to_string())).collect())
        }
    }

    fn labelled(selector: &str) -> Selection {
        Selection { labels: selector.parse().unwrap(), ..Selection::default() }
    }

    #[test]
    fn a15_p3_every_change_has_a_version_of_its_own_and_what_changes_nothing_has_none() {
        let mut tested = Tested::new();
        let changes = [
            tested.set("a", "{}"),
            tested.set("a", "{}"),
            tested.set("a", r#"{"x":"1"}"#),
            tested.delete("b"),
            tested.delete("a"),
            tested.delete("a"),
        ];
        assert_eq!(changes, [true, false, true, false, true, false]);
        let all = tested.events(START, &Selection::default()).unwrap();
        let a = || "a".to_owned();
        assert_eq!(
            all,
            [
                (WatchEventType::Added, 101, a()),
                (WatchEventType::Modified, 102, a()),
                (WatchEventType::Deleted, 103, a())
            ]
        );
    }

    #[test]
    fn a15_p9_an_object_that_begins_or_ceases_to_match_is_added_or_deleted() {
        let mut tested = Tested::new();
        for labels in [r#"{"x":"0"}"#, r#"{"x":"1"}"#, r#"{"x":"1","y":""}"#, r#"{"y":""}"#, "{}"] {
            tested.set("a", labels);
        }
        let a = || "a".to_owned();
        let want = vec![
            (WatchEventType::Added, 102, a()),
            (WatchEventType::Modified, 103, a()),
            (WatchEventType::Deleted, 104, a()),
        ];
        assert_eq!(tested.events(START, &labelled("x=1")), Ok(want));
        let other = Selection { fields: FieldTest::read_all("metadata.name=b").unwrap(), ..Selection::default() };
        assert_eq!(tested.events(START, &other), Ok(Vec::new()));
    }

    #[test]
    fn a15_p1_a_watch_goes_on_from_its_version_or_is_expired() {
        let mut tested = Tested::new();
        tested.set("a", "{}");
        tested.set("b", "{}");
        for (since, want) in [
            (START - 1, Err(Expired)),
            (START, Ok(vec!["a", "b"])),
            (START + 1, Ok(vec!["b"])),
            (START + 2, Ok(vec![])),
            (START + 3, Err(Expired)),
        ] {
            let got = tested.events(since, &Selection::default());
            let names = got.map(|all| all.into_iter().map(|(_, _, name)| name).collect::<Vec<_>>());
            assert_eq!(names, want.map(|all| all.into_iter().map(str::to_owned).collect()), "{since}");
        }
    }

    #[test]
    fn a15_p5_a_watch_that_falls_behind_is_expired_and_never_skips_an_event() {
        let mut tested = Tested::new();
        for i in 0..5000 {
            tested.set("a", &format!(r#"{{"x":"{i}"}}"#));
        }
        let oldest = START + 5000 - 4096;
        assert_eq!(tested.events(oldest - 1, &Selection::default()), Err(Expired));
        let all = tested.events(oldest, &Selection::default()).unwrap();
        assert_eq!((all.len(), all[0].1), (4096, oldest + 1));
    }

    #[test]
    fn a_batch_ends_where_the_next_one_begins() {
        let mut tested = Tested::new();
        for i in 0..10 {
            tested.set("a", &format!(r#"{{"x":"{i}"}}"#));
        }
        let (mut since, mut sizes) = (START, Vec::new());
        while since < tested.versions.current() {
            let all = Selection::default();
            let batch = tested.cache.events_since(since, tested.versions.current(), &all, 4).unwrap();
            since = batch.version;
            sizes.push(batch.events.len());
        }
        assert_eq!(sizes, [4, 4, 2]);
    }

    #[test]
    fn a15_p20_lists_are_in_the_order_of_names() {
        let mut tested = Tested::new();
        for (name, labels) in [("c", "{}"), ("a", r#"{"x":"1"}"#), ("b", r#"{"x":"2"}"#)] {
            tested.set(name, labels);
        }
        let in_namespace = |n: &str| Selection { namespace: Some(n.into()), ..Selection::default() };
        for (selection, want) in [
            (Selection::default(), &["a", "b", "c"][..]),
            (labelled("x"), &["a", "b"]),
            (labelled("x notin (1)"), &["b", "c"]),
            (in_namespace("n"), &["a", "b", "c"]),
            (in_namespace("m"), &[]),
        ] {
            let names: Vec<String> =
                tested.cache.list(&selection).iter().map(|v| v.object.name().name.to_string()).collect();
            assert_eq!(names, want, "{selection:?}");
        }
    }
}
