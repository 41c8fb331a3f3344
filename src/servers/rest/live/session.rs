//! One caller who follows a cluster: what the API server says becomes lines.
//!
//! Nothing is spawned. The watches are read when the next line is wanted, so that a client that reads slowly slows them down, and they end
//! with the response.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    time::Duration,
};

use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{BoxStream, SelectAll},
};
use roster_engine::{model::Resource, profile::Minor};
use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::{
    LiveLimits,
    live_objects::{LiveObjects, NotHeld},
    projection::RESOURCES,
};
use crate::{
    kube_api::{ByteBudget, Caller, CallerEvent, CallerFailure},
    runtime::places::Place,
};

/// How long changes are collected after the first one.
const SETTLE: Duration = Duration::from_millis(200);
/// The least time between two lines with changes.
const PACE: Duration = Duration::from_secs(1);
/// The longest time without a line.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// One caller who follows a cluster.
pub(super) struct LiveSession {
    events: SelectAll<BoxStream<'static, (Resource, CallerEvent)>>,
    objects: LiveObjects,
    /// The resources whose first list is neither complete nor refused.
    awaited: Vec<Resource>,
    unread: BTreeMap<Resource, CallerFailure>,
    unread_changed: bool,
    /// Whether the line with all objects was written.
    is_listed: bool,
    /// Since when changes wait.
    changed_at: Option<Instant>,
    changes_sent: Option<Instant>,
    line_sent: Instant,
    lists_end: Instant,
    ends: Instant,
    budget: ByteBudget,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The pieces of lines that are written and not taken yet.
    written: VecDeque<Bytes>,
    has_ended: bool,
    _place: Place,
}

/// A resource that the caller does not see, as a line names it.
#[derive(Serialize)]
struct UnreadResource<'a> {
    resource: &'static str,
    code: Option<u16>,
    why: &'a str,
}

impl LiveSession {
    /// Follows the objects in a namespace, or in all. The first line is written at once.
    #[expect(clippy::too_many_arguments, reason = "each is a part of the session, and none belongs to another")]
    pub(super) fn new(
        caller: &Caller,
        namespace: Option<&str>,
        release: Option<Minor>,
        objects: LiveObjects,
        budget: ByteBudget,
        limits: LiveLimits,
        stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
        place: Place,
    ) -> Self {
        let watch = |resource: Resource| caller.events(resource, namespace).map(move |event| (resource, event)).boxed();
        let now = Instant::now();
        let mut session = Self {
            events: RESOURCES.map(watch).into_iter().collect(),
            objects,
            awaited: RESOURCES.to_vec(),
            unread: BTreeMap::new(),
            unread_changed: false,
            is_listed: false,
            changed_at: None,
            changes_sent: None,
            line_sent: now,
            lists_end: now + limits.lists,
            ends: now + limits.lasts,
            budget,
            stopping,
            written: VecDeque::new(),
            has_ended: false,
            _place: place,
        };
        session.write([line(&json!({ "cluster": { "release": release } }))].into());
        session
    }

