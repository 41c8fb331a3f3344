//! Which Events are sent for what is to be said, as client-go has it (`tools/record/events_cache.go`): an equal Event counts one
//! more, many similar ones become one, and an object that is written about all the time is written about seldom.

use std::{collections::HashMap, hash::BuildHasher, time::Duration};

use roster_engine::{
    model::{HashSeed, ObjectRef},
    state::{Event, EventType},
};
use tokio::time::Instant;

/// The number of similar Events within this time from which on they are combined.
const SIMILAR: u32 = 10;
const SIMILAR_FOR: Duration = Duration::from_mins(10);
/// How many Events about an object are sent at once, and the time after which it may have one more.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_mins(5);
/// How many objects and Events are remembered.
const REMEMBERED: usize = 4096;

/// An Event about an object, and the controller that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) object: ObjectRef,
    pub(super) component: &'static str,
    pub(super) event: Event,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) said: Said,
    /// The name of an Event that was sent before and counts more now.
    pub(super) again: Option<String>,
    pub(super) count: u32,
}

/// What was sent.
///
/// Objects and Events are known by their hashes: thousands of them, written out, would take megabytes. If two have one hash, they
/// count as one.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    seed: HashSeed,
    /// By object and controller, how many more may be sent, and since when.
    tokens: HashMap<u64, (u32, Instant), HashSeed>,
    /// By everything but the message, the messages and when the last one was.
    similar: HashMap<u64, (Vec<u64>, Instant), HashSeed>,
    /// The name and the count of each Event.
    sent: HashMap<u64, (Box<str>, u32), HashSeed>,
}

impl EventLog {
    /// What is sent for an Event; `None`: nothing.
    pub(super) fn say(&mut self, mut said: Said, now: Instant) -> Option<Sent> {
        forget_all_if_full(&mut self.tokens);
        forget_all_if_full(&mut self.similar);
        forget_all_if_full(&mut self.sent);
        if self.is_similar_to_many(&said, now) {
            said.event.message = format!("(combined from similar events): {}", said.event.message);
        }
        if !self.take_token(&said, now) {
            return None;
        }
        let key = self.key(&said);
        let (again, count) = match self.sent.get_mut(&key) {
            Some((name, count)) => {
                *count += 1;
                (Some(name.to_string()), *count)
            }
            None => (None, 1),
        };
        Some(Sent { said, again, count })
    }

    /// An Event was created with this name.
    pub(super) fn created(&mut self, said: &Said, name: String) {
        let key = self.key(said);
        self.sent.insert(key, (name.into(), 1));
    }

    /// An Event that was sent before is gone: it is created anew.
    pub(super) fn gone(&mut self, said: &Said) {
        let key = self.key(said);
        self.sent.remove(&key);
    }

    /// Combined Events are one, whatever their message.
    fn key(&self, said: &Said) -> u64 {
        let is_combined = said.event.message.starts_with("(combined from similar events): ");
        self.hash_of(said, Some(said.event.message.as_str()).filter(|_| !is_combined))
    }

    /// The hash of an Event, with or without a message.
    fn hash_of(&self, said: &Said, message: Option<&str>) -> u64 {
        let is_warning = said.event.kind == EventType::Warning;
        self.seed.hash_one((self.object_of(said), is_warning, said.event.reason, message))
    }

    /// The hash of an object, whatever its version, and of the controller.
    fn object_of(&self, said: &Said) -> u64 {
        let object = ObjectRef { resource_version: "".into(), ..said.object.clone() };
        self.seed.hash_one((said.component, object))
    }

    fn is_similar_to_many(&mut self, said: &Said, now: Instant) -> bool {
        let (similar, message) = (self.hash_of(said, None), self.seed.hash_one(&said.event.message));
        let (messages, last) = self.similar.entry(similar).or_insert_with(|| (Vec::new(), now));
        if now.duration_since(*last) > SIMILAR_FOR {
            messages.clear();
        }
        *last = now;
        if messages.len() < SIMILAR as usize && !messages.contains(&message) {
            messages.push(message);
        }
        messages.len() >= SIMILAR as usize
    }

    fn take_token(&mut self, said: &Said, now: Instant) -> bool {
        let object = self.object_of(said);
        let (left, since) = self.tokens.entry(object).or_insert((BURST, now));
        let refilled = u32::try_from(now.duration_since(*since).as_secs() / REFILL.as_secs()).unwrap_or(u32::MAX);
        if refilled > 0 {
            *left = left.saturating_add(refilled).min(BURST);
            *since += REFILL * refilled;
        }
        let has_one = *left > 0;
        *left = left.saturating_sub(1);
        has_one
    }
}

fn forget_all_if_full<K, V>(map: &mut HashMap<K, V, HashSeed>) {
    if map.len() >= REMEMBERED {
        map.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Said {
        let object = ObjectRef { kind: "Service".into(), name: "web".into(), ..ObjectRef::default() };
        let event = Event {
            kind: EventType::Warning,
            reason: "FailedToUpdateEndpointSlices",
            message: message.to_owned(),
            object: roster_engine::model::ObjectKey::default(),
        };
        Said { object, component: "endpoint-slice-controller", event }
    }

    fn sent(log: &mut EventLog, message: &str, now: Instant) -> Option<(Option<String>, u32, String)> {
        let sent = log.say(said(message), now)?;
        if sent.again.is_none() {
            log.created(&sent.said, format!("web.{message}"));
        }
        Some((sent.again, sent.count, sent.said.event.message))
    }

    #[test]
    fn an_equal_event_counts_one_more() {
        let (mut log, now) = (EventLog::default(), Instant::now());
        assert_eq!(sent(&mut log, "a", now), Some((None, 1, "a".into())));
        assert_eq!(sent(&mut log, "a", now), Some((Some("web.a".into()), 2, "a".into())));
        assert_eq!(sent(&mut log, "b", now), Some((None, 1, "b".into())));
        log.gone(&said("a"));
        assert_eq!(sent(&mut log, "a", now), Some((None, 1, "a".into())));
    }

    #[test]
    fn many_similar_events_become_one() {
        let (mut log, now) = (EventLog::default(), Instant::now());
        for n in 0..9 {
            assert_eq!(sent(&mut log, &n.to_string(), now).map(|s| s.0), Some(None));
        }
        let combined = |n: u32| format!("(combined from similar events): {n}");
        assert_eq!(sent(&mut log, "9", now), Some((None, 1, combined(9))));
        assert_eq!(sent(&mut log, "10", now).map(|s| (s.1, s.2)), Some((2, combined(10))));
        let later = now + SIMILAR_FOR + Duration::from_secs(1);
        assert_eq!(sent(&mut log, "11", later).map(|s| (s.1, s.2)), Some((1, "11".into())));
    }

    #[test]
    fn an_object_has_so_many_events_and_then_one_in_five_minutes() {
        let (mut log, now) = (EventLog::default(), Instant::now());
        let count = |log: &mut EventLog, now| (0..40).filter(|_| log.say(said("a"), now).is_some()).count();
        assert_eq!(count(&mut log, now), 25);
        assert_eq!(count(&mut log, now + Duration::from_mins(4)), 0);
        assert_eq!(count(&mut log, now + Duration::from_mins(11)), 2);
        assert_eq!(count(&mut log, now + Duration::from_hours(24)), 25);
    }
}
