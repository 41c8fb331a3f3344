//! The objects of one resource as they are served, and their last events.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use super::{
    event_ring::{EventRing, Expired, RingEvent, SelectedEvent},
    raw_object::ObjectName,
    selection::Selection,
    served_object::ServedObject,
    versions::Versions,
};
use crate::engine::reason::Reason;

/// The objects of a resource, each with the version of its last change. Every change of what clients see is one event
/// with a version of its own; whatever leaves the text as it is makes no event.
#[derive(Debug, Default)]
pub(super) struct WatchCache {
    objects: BTreeMap<ObjectName, VersionedObject>,
    events: EventRing,
}

/// An object, and the version since which it is as it is.
#[derive(Clone, Debug)]
pub(super) struct VersionedObject {
    pub(super) version: u64,
    pub(super) object: Arc<ServedObject>,
}

/// Events that a watch sends next.
#[derive(Clone, Debug)]
pub(super) struct EventBatch {
    pub(super) events: Vec<SelectedEvent>,
    /// The version up to which all events were looked at.
    pub(super) version: u64,
}

impl WatchCache {
    /// Puts an object in place of the one of its name, or removes that one. Returns whether clients see a change.
    pub(super) fn apply(&mut self, name: ObjectName, object: Option<ServedObject>, versions: &mut Versions) -> bool {
        let before = self.objects.get(&name).map(|versioned| versioned.object.clone());
        let after = match (&before, object) {
            (None, None) => return false,
            (Some(before), Some(object)) if before.is_same(&object) => {
                if before.removals() != object.removals()
                    && let Some(versioned) = self.objects.get_mut(&name)
                {
                    versioned.object = Arc::new(object);
                }
                return false;
            }
            (_, object) => object.map(Arc::new),
        };
        let version = versions.next();
        match &after {
            Some(object) => self.objects.insert(name.clone(), VersionedObject { version, object: object.clone() }),
            None => self.objects.remove(&name),
        };
        self.events.push(RingEvent { version, name, before, after });
        true
    }

    /// Forgets the events so far: nobody has seen a state before `version`.
    pub(super) fn restart(&mut self, version: u64) {
        self.events.restart(version);
    }

    /// The objects of a selection, in the order of their names.
    pub(super) fn list(&self, selection: &Selection) -> Vec<VersionedObject> {
        let first = match &selection.namespace {
            Some(namespace) => Bound::Included(ObjectName::new(namespace.clone(), "")),
            None => Bound::Unbounded,
        };
        let in_namespace = |name: &ObjectName| selection.namespace.as_ref().is_none_or(|n| *n == name.namespace);
        let objects = self.objects.range((first, Bound::Unbounded)).take_while(|(name, _)| in_namespace(name));
        let matching = objects.filter(|(name, versioned)| selection.matches(name, &versioned.object));
        matching.map(|(_, versioned)| versioned.clone()).collect()
    }

    pub(super) fn get(&self, name: &ObjectName) -> Option<&VersionedObject> {
        self.objects.get(name)
    }

    /// What a watch of a selection sees after `version`, at most `most` events; `now` is the current version.
    pub(super) fn events_since(
        &self,
        version: u64,
        now: u64,
        selection: &Selection,
        most: usize,
    ) -> Result<EventBatch, Expired> {
        if version > now {
            return Err(Expired);
        }
        let mut events = Vec::new();
        for event in self.events.since(version)? {
            if events.len() == most {
                let version = events.last().map_or(version, |last: &SelectedEvent| last.version);
                return Ok(EventBatch { events, version });
            }
            events.extend(event.of(selection));
        }
        Ok(EventBatch { events, version: now })
    }

    /// How many endpoints of these objects clients do not see, for each reason.
    pub(super) fn removals(&self) -> BTreeMap<Reason, usize> {
        let mut sums = BTreeMap::new();
        for (reason, count) in self.objects.values().flat_map(|versioned| versioned.object.removals().iter()) {
            *sums.entry(reason).or_default() += count;
        }
        sums
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Resource,
        servers::edge::{event_ring::WatchEventType, raw_object::RawObject, selection::FieldTest},
    };

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