    /// The next piece of the response; `None` after the last line.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.written.pop_front() {
                return Some(piece);
            }
            if self.has_ended {
                return None;
            }
            self.wait().await;
        }
    }

    /// Waits for an event or a time, and writes what is due.
    async fn wait(&mut self) {
        let wake = self.next_time();
        tokio::select! {
            biased;
            () = &mut self.stopping => return self.end("stopping", "the server stops"),
            () = sleep_until(wake) => {}
            Some((resource, event)) = self.events.next() => self.take(resource, event),
        }
        if !self.has_ended {
            self.write_due(Instant::now());
        }
    }

    /// When something is to be written even if nothing happens.
    fn next_time(&self) -> Instant {
        let next = if self.is_listed { self.changes_due() } else { Some(self.lists_end) };
        [Some(self.line_sent + HEARTBEAT), Some(self.ends), next].into_iter().flatten().min().unwrap_or(self.ends)
    }

    /// When the changes are to be written, if there are any.
    fn changes_due(&self) -> Option<Instant> {
        let settled = self.changed_at? + SETTLE;
        Some(self.changes_sent.map_or(settled, |sent| settled.max(sent + PACE)))
    }

    fn take(&mut self, resource: Resource, event: CallerEvent) {
        match event {
            CallerEvent::Begins => self.objects.begin(resource),
            CallerEvent::Listed(object) | CallerEvent::Applied(object) => {
                if let Err(why) = self.objects.put(resource, &object) {
                    self.end_full(why);
                }
            }
            CallerEvent::Complete => {
                self.objects.complete(resource);
                self.awaited.retain(|awaited| *awaited != resource);
                self.unread_changed |= self.unread.remove(&resource).is_some();
            }
            CallerEvent::Deleted { namespace, name } => self.objects.delete(resource, namespace, name),
            CallerEvent::Failed(_) if self.budget.is_spent() => {
                self.end("size", "the API server has sent more than is read for one caller: choose a namespace");
            }
            CallerEvent::Failed(failure) => self.fail(resource, failure),
        }
        if self.changed_at.is_none() && (self.objects.have_changed() || self.unread_changed) {
            self.changed_at = Some(Instant::now());
        }
    }

    fn fail(&mut self, resource: Resource, failure: CallerFailure) {
        if failure.code.is_some_and(|code| code.as_u16() == 401) {
            return self.end("token", "the API server does not accept the token any more");
        }
        if failure.is_final() {
            self.objects.forget(resource);
            self.awaited.retain(|awaited| *awaited != resource);
        }
        self.unread_changed |= self.unread.get(&resource) != Some(&failure);
        self.unread.insert(resource, failure);
    }

    fn end_full(&mut self, why: NotHeld) {
        match why {
            NotHeld::TooMany => {
                self.end("size", "the objects are larger than what is held for one caller: choose a namespace");
            }
            NotHeld::NoMemory => self.end("busy", "other requests need the memory of the server"),
        }
    }

    fn write_due(&mut self, now: Instant) {
        if now >= self.ends {
            return self.end("time", "the time of the call is over");
        }
        if !self.is_listed {
            if self.awaited.is_empty() || now >= self.lists_end {
                self.write_list();
            }
        } else if self.changes_due().is_some_and(|due| now >= due) {
            (self.changed_at, self.changes_sent) = (None, Some(now));
            let unread = self.unread();
            let changes = self.objects.changes(&unread);
            self.write(changes);
        }
        if now >= self.line_sent + HEARTBEAT {
            self.write([Bytes::from_static(b"{}\n")].into());
        }
    }

    /// Writes all objects. A list that is not complete comes later, as changes.
    fn write_list(&mut self) {
        for resource in std::mem::take(&mut self.awaited) {
            let late = || CallerFailure { code: None, text: "no list in time".to_owned() };
            self.unread.entry(resource).or_insert_with(late);
        }
        (self.is_listed, self.changed_at, self.changes_sent) = (true, None, Some(Instant::now()));
        let unread = self.unread();
        let list = self.objects.list(&unread);
        self.write(list);
    }

    /// The field `unread`.
    fn unread(&mut self) -> String {
        self.unread_changed = false;
        let unread = self.unread.iter().map(|(resource, failure)| UnreadResource {
            resource: resource.plural(),
            code: failure.code.map(|code| code.as_u16()),
            why: &failure.text,
        });
        // Plain values always serialize.
        serde_json::to_string(&unread.collect::<Vec<_>>()).unwrap_or_default()
    }

    fn end(&mut self, code: &str, why: &str) {
        // What waits is not worth a line any more.
        self.has_ended = true;
        self.write([line(&json!({ "end": { "code": code, "why": why } }))].into());
    }

    fn write(&mut self, mut pieces: VecDeque<Bytes>) {
        self.line_sent = Instant::now();
        self.written.append(&mut pieces);
    }
}

fn line(value: &serde_json::Value) -> Bytes {
    format!("{value}\n").into()
}
