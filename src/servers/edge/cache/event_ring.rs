//! The last events of a resource, for watches that go on from a version.

use std::{collections::VecDeque, sync::Arc};

use super::{raw_object::ObjectName, selection::Selection, served_object::ServedObject};

/// How many events are remembered. A client that reconnects after a minute at 50 changes a second finds its place.
const EVENTS: usize = 4096;
/// How much text the objects of these events may have that are not current any more.
const TEXT: usize = 16 << 20;

/// A change of an object. An object that did not exist before was added, and one that does not exist after was deleted.
#[derive(Clone, Debug)]
pub(crate) struct RingEvent {
    pub(crate) version: u64,
    pub(crate) name: ObjectName,
    pub(crate) before: Option<Arc<ServedObject>>,
    pub(crate) after: Option<Arc<ServedObject>>,
}

/// What a watch reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchEventType {
    Added,
    Modified,
    Deleted,
}

impl WatchEventType {
    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// An event as the watcher of a selection sees it.
#[derive(Clone, Debug)]
pub(crate) struct SelectedEvent {
    pub(crate) kind: WatchEventType,
    pub(crate) version: u64,
    pub(crate) object: Arc<ServedObject>,
}

/// The events that a version is too old for are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired;

/// A bounded list of events, in the order of their versions.
#[derive(Debug, Default)]
pub(super) struct EventRing {
    events: VecDeque<RingEvent>,
    /// All events after this version are there.
    floor: u64,
    text: usize,
}

impl RingEvent {
    /// What the watcher of a selection sees of it: an object that begins to match was added for it, and one that ceases to
    /// match was deleted.
    pub(crate) fn of(&self, selection: &Selection) -> Option<SelectedEvent> {
        let matching =
            |object: &Option<Arc<ServedObject>>| object.clone().filter(|object| selection.matches(&self.name, object));
        let (kind, object) = match (matching(&self.before), matching(&self.after)) {
            (None, Some(after)) => (WatchEventType::Added, after),
            (Some(_), Some(after)) => (WatchEventType::Modified, after),
            // As kube-apiserver, the last state that matched.
            (Some(before), None) => (WatchEventType::Deleted, before),
            (None, None) => return None,
        };
        Some(SelectedEvent { kind, version: self.version, object })
    }

    /// The text that only the ring holds.
    fn text(&self) -> usize {
        self.before.as_ref().map_or(0, |object| object.size())
    }
}

impl EventRing {
    /// Forgets all events, and returns them: watches can begin at `version`.
    pub(crate) fn restart(&mut self, version: u64) -> Vec<RingEvent> {
        std::mem::replace(self, Self { floor: version, ..Self::default() }).events.into()
    }

    /// Adds an event, and returns those that are forgotten: to free them may take longer than to take them out.
    pub(crate) fn push(&mut self, event: RingEvent) -> Vec<RingEvent> {
        self.text += event.text();
        self.events.push_back(event);
        let mut forgotten = Vec::new();
        while self.events.len() > EVENTS || self.text > TEXT {
            let Some(oldest) = self.events.pop_front() else { break };
            self.text -= oldest.text();
            self.floor = oldest.version;
            forgotten.push(oldest);
        }
        forgotten
    }

    /// The events after a version.
    pub(crate) fn since(&self, version: u64) -> Result<impl Iterator<Item = &RingEvent>, Expired> {
        if version < self.floor {
            return Err(Expired);
        }
        let first = self.events.partition_point(|event| event.version <= version);
        Ok(self.events.range(first..))
    }
}
