//! Carries a plan out: the one place where the controller writes.
//!
//! Updates and deletions name the version that was planned with, so that a write that comes too late changes nothing. The copy
//! learns of each write at once.

use std::{sync::Arc, time::Duration};

use kube::Client;
use roster_engine::{
    model::{EndpointSlice, Endpoints, ObjectMeta, Resource, names},
    state::{EndpointsAction, Plan, SliceChanges},
};
use serde::Deserialize;

use super::{cluster_copy::ClusterCopy, permissions::watched, queue::ServiceKey, service_input::ServiceInput};
use crate::kube_api::{WriteError, WriteOutcome, Writer};

/// The field manager of what the controller writes.
const MANAGER: &str = "roster-controller";

/// A write that has failed, in the words of the reference.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {why}")]
pub(super) struct ApplyError {
    doing: String,
    why: String,
    /// How long the API server wants to be left alone.
    pub(super) wait: Option<Duration>,
}

/// Writes for the controller.
pub(super) struct Applier {
    client: Client,
    copy: Arc<ClusterCopy>,
}

impl Applier {
    /// `client` repeats no request: a repeated creation would make a second object.
    pub(super) fn new(client: Client, copy: Arc<ClusterCopy>) -> Self {
        Self { client, copy }
    }

    /// Writes what a plan says. An error of one object does not keep the others from being written, as far as the reference
    /// writes them with another controller.
    pub(super) async fn apply(&self, key: &ServiceKey, input: &ServiceInput, plan: Plan) -> Vec<ApplyError> {
        let Plan { endpoints, endpoint_slices, .. } = plan;
        let (endpoints, slices) =
            tokio::join!(self.endpoints(key, input, endpoints), self.slices(key, input, endpoint_slices));
        [endpoints, slices].into_iter().filter_map(Result::err).collect()
    }

    async fn endpoints(
        &self,
        key: &ServiceKey,
        input: &ServiceInput,
        action: EndpointsAction,
    ) -> Result<(), ApplyError> {
        let writer: Writer<Endpoints> = self.writer(Resource::Endpoints, key);
        let ServiceKey { namespace, name } = key;
        match action {
            EndpointsAction::None => Ok(()),
            // The reference writes some objects at every sync, and the API server finds nothing new in them.
            EndpointsAction::Update(object) if input.endpoints.as_deref() == Some(&*object) => Ok(()),
            EndpointsAction::Create(mut object) => {
                object.meta.namespace = namespace.clone();
                let doing = || format!("failed to create endpoint for service {namespace}/{name}");
                self.done(key, doing, writer.create(&object).await, |written| self.copy.wrote(written))
            }
            EndpointsAction::Update(object) => {
                let doing = || format!("failed to update endpoint {namespace}/{name}");
                self.done(key, doing, writer.replace(name, &object).await, |written| self.copy.wrote(written))
            }
            EndpointsAction::Delete => {
                let Some(stored) = &input.endpoints else { return Ok(()) };
                let doing = || format!("failed to delete endpoint {namespace}/{name}");
                let outcome = writer.delete(name, &stored.meta.uid, &stored.meta.resource_version).await;
                self.deleted(key, doing, outcome, || self.copy.deleted(&**stored))
            }
        }
    }

    /// Creates, updates, then deletes, and ends with the first error, as the reference does.
    async fn slices(&self, key: &ServiceKey, input: &ServiceInput, changes: SliceChanges) -> Result<(), ApplyError> {
        let writer: Writer<EndpointSlice> = self.writer(Resource::EndpointSlice, key);
        let doing = |verb: &str, slice: &str| {
            let space = if slice.is_empty() { "" } else { " " };
            format!("failed to {verb} {slice}{space}EndpointSlice for Service {}/{}", key.namespace, key.name)
        };
        for mut slice in changes.create {
            slice.meta.namespace = key.namespace.clone();
            let outcome = writer.create(&slice).await;
            self.done(key, || doing("create", ""), outcome, |written| self.copy.wrote(written))?;
        }
        for mut slice in changes.update {
            // One that takes the place of another has no version of its own.
            if let Some(stored) = input.slice(&slice.meta.name) {
                replaces(&mut slice.meta, &stored.meta);
            }
            let name = slice.meta.name.clone();
            if input.slice(&name) == Some(&slice) {
                continue;
            }
            let outcome = writer.replace(&name, &slice).await;
            self.done(key, || doing("update", &name), outcome, |written| self.copy.wrote(written))?;
        }
        for name in changes.delete {
            let Some(stored) = input.slice(&name) else { continue };
            let outcome = writer.delete(&name, &stored.meta.uid, &stored.meta.resource_version).await;
            self.deleted(key, || doing("delete", &name), outcome, || self.copy.deleted(stored))?;
        }
        Ok(())
    }

