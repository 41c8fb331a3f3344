//! The decoder for the bodies of plan requests and reviews.
//!
//! ```text
//! text ─ raw_fields: its shape, in one scan ─┬─ request ─► field_reader: object by object ─► the request and its findings,
//!                                            │                                               or the invalid fields
//!                                            └─ objects ─► decode::read
//! ```
//!
//! An invalid Service, setting or Endpoints object makes the request invalid. An invalid pod, node or slice becomes a
//! finding, and the others count.

mod field_reader;
mod raw_fields;
mod request_fields;
mod request_options;
mod review_request;
#[cfg(test)]
mod tests;
mod view_request;

use std::collections::HashSet;

pub use request_fields::{FieldError, FieldErrors, RequestBody, RequestError};
pub use review_request::{ReviewRequest, read_review};
pub use view_request::{ViewOptions, ViewRequest, ViewScheme, read_view};

use roster_engine::{
    model::{EndpointSlice, Endpoints, Nodes, ObjectKey, Pod},
    plan::PlanRequest,
    reason::{Finding, Reason},
};

use super::Source;
use crate::inventory::Findings;
use request_fields::{PLAN_FIELDS, RequestFields};

/// A valid plan request.
#[derive(Clone, Debug, Default)]
pub struct DecodedRequest {
    /// The state, and the options for its plan.
    pub request: PlanRequest,
    /// Findings about the objects of the request.
    pub problems: Findings,
}

/// Reads a JSON body, within the limits of `source`. The format and the byte limit of `source` are not used.
pub fn read(text: &str, source: &Source<'_>) -> Result<RequestBody<DecodedRequest>, RequestError> {
    let body = field_reader::read(text, source, &PLAN_FIELDS)?;
    Ok(body.map(|fields| {
        let mut request = DecodedRequest::from(fields);
        request.leave_out_foreign_endpoints();
        request
    }))
}

impl DecodedRequest {
    /// Removes Endpoints with another name: a controller reads Endpoints by the name of the Service.
    fn leave_out_foreign_endpoints(&mut self) {
        let Some(service) = self.request.service.as_ref().map(|s| &s.meta) else { return };
        let is_its_own = |e: &mut Endpoints| e.meta.name == service.name && e.meta.namespace == service.namespace;
        if let Some(foreign) = self.request.endpoints.take_if(|e| !is_its_own(e)) {
            let message = format!("these are not the Endpoints of Service {}/{}", service.namespace, service.name);
            self.problems.push(Finding::new(Reason::ForeignEndpoints, foreign.key(), message));
        }
    }
}

/// Keeps the last object of each name, as an API server has only one.
fn distinct<T>(objects: &mut Vec<T>, key: impl Fn(&T) -> ObjectKey, problems: &mut Findings) {
    let mut seen = HashSet::with_capacity(objects.len());
    let keep: Vec<bool> = objects
        .iter()
        .rev()
        .map(|object| {
            let key = key(object);
            // Objects without a name may be different ones.
            let is_last = key.name.is_empty() || seen.insert((key.namespace.clone(), key.name.clone()));
            if !is_last {
                problems.add(Reason::DuplicateObject.severity(), || Finding::duplicate(key));
            }
            is_last
        })
        .collect();
    if keep.contains(&false) {
        let mut keep = keep.into_iter().rev();
        objects.retain(|_| keep.next().unwrap_or(true));
    }
}

impl From<RequestFields<'_>> for DecodedRequest {
    fn from(found: RequestFields<'_>) -> Self {
        let RequestFields { mut objects, controllers, options, .. } = found;
        distinct(&mut objects.pods, Pod::key, &mut objects.problems);
        distinct(&mut objects.slices, EndpointSlice::key, &mut objects.problems);
        let assumptions: Vec<Finding> = objects.assumptions().collect();
        let request = PlanRequest {
            service: objects.services.pop(),
            pods: objects.pods,
            nodes: Nodes::new(objects.nodes),
            endpoints: objects.endpoints.pop(),
            endpoint_slices: objects.slices,
            // An empty list is as none: some generated clients send one for a field that is not set.
            controllers: controllers.filter(|named| !named.is_empty()),
            options: options.of_plan(),
        };
        objects.problems.extend(assumptions);
        Self { request, problems: objects.problems }
    }
}
