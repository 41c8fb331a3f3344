//! A write that has failed, and what is said about it.

use std::{fmt, time::Duration};

use roster_engine::{
    model::{ObjectKey, Resource, Text},
    state::{Event, EventType},
};

use super::queue::ServiceKey;
use crate::kube_api::WriteError;

/// What was attempted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    CreateEndpoints,
    UpdateEndpoints,
    DeleteEndpoints,
    CreateSlice,
    UpdateSlice(Text),
    DeleteSlice(Text),
    /// To read the objects of the Service.
    Read,
}

/// Why it failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Someone else was quicker, which the next plan takes into account.
    Late,
    Failed(Box<WriteError>),
    /// This replica does not lead any more.
    NotLeading,
}

/// The longest wait that an answer may ask for.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// A failed attempt for a Service. The text is that of the reference.
#[derive(Debug, thiserror::Error)]
pub(super) struct ApplyError {
    pub(super) key: ServiceKey,
    pub(super) attempt: Attempt,
    pub(super) failure: Failure,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServiceKey { namespace, name } = &self.key;
        match &self.attempt {
            Attempt::CreateEndpoints => write!(f, "Failed to create endpoint for service {namespace}/{name}: ")?,
            Attempt::UpdateEndpoints => write!(f, "Failed to update endpoint {namespace}/{name}: ")?,
            Attempt::DeleteEndpoints => write!(f, "Failed to delete endpoint {namespace}/{name}: ")?,
            Attempt::Read => write!(f, "Failed to read what is stored for Service {namespace}/{name}: ")?,
            Attempt::CreateSlice | Attempt::UpdateSlice(_) | Attempt::DeleteSlice(_) => {
                write!(f, "Error updating Endpoint Slices for Service {namespace}/{name}: ")?;
                match &self.attempt {
                    Attempt::UpdateSlice(slice) => write!(f, "failed to update {slice} EndpointSlice")?,
                    Attempt::DeleteSlice(slice) => write!(f, "failed to delete {slice} EndpointSlice")?,
                    _ => write!(f, "failed to create EndpointSlice")?,
                }
                write!(f, " for Service {namespace}/{name}: ")?;
            }
        }
        match &self.failure {
            Failure::Late => f.write_str("someone else has written it"),
            Failure::NotLeading => f.write_str("another replica may lead"),
            Failure::Failed(error) => match error.status() {
                Some(status) => f.write_str(&status.message),
                None => error.fmt(f),
            },
        }
    }
}

impl ApplyError {
    /// How long the API server wants to be left alone.
    pub(super) fn wait(&self) -> Option<Duration> {
        let Failure::Failed(error) = &self.failure else { return None };
        let details = error.status()?.details.as_ref()?;
        Some(Duration::from_secs(details.retry_after_seconds.into()).min(LONGEST_WAIT))
    }

    /// Whether nobody has answered.
    pub(super) fn is_unanswered(&self) -> bool {
        matches!(&self.failure, Failure::Failed(error) if error.is_unanswered())
    }

    /// The Event that the reference sends.
    pub(super) fn event(&self) -> Option<Event> {
        let (reason, resource) = match (&self.failure, &self.attempt) {
            (Failure::Late | Failure::NotLeading, _) | (_, Attempt::DeleteEndpoints | Attempt::Read) => return None,
            (_, Attempt::CreateEndpoints) => ("FailedToCreateEndpoint", Resource::Endpoints),
            (_, Attempt::UpdateEndpoints) => ("FailedToUpdateEndpoint", Resource::Endpoints),
            _ => ("FailedToUpdateEndpointSlices", Resource::Service),
        };
        let object = ObjectKey::new(resource.kind(), &self.key.namespace, &self.key.name);
        Some(Event { kind: EventType::Warning, reason, message: self.to_string(), object })
    }
}

#[cfg(test)]
mod tests {
    use kube::core::response::Status;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_api_server_says_how_long_to_wait_and_not_for_ever() {
        for (seconds, want) in [(0, 0), (7, 7), (3600, 300)] {
            let status = json!({ "code": 429, "details": { "retryAfterSeconds": seconds } });
            let status: Status = serde_json::from_value(status).unwrap();
            let failure = Failure::Failed(Box::new(WriteError::Failed(kube::Error::Api(status.boxed()))));
            let key = ServiceKey { namespace: "shop".into(), name: "web".into() };
            let error = ApplyError { key, attempt: Attempt::CreateSlice, failure };
            assert_eq!(error.wait(), Some(Duration::from_secs(want)));
        }
    }

    #[test]
    fn an_event_says_what_the_reference_says() {
        let status = Status { message: "no".to_owned(), code: 403, ..Status::default() };
        let refused = || Failure::Failed(Box::new(WriteError::Failed(kube::Error::Api(status.clone().boxed()))));
        for (attempt, failure, want) in [
            (
                Attempt::CreateEndpoints,
                refused(),
                Some("FailedToCreateEndpoint Endpoints: Failed to create endpoint for service shop/web: no"),
            ),
            (
                Attempt::UpdateEndpoints,
                refused(),
                Some("FailedToUpdateEndpoint Endpoints: Failed to update endpoint shop/web: no"),
            ),
            (
                Attempt::CreateSlice,
                refused(),
                Some(
                    "FailedToUpdateEndpointSlices Service: Error updating Endpoint Slices for Service shop/web: \
                     failed to create EndpointSlice for Service shop/web: no",
                ),
            ),
            (
                Attempt::DeleteSlice("web-1".into()),
                refused(),
                Some(
                    "FailedToUpdateEndpointSlices Service: Error updating Endpoint Slices for Service shop/web: \
                     failed to delete web-1 EndpointSlice for Service shop/web: no",
                ),
            ),
            (Attempt::UpdateSlice("web-1".into()), Failure::Late, None),
            (Attempt::Read, refused(), None),
        ] {
            let key = ServiceKey { namespace: "shop".into(), name: "web".into() };
            let event = ApplyError { key, attempt, failure }.event();
            let said = event.map(|event| format!("{} {}: {}", event.reason, event.object.kind, event.message));
            assert_eq!(said.as_deref(), want);
        }
    }
}
