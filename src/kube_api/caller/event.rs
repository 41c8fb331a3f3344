//! What a caller sees of a resource, and why not.

use http::StatusCode;
use kube::runtime::watcher::{self, Event};

use crate::kube_api::{failure_text, request_failure::watch_failure_text, watched_object::WatchedObject};

/// What a caller sees of a resource, as it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallerEvent {
    /// A list begins.
    Begins,
    /// The list has the object with this JSON.
    Listed(Box<str>),
    /// The list is complete: what it does not have is gone.
    Complete,
    /// The object was written.
    Applied(Box<str>),
    /// The object was deleted.
    Deleted {
        /// Empty for objects of the cluster.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The request failed. If the failure is final, no other event comes; otherwise the request is repeated.
    Failed(CallerFailure),
}

impl CallerEvent {
    /// An event of kube's watcher.
    pub(super) fn of(event: Event<WatchedObject>) -> Self {
        match event {
            Event::Init => Self::Begins,
            Event::InitApply(object) => Self::Listed(object.text),
            Event::InitDone => Self::Complete,
            Event::Apply(object) => Self::Applied(object.text),
            Event::Delete(object) => {
                let meta = kube::Resource::meta(&object);
                let [namespace, name] = [&meta.namespace, &meta.name].map(|text| text.clone().unwrap_or_default());
                Self::Deleted { namespace, name }
            }
        }
    }
}

/// Why a caller does not see something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallerFailure {
    /// The status of the answer, if there was one.
    pub(crate) code: Option<StatusCode>,
    /// In words, without anything of a body that is not Kubernetes' own.
    pub(crate) text: String,
}

impl CallerFailure {
    /// The failure of a request.
    pub(super) fn of(error: &kube::Error) -> Self {
        Self { code: code(error), text: failure_text(error) }
    }

    /// The failure of a watch.
    pub(super) fn of_watch(error: &watcher::Error) -> Self {
        let code = match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => code(error),
            watcher::Error::WatchError(status) => StatusCode::from_u16(status.code).ok(),
            watcher::Error::NoResourceVersion => None,
        };
        Self { code, text: watch_failure_text(error) }
    }

    /// Whether the same token will get the same answer.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.code, Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND))
    }
}

/// The status of an answer that is an error.
fn code(error: &kube::Error) -> Option<StatusCode> {
    let kube::Error::Api(status) = error else { return None };
    StatusCode::from_u16(status.code).ok()
}
