//! The table of kinds: which checks apply to which kind, on which operations.
//!
//! It drives dispatch, webhook configurations, permissions and documentation.

mod addresses;
mod endpoints;
mod object_check;
mod service;
mod slice;

use roster_engine::model::{Resource, Service};

use super::{
    Unreadable,
    decision::Decision,
    knowledge::Knowledge,
    request::{AdmissionRequest, Operation, Stage},
    settings::Settings,
};
use object_check::run;
pub use service::POD_RULES;
use slice::CheckedSlice;

/// A kind of object that the webhook reviews.
#[derive(Debug)]
pub struct AdmissionKind {
    /// The resource, in the version that the webhook asks for. With `matchPolicy: Equivalent`, an API server converts
    /// other versions to it.
    pub resource: Resource,
    /// The operations that the webhook reviews.
    pub operations: &'static [Operation],
    /// Whether the mutating webhook is registered for the kind.
    pub mutates: bool,
    checks: fn(&AdmissionRequest<'_>, Stage, &Settings, &dyn Knowledge) -> Result<Decision, String>,
}

/// All kinds that the webhook reviews.
pub const KINDS: [AdmissionKind; 3] = [
    AdmissionKind {
        resource: Resource::Service,
        operations: &[Operation::Create, Operation::Update],
        mutates: true,
        checks: run::<Service>,
    },
    AdmissionKind {
        resource: Resource::Endpoints,
        operations: &[Operation::Create, Operation::Update],
        mutates: true,
        checks: endpoints::run,
    },
    AdmissionKind {
        resource: Resource::EndpointSlice,
        operations: &[Operation::Create, Operation::Update],
        mutates: false,
        checks: run::<CheckedSlice>,
    },
];

impl AdmissionKind {
    /// The kind of a request; `None` if no rule applies to the request.
    pub fn of(request: &AdmissionRequest<'_>) -> Option<&'static Self> {
        let operation = request.operation?;
        if !request.sub_resource.is_empty() {
            return None;
        }
        KINDS.iter().find(|k| {
            k.resource.group() == request.group
                && k.resource.kind() == request.kind
                && k.resource.version() == request.version
                && k.operations.contains(&operation)
        })
    }

    pub(super) fn decide(
        &self,
        request: &AdmissionRequest<'_>,
        stage: Stage,
        settings: &Settings,
        cluster: &dyn Knowledge,
    ) -> Result<Decision, Unreadable> {
        (self.checks)(request, stage, settings, cluster)
            .map_err(|message| Unreadable { resource: self.resource, message })
    }
}