    fn writer<K: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        resource: Resource,
        key: &ServiceKey,
    ) -> Writer<K> {
        Writer::new(self.client.clone(), resource, Some(&key.namespace), MANAGER)
    }

    fn done<K>(
        &self,
        key: &ServiceKey,
        doing: impl FnOnce() -> String,
        outcome: Result<WriteOutcome<K>, WriteError>,
        done: impl FnOnce(K),
    ) -> Result<(), ApplyError> {
        match outcome {
            Ok(WriteOutcome::Done(object)) => {
                done(object);
                Ok(())
            }
            Ok(WriteOutcome::Conflict | WriteOutcome::Gone) => {
                self.copy.doubt(key);
                Err(ApplyError { doing: doing(), why: "someone else has written it".to_owned(), wait: None })
            }
            // What is in a namespace that goes away goes with it.
            Err(error) if is_terminating(&error) => Ok(()),
            Err(error) => Err(self.failed(key, doing(), &error)),
        }
    }

    fn deleted(
        &self,
        key: &ServiceKey,
        doing: impl FnOnce() -> String,
        outcome: Result<WriteOutcome<()>, WriteError>,
        gone: impl FnOnce(),
    ) -> Result<(), ApplyError> {
        match outcome {
            Ok(WriteOutcome::Gone) => {
                gone();
                Ok(())
            }
            outcome => self.done(key, doing, outcome, |()| gone()),
        }
    }

    fn failed(&self, key: &ServiceKey, doing: String, error: &WriteError) -> ApplyError {
        if error.may_be_written() {
            self.copy.doubt(key);
        }
        let details = error.status().and_then(|status| status.details.as_ref());
        let wait = details.map(|details| Duration::from_secs(details.retry_after_seconds.into()));
        let why = error.status().map_or_else(|| error.to_string(), |status| status.message.clone());
        ApplyError { doing, why, wait }
    }

    /// Reads the objects of a Service from the API server, for the copy.
    pub(super) async fn read(&self, key: &ServiceKey) -> Result<(), ApplyError> {
        let read = async {
            let watches = |resource| watched(self.copy.controllers()).any(|watched| watched == resource);
            let endpoints = if watches(Resource::Endpoints) {
                self.writer::<Endpoints>(Resource::Endpoints, key).read(&key.name).await?
            } else {
                None
            };
            let slices = if watches(Resource::EndpointSlice) { self.list_slices(key).await? } else { Vec::new() };
            self.copy.read(key, endpoints, slices);
            Ok(())
        };
        read.await.map_err(|error: WriteError| {
            let doing = format!("failed to read the endpoints of Service {}/{}", key.namespace, key.name);
            self.failed(key, doing, &error)
        })
    }

    async fn list_slices(&self, key: &ServiceKey) -> Result<Vec<EndpointSlice>, WriteError> {
        #[derive(Deserialize)]
        struct List {
            items: Vec<EndpointSlice>,
        }
        let path = Resource::EndpointSlice.path(Some(&key.namespace));
        let query = format!("{path}?labelSelector={}%3D{}", names::SERVICE_NAME.replace('/', "%2F"), key.name);
        let request = http::Request::get(query).body(Vec::new()).map_err(kube::Error::HttpError)?;
        Ok(self.client.request::<List>(request).await?.items)
    }
}

/// Gives an object that replaces a stored one the version and the uid of that one.
fn replaces(meta: &mut ObjectMeta, stored: &ObjectMeta) {
    meta.resource_version = stored.resource_version.clone();
    meta.uid = stored.uid.clone();
}

/// Whether an object was not created because its namespace goes away, or is gone.
fn is_terminating(error: &WriteError) -> bool {
    error.status().is_some_and(|status| {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        status.code == 404 || causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
    })
}
