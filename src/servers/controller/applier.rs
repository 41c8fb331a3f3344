//! Carries a plan out: the one place where the controller writes.
//!
//! Updates and deletions name the version that was planned with, so that a write that comes too late changes nothing. The copy
//! learns of each write at once.

use std::sync::Arc;

use kube::Client;
use roster_engine::{
    model::{EndpointSlice, Endpoints, ObjectMeta, Resource, installed::CONTROLLER, names},
    state::{EndpointsAction, Plan, SliceChanges},
};
use serde::Deserialize;

use super::{
    apply_error::{ApplyError, Attempt, Failure},
    cluster_copy::ClusterCopy,
    permissions::watched,
    queue::ServiceKey,
    service_input::ServiceInput,
};
use crate::kube_api::{WriteError, WriteOutcome, Writer};

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
                let outcome = writer.create(&object).await;
                self.written(key, Attempt::CreateEndpoints, outcome, |written| self.copy.wrote(written))
            }
            EndpointsAction::Update(object) => {
                let outcome = writer.replace(name, &object).await;
                self.written(key, Attempt::UpdateEndpoints, outcome, |written| self.copy.wrote(written))
            }
            EndpointsAction::Delete => {
                let Some(stored) = &input.endpoints else { return Ok(()) };
                let outcome = writer.delete(name, &stored.meta.uid, &stored.meta.resource_version).await;
                self.deleted(key, Attempt::DeleteEndpoints, outcome, || self.copy.deleted(&**stored))
            }
        }
    }

    /// Creates, updates, then deletes, and ends with the first error, as the reference does.
    async fn slices(&self, key: &ServiceKey, input: &ServiceInput, changes: SliceChanges) -> Result<(), ApplyError> {
        let writer: Writer<EndpointSlice> = self.writer(Resource::EndpointSlice, key);
        for mut slice in changes.create {
            slice.meta.namespace = key.namespace.clone();
            let outcome = writer.create(&slice).await;
            self.written(key, Attempt::CreateSlice, outcome, |written| self.copy.wrote(written))?;
        }
        for mut slice in changes.update {
            let name = slice.meta.name.clone();
            let stored = input.slice(&name);
            // One that takes the place of another has no version of its own.
            if let Some(stored) = stored {
                replaces(&mut slice.meta, &stored.meta);
            }
            if stored == Some(&slice) {
                continue;
            }
            let outcome = writer.replace(&name, &slice).await;
            self.written(key, Attempt::UpdateSlice(name), outcome, |written| self.copy.wrote(written))?;
        }
        for name in changes.delete {
            let Some(stored) = input.slice(&name) else { continue };
            let outcome = writer.delete(&name, &stored.meta.uid, &stored.meta.resource_version).await;
            self.deleted(key, Attempt::DeleteSlice(name), outcome, || self.copy.deleted(stored))?;
        }
        Ok(())
    }

    fn writer<K: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        resource: Resource,
        key: &ServiceKey,
    ) -> Writer<K> {
        Writer::new(self.client.clone(), resource, Some(&key.namespace), CONTROLLER)
    }

    fn written<K>(
        &self,
        key: &ServiceKey,
        attempt: Attempt,
        outcome: Result<WriteOutcome<K>, WriteError>,
        done: impl FnOnce(K),
    ) -> Result<(), ApplyError> {
        let failure = match outcome {
            Ok(WriteOutcome::Done(object)) => {
                done(object);
                return Ok(());
            }
            Ok(WriteOutcome::Conflict | WriteOutcome::Gone) => Failure::Late,
            // What is in a namespace that goes away goes with it.
            Err(error) if is_terminating(&error) => return Ok(()),
            Err(error) => Failure::Failed(Box::new(error)),
        };
        if !matches!(&failure, Failure::Failed(error) if !error.may_be_written()) {
            self.copy.doubt(key);
        }
        Err(ApplyError { key: key.clone(), attempt, failure })
    }

    fn deleted(
        &self,
        key: &ServiceKey,
        attempt: Attempt,
        outcome: Result<WriteOutcome<()>, WriteError>,
        gone: impl FnOnce(),
    ) -> Result<(), ApplyError> {
        let outcome = match outcome {
            Ok(WriteOutcome::Gone) => Ok(WriteOutcome::Done(())),
            outcome => outcome,
        };
        self.written(key, attempt, outcome, |()| gone())
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
        read.await.map_err(|error| ApplyError {
            key: key.clone(),
            attempt: Attempt::Read,
            failure: Failure::Failed(Box::new(error)),
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
