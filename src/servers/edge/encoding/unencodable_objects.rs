//! Objects that cannot be written as protobuf: the error, the log and the metric.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use roster_engine::model::Resource;
use tokio::time::Instant;

use super::protobuf::UnencodableObject;
use crate::runtime::status_error::StatusError;
use crate::servers::edge::cache::{raw_object::ObjectName, watch_cache::VersionedObject};

/// The time between two log lines. Clients read again and again.
const EVERY: Duration = Duration::from_mins(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

/// Counts and logs reads that fail because of an object which cannot be written as protobuf. A clone counts into the same
/// metric.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnencodableObjects {
    reads: Family<KindLabels, Counter>,
    logged: Arc<Mutex<Option<Instant>>>,
}

impl UnencodableObjects {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Reads that failed because an object cannot be written as protobuf";
        registry.register("roster_edge_unencodable_reads", help, self.reads.clone());
    }

    /// Gives the metric a value.
    pub(crate) fn example(&self) {
        drop(self.reads.get_or_create(&KindLabels { kind: Resource::Service.plural() }));
    }

    /// Reports an object, and returns the error for the client. The whole read fails, as it does for a Go client that reads
    /// the same object as JSON. Without the object, a list would say that it was deleted, and kube-proxy would remove the rules
    /// of a Service; after an error, it keeps what it has.
    pub(crate) fn report(
        &self,
        resource: Resource,
        object: &VersionedObject,
        error: &UnencodableObject,
    ) -> StatusError {
        let (kind, ObjectName { namespace, name }) = (resource.kind(), object.object.name());
        self.reads.get_or_create(&KindLabels { kind: resource.plural() }).inc();
        if self.is_log_due() {
            // Without the value, which the error has.
            let field = error.field();
            tracing::error!(kind, %namespace, %name, field, "an object cannot be written as protobuf: reads of it fail");
        }
        let slash = if namespace.is_empty() { "" } else { "/" };
        StatusError::internal(format!("{kind} {namespace}{slash}{name} cannot be written as protobuf: {error}"))
    }

    fn is_log_due(&self) -> bool {
        let (mut logged, now) = (self.logged.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        let is_due = logged.is_none_or(|at| now.duration_since(at) >= EVERY);
        if is_due {
            *logged = Some(now);
        }
        is_due
    }
}
