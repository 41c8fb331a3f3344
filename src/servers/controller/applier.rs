//! Carries a plan out: the one place where the controller writes.
//!
//! Updates and deletions name the version that was planned with, so that a write that comes too late changes nothing. The copy
//! learns of each write at once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use kube::Client;
use roster_engine::{
    model::{AddressType, EndpointSlice, Endpoints, ObjectMeta, Resource, Text, installed::CONTROLLER, names},
    state::{EndpointsAction, Plan, SliceChanges},
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::{
    apply_error::{ApplyError, Attempt, Failure},
    cluster_copy::ClusterCopy,
    metrics::{ControllerMetrics, SliceOperation},
    permissions::watches,
    queue::ServiceKey,
    service_input::ServiceInput,
    token_bucket::{TokenBucket, WriteRate},
    watched_value::Watched,
};
use crate::kube_api::{LeaseDeadline, WriteError, WriteOutcome, Writer, by_labels, by_name};

/// Lists, with their versions.
type StoredLists = (Option<(Vec<Endpoints>, String)>, Option<(Vec<EndpointSlice>, String)>);

/// Writes for the controller.
pub(super) struct Applier {
    client: Client,
    copy: Arc<ClusterCopy>,
    deadline: Option<LeaseDeadline>,
    metrics: ControllerMetrics,
    bucket: Option<Mutex<TokenBucket>>,
}

/// How many writes of a plan the API server has accepted.
type Accepted = AtomicUsize;

impl Applier {
    /// `client` repeats no request: a repeated creation would make a second object.
    pub(super) fn new(client: Client, copy: Arc<ClusterCopy>, deadline: Option<LeaseDeadline>) -> Self {
        Self { client, copy, deadline, metrics: ControllerMetrics::new(), bucket: None }
    }

    /// Counts what it writes there.
    pub(super) fn with_metrics(self, metrics: ControllerMetrics) -> Self {
        Self { metrics, ..self }
    }

    /// Sends no more requests than this.
    pub(super) fn with_rate(self, rate: Option<WriteRate>) -> Self {
        Self { bucket: rate.map(|rate| Mutex::new(TokenBucket::new(rate))), ..self }
    }

    /// Writes what a plan says. An error of one object does not keep the others from being written, as far as the reference
    /// writes them with another controller. Returns the errors, and how many writes the API server has accepted.
    pub(super) async fn apply(&self, key: &ServiceKey, input: &ServiceInput, plan: Plan) -> (Vec<ApplyError>, usize) {
        let Plan { endpoints, endpoint_slices, .. } = plan;
        let accepted = Accepted::default();
        let (endpoints, mut errors) = tokio::join!(
            self.endpoints(key, input, endpoints, &accepted),
            self.slices(key, input, endpoint_slices, &accepted)
        );
        errors.extend(endpoints.err());
        (errors, accepted.into_inner())
    }

    async fn endpoints(
        &self,
        key: &ServiceKey,
        input: &ServiceInput,
        action: EndpointsAction,
        accepted: &Accepted,
    ) -> Result<(), ApplyError> {
        let writer: Writer<Endpoints> = self.writer(Resource::Endpoints, key);
        let ServiceKey { namespace, name } = key;
        match action {
            EndpointsAction::None => Ok(()),
            // The reference writes some objects at every sync, and the API server finds nothing new in them.
            EndpointsAction::Update(object) if input.endpoints.as_deref() == Some(&*object) => Ok(()),
            EndpointsAction::Create(mut object) => {
                object.meta.namespace = namespace.clone();
                self.may_write(key, Attempt::CreateEndpoints).await?;
                let outcome = writer.create(&object).await;
                self.written(key, Attempt::CreateEndpoints, outcome, |written| self.wrote(written, accepted))
            }
            EndpointsAction::Update(object) => {
                self.may_write(key, Attempt::UpdateEndpoints).await?;
                let outcome = writer.replace(name, &object).await;
                self.written(key, Attempt::UpdateEndpoints, outcome, |written| self.wrote(written, accepted))
            }
            EndpointsAction::Delete => {
                let Some(stored) = &input.endpoints else { return Ok(()) };
                self.may_write(key, Attempt::DeleteEndpoints).await?;
                let outcome = writer.delete(name, &stored.meta.uid, &stored.meta.resource_version).await;
                self.deleted(key, Attempt::DeleteEndpoints, outcome, || self.gone(&**stored, accepted))
            }
        }
    }

    /// The reference writes the slices of each address type on their own, and mirrored ones by another controller: an error of
    /// one kind does not keep the others from being written.
    async fn slices(
        &self,
        key: &ServiceKey,
        input: &ServiceInput,
        changes: SliceChanges,
        accepted: &Accepted,
    ) -> Vec<ApplyError> {
        let mut errors = Vec::new();
        for changes in by_kind(changes, input) {
            errors.extend(self.slices_of_one_kind(key, input, changes, accepted).await.err());
        }
        errors
    }

    /// Creates, updates, then deletes, and ends with the first error, as the reference does.
    async fn slices_of_one_kind(
        &self,
        key: &ServiceKey,
        input: &ServiceInput,
        changes: SliceChanges,
        accepted: &Accepted,
    ) -> Result<(), ApplyError> {
        let writer: Writer<EndpointSlice> = self.writer(Resource::EndpointSlice, key);
        for mut slice in changes.create {
            slice.meta.namespace = key.namespace.clone();
            self.may_write(key, Attempt::CreateSlice).await?;
            let outcome = writer.create(&slice).await;
            self.written(key, Attempt::CreateSlice, outcome, |slice| {
                self.changed(&slice, SliceOperation::Create);
                self.wrote(slice, accepted);
            })?;
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
            self.may_write(key, Attempt::UpdateSlice(name.clone())).await?;
            let outcome = writer.replace(&name, &slice).await;
            self.written(key, Attempt::UpdateSlice(name), outcome, |slice| {
                self.changed(&slice, SliceOperation::Update);
                self.wrote(slice, accepted);
            })?;
        }
        for name in changes.delete {
            let Some(stored) = input.slice(&name) else { continue };
            self.may_write(key, Attempt::DeleteSlice(name.clone())).await?;
            let outcome = writer.delete(&name, &stored.meta.uid, &stored.meta.resource_version).await;
            self.deleted(key, Attempt::DeleteSlice(name), outcome, || {
                self.changed(stored, SliceOperation::Delete);
                self.gone(stored, accepted);
            })?;
        }
        Ok(())
    }

    fn wrote<T: Watched>(&self, object: T, accepted: &Accepted) {
        accepted.fetch_add(1, Ordering::Relaxed);
        self.copy.wrote(object);
    }

    fn gone<T: Watched>(&self, object: &T, accepted: &Accepted) {
        accepted.fetch_add(1, Ordering::Relaxed);
        self.copy.deleted(object);
    }

    fn changed(&self, slice: &EndpointSlice, operation: SliceOperation) {
        self.metrics.changed(slice.managed_by().map(Text::as_str), operation);
    }

    /// Waits for its turn, if there is a limit.
    async fn turn(&self) {
        if let Some(bucket) = &self.bucket {
            let wait = bucket.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
            sleep(wait).await;
        }
    }

    /// Whether this replica still leads. It may have stood still since it began, or waited for its turn.
    async fn may_write(&self, key: &ServiceKey, attempt: Attempt) -> Result<(), ApplyError> {
        self.turn().await;
        if self.deadline.as_ref().is_none_or(LeaseDeadline::is_ahead) {
            return Ok(());
        }
        Err(ApplyError { key: key.clone(), attempt, failure: Failure::NotLeading })
    }

    /// A writer of objects in the namespace of a Service.
    pub(super) fn writer<K: DeserializeOwned>(&self, resource: Resource, key: &ServiceKey) -> Writer<K> {
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
        let (endpoints, slices) = self.stored(key).await?;
        self.copy.read(key, endpoints, slices);
        Ok(())
    }

    /// The Endpoints and the slices of a Service as the API server stores them, and the versions of these lists; `None`: they are not
    /// watched.
    pub(super) async fn stored(&self, key: &ServiceKey) -> Result<StoredLists, ApplyError> {
        let read = async {
            self.turn().await;
            let watches = |resource| watches(self.copy.controllers(), resource);
            let (mut endpoints, mut slices) = (None, None);
            if watches(Resource::Endpoints) {
                let query = by_name(&key.name);
                endpoints = Some(self.writer::<Endpoints>(Resource::Endpoints, key).list(&query).await?);
            }
            if watches(Resource::EndpointSlice) {
                let query = by_labels([(names::SERVICE_NAME, key.name.as_str())]);
                slices = Some(self.writer::<EndpointSlice>(Resource::EndpointSlice, key).list(&query).await?);
            }
            Ok((endpoints, slices))
        };
        read.await.map_err(|error| ApplyError {
            key: key.clone(),
            attempt: Attempt::Read,
            failure: Failure::Failed(Box::new(error)),
        })
    }
}

/// The changes by the controller and the address type of the slices.
fn by_kind(changes: SliceChanges, input: &ServiceInput) -> Vec<SliceChanges> {
    let mut kinds: BTreeMap<(Option<Text>, AddressType), SliceChanges> = BTreeMap::new();
    let kind = |slice: &EndpointSlice| (slice.managed_by().cloned(), slice.address_type.clone());
    for slice in changes.create {
        kinds.entry(kind(&slice)).or_default().create.push(slice);
    }
    for slice in changes.update {
        kinds.entry(kind(&slice)).or_default().update.push(slice);
    }
    for name in changes.delete {
        if let Some(stored) = input.slice(&name) {
            kinds.entry(kind(stored)).or_default().delete.push(name);
        }
    }
    kinds.into_values().collect()
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
