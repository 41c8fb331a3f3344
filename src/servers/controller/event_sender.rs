//! Sends Events. Nothing waits for them: if the API server is slow, those that are too many are lost.

use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::{
    api::core::v1::{Event as ApiEvent, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use kube::Client;
use roster_engine::{
    model::{ObjectRef, Resource, installed::CONTROLLER},
    profile::Profile,
    state::{Event, EventType},
};
use serde_json::json;
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    time::Instant,
};

use super::{
    announced_hints::AnnouncedHints,
    event_log::{EventLog, Said, Sent},
    queue::ServiceKey,
    service_input::ServiceInput,
};
use crate::{
    kube_api::{WriteError, WriteOutcome, Writer},
    runtime::clock::Clock,
};

/// How many Events wait to be sent (client-go: `maxQueuedEvents`).
const WAITING: usize = 1000;

/// Where Events are handed in.
#[derive(Clone, Debug)]
pub(super) struct Events {
    sender: Sender<Said>,
    hints: Arc<Mutex<AnnouncedHints>>,
}

impl Events {
    /// The Events of a plan, as far as they say something new.
    pub(super) fn say_planned(&self, events: Vec<Event>, key: &ServiceKey, input: &ServiceInput, profile: &Profile) {
        // A panic elsewhere leaves it whole.
        let mut hints = self.hints.lock().unwrap_or_else(PoisonError::into_inner);
        let news = hints.news(key, input.service.as_deref(), profile, events);
        drop(hints);
        for event in news {
            self.say(event, input);
        }
    }

    /// Another replica may say something from now on.
    pub(super) fn forget(&self) {
        *self.hints.lock().unwrap_or_else(PoisonError::into_inner) = AnnouncedHints::default();
    }

    /// An Event of a plan, or of its writes.
    pub(super) fn say(&self, event: Event, input: &ServiceInput) {
        let about = match event.object.kind.as_str() {
            "Service" => input.service.as_ref().map(|service| &service.meta),
            _ => input.endpoints.as_ref().map(|endpoints| &endpoints.meta),
        };
        let object = ObjectRef {
            kind: event.object.kind.clone(),
            namespace: event.object.namespace.clone(),
            name: event.object.name.clone(),
            uid: about.map(|meta| meta.uid.clone()).unwrap_or_default(),
            api_version: "v1".into(),
            resource_version: about.map(|meta| meta.resource_version.clone()).unwrap_or_default(),
            ..ObjectRef::default()
        };
        // Too many are lost, as in the reference.
        let _ = self.sender.try_send(Said { object, component: component(&event), event });
    }
}

/// The controller of the reference that sends such an Event.
fn component(event: &Event) -> &'static str {
    match (event.object.kind.as_str(), event.reason) {
        (_, "InvalidSelector" | "EndpointsNotOwn" | "EndpointsDrift" | "EndpointsHealed") => CONTROLLER,
        ("Service", _) => "endpoint-slice-controller",
        (_, "FailedToCreateEndpoint" | "FailedToUpdateEndpoint") => "endpoint-controller",
        _ => "endpoint-slice-mirroring-controller",
    }
}

/// Where Events are handed in, and what sends them.
pub(super) fn events(client: Client, clock: Clock) -> (Events, impl Future<Output = ()> + Send) {
    let (sender, waiting) = channel(WAITING);
    (Events { sender, hints: Arc::default() }, send_all(client, clock, waiting))
}

async fn send_all(client: Client, clock: Clock, mut waiting: Receiver<Said>) {
    let mut log = EventLog::default();
    while let Some(said) = waiting.recv().await {
        let Some(sent) = log.say(said, Instant::now()) else { continue };
        if let Err(error) = send(&client, &clock, &mut log, sent).await {
            tracing::warn!(%error, "an Event could not be sent");
        }
    }
}

async fn send(client: &Client, clock: &Clock, log: &mut EventLog, sent: Sent) -> Result<(), WriteError> {
    let namespace = match sent.said.object.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    };
    let writer: Writer<ApiEvent> = Writer::new(client.clone(), Resource::Event, Some(namespace), CONTROLLER);
    let now = clock.now();
    if let Some(name) = &sent.again {
        let message = &sent.said.event.message;
        let patch = json!({ "count": sent.count, "lastTimestamp": Time(now), "message": message });
        if !matches!(writer.merge(name, &patch).await?, WriteOutcome::Gone) {
            return Ok(());
        }
        log.gone(&sent.said);
    }
    let event = api_event(&sent.said, namespace, now);
    if let WriteOutcome::Done(event) = writer.create(&event).await? {
        log.created(&sent.said, event.metadata.name.unwrap_or_default());
    }
    Ok(())
}

fn api_event(said: &Said, namespace: &str, now: jiff::Timestamp) -> ApiEvent {
    let Said { object, component, event } = said;
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    ApiEvent {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}", object.name, now.as_nanosecond())),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            kind: text(&object.kind),
            namespace: text(&object.namespace),
            name: text(&object.name),
            uid: text(&object.uid),
            api_version: text(&object.api_version),
            resource_version: text(&object.resource_version),
            ..ObjectReference::default()
        },
        reason: text(event.reason),
        message: text(&event.message),
        type_: Some(match event.kind {
            EventType::Normal => "Normal".to_owned(),
            EventType::Warning => "Warning".to_owned(),
        }),
        source: Some(EventSource { component: text(component), host: None }),
        reporting_component: text(component),
        reporting_instance: Some(String::new()),
        count: Some(1),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        ..ApiEvent::default()
    }
}
