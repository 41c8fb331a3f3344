//! What an API server refuses of a manifest: unknown fields, values of another type, values that it does not allow
//!
//! ```text
//! object ─► schema_walk  (fields.json.gz: names and types of Kubernetes' published schemas) ─┐
//!        ─► object_meta, service, pod_spec  (values)                                        ─┴─► findings
//! ```
//!
//! Only kinds that Roster reads are checked, in the versions of the newest release. A field of an older or newer release
//! is unknown here as it is there.

mod faults;
mod object_meta;
mod pod_spec;
mod schema;
mod schema_walk;
mod service;
mod values;

use serde_json::value::RawValue;

use crate::{engine::reason::Finding, model::ObjectKey};
use faults::Faults;
pub use schema::Schemas;

/// Most findings about one object.
const MAX_FAULTS: usize = 100;

/// What an API server would refuse of an object, with JSON pointers to the fields. Nothing is found in an object of a
/// kind or version without a schema, or whose text is not valid JSON.
pub fn check(object: &RawValue, key: &ObjectKey) -> Vec<Finding> {
    let schemas = Schemas::published();
    let Some(meta) = values::TypeMeta::read(object) else { return Vec::new() };
    let Some(root) = schemas.of_kind(&meta.api_version, &meta.kind) else { return Vec::new() };
    let mut faults = Faults::new(key, MAX_FAULTS);
    schema_walk::walk(object, schemas, root, &mut faults);
    object_meta::check(object, &meta.kind, &mut faults);
    if meta.kind == "Service" {
        service::check(object, &mut faults);
    }
    pod_spec::check(object, &meta.kind, &mut faults);
    faults.into_findings()
}
