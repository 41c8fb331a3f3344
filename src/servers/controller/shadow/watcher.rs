//! Looks at one Service after the other.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kube::Client;
use roster_engine::{
    compare::{Drift, drift},
    model::ObjectKey,
    state::{Event, EventType, Plan},
};
use tokio::{sync::Semaphore, time::Instant};

use super::{
    ShadowOptions,
    drift_book::{DriftBook, NamedDrifts},
    drift_report::sentence,
    fresh_input::fresh_input,
    shadow_class::ShadowClass,
};
use crate::{
    runtime::aside::aside,
    servers::controller::{
        applier::Applier,
        apply_error::ApplyError,
        cluster_copy::ClusterCopy,
        event_sender::Events,
        queue::{Cause, DueService, ServiceKey},
        service_input::{ServiceInput, is_written_by_controller},
    },
};

/// How many Services are read from the API server at the same time. All of them are to be read when a controller stops.
const READS: usize = 4;

/// The shadow: what it has found, and what it may do.
#[derive(Debug)]
pub(in super::super) struct Shadow {
    options: ShadowOptions,
    book: Mutex<DriftBook>,
    reads: Semaphore,
}

impl Shadow {
    pub(in super::super) fn new(options: ShadowOptions) -> Self {
        let book = Mutex::new(DriftBook::new(options.heal_after));
        Self { options, book, reads: Semaphore::new(READS) }
    }

    pub(super) fn book(&self) -> MutexGuard<'_, DriftBook> {
        // A panic elsewhere leaves at worst one Service without its differences, which the next look finds.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what does not count any more.
    pub(in super::super) fn sweep(&self) {
        self.book().sweep(Instant::now());
    }

    /// Compares a Service, and reads it from the API server if something is due.
    pub(in super::super) async fn look(
        &self,
        client: &Client,
        copy: &ClusterCopy,
        applier: &Applier,
        events: &Events,
        due: &DueService,
    ) -> Vec<ApplyError> {
        let key = &due.key;
        let (_, drifts) = compared(copy, &copy.input(key));
        let look = self.book().looked(key, &drifts, due.notice, Instant::now());
        let mut again = look.again;
        if look.is_due {
            let errors = self.confirm(client, copy, applier, events, key).await;
            if !errors.is_empty() {
                return errors;
            }
            again = self.book().again(key, Instant::now());
        }
        if let Some(again) = again {
            copy.wake_at(key, again);
        }
        Vec::new()
    }

    async fn confirm(
        &self,
        client: &Client,
        copy: &ClusterCopy,
        applier: &Applier,
        events: &Events,
        key: &ServiceKey,
    ) -> Vec<ApplyError> {
        // It is never closed.
        let _turn = self.reads.acquire().await;
        let input = match fresh_input(client, copy, applier, key).await {
            Ok(input) => input,
            Err(error) => return vec![error],
        };
        let (plan, drifts) = compared(copy, &input);
        let (named, heals) = self.book().confirm(key, &drifts, Instant::now());
        self.say(events, &input, key, &named);
        if !heals {
            return Vec::new();
        }
        let (errors, _) = applier.apply(key, &input, plan).await;
        if errors.is_empty() {
            self.book().healed(key, Instant::now());
            let message = format!("written, after {}", sentences(drifts.len(), self.options.heal_after));
            tracing::warn!(namespace = %key.namespace, service = %key.name, message, "a Service was healed");
            self.send(events, &input, key, EventType::Normal, "EndpointsHealed", message);
        }
        errors
    }

    fn say(&self, events: &Events, input: &ServiceInput, key: &ServiceKey, named: &[NamedDrifts]) {
        for named in named {
            let message = sentence(named);
            let (namespace, service) = (&key.namespace, &key.name);
            if named.class == ShadowClass::Unsettled {
                tracing::info!(%namespace, %service, message, "a Service is unsettled");
                continue;
            }
            tracing::warn!(%namespace, %service, message, "a Service is not as it should be");
            self.send(events, input, key, EventType::Warning, "EndpointsDrift", message);
        }
    }

    fn send(
        &self,
        events: &Events,
        input: &ServiceInput,
        key: &ServiceKey,
        kind: EventType,
        reason: &'static str,
        message: String,
    ) {
        if self.options.sends_events {
            let object = ObjectKey::new("Service", &key.namespace, &key.name);
            events.say(Event { kind, reason, message, object }, input);
        }
    }
}

fn sentences(differences: usize, after: Option<Duration>) -> String {
    format!("{differences} differences that were there for {} s", after.unwrap_or_default().as_secs_f32())
}

/// The plan of a Service, and what differs from it.
fn compared(copy: &ClusterCopy, input: &ServiceInput) -> (Plan, Vec<Drift>) {
    let is_left_over = input.service.is_none() && input.endpoints.as_deref().is_some_and(is_written_by_controller);
    let cause = if is_left_over { Cause::Leftover } else { Cause::Change };
    let compare = || {
        let (plan, _) = copy.plan_of(input, cause);
        let drifts = input.with_state(|state| drift(state, &plan));
        (plan, drifts)
    };
    if input.is_large() { aside(compare) } else { compare() }
}
