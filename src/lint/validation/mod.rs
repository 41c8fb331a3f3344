//! What an API server refuses of a manifest: unknown fields, values of another type, values that it does not allow
//!
//! ```text
//! object ─► object_type   (api_kinds: what Kubernetes has)
//!        ─► schema_walk   (fields.json.gz: names and types of Kubernetes' published schemas)         ─┐
//!        ─► object_meta, owners   (names, labels, owners and finalizers)                             ─┤
//!        ─► service, endpoints, endpoint_slice, workload_spec, pod_spec, pod  (values, by the kind)  ─┴─► findings
//! ```
//!
//! The fields are checked of kinds that Roster reads, in the versions of the newest release. A field of an older or newer
//! release is unknown here as it is there.

mod addresses;
mod api_kinds;
mod claims;
mod cron;
mod endpoint_slice;
mod endpoints;
mod faults;
mod field;
mod metrics;
mod object_meta;
mod object_type;
mod owners;
mod pod;
mod pod_spec;
mod schema;
mod schema_walk;
mod service;
mod service_addresses;
mod values;
mod workload_spec;

use serde_json::value::RawValue;

use crate::{
    engine::reason::Finding,
    model::{ObjectKey, json::pointer::Pointer},
};
pub use claims::{Claim, claims};
use faults::Faults;
pub use schema::Schemas;

/// Most errors about one object, and most warnings.
const MAX_FAULTS: usize = 100;

/// What a validation found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    /// What an API server would refuse, with JSON pointers to the fields; errors first.
    pub findings: Vec<Finding>,
    /// The numbers of findings over a limit, by code.
    pub more: Vec<Finding>,
    /// Whether the fields were checked: Roster has schemas of the kinds that it reads.
    pub has_schema: bool,
}

/// What an API server would refuse of an object. Nothing is found in text that is not valid JSON.
pub fn check(object: &RawValue, key: &ObjectKey) -> Validation {
    let schemas = Schemas::published();
    let Some(meta) = values::TypeMeta::read(object) else { return Validation::default() };
    let mut faults = Faults::new(key, MAX_FAULTS);
    let root = object_type::check(object, &meta, schemas, &mut faults);
    if let Some(root) = root {
        schema_walk::walk(object, schemas, root, &mut faults);
        object_meta::check(object, &meta.kind, &mut faults);
        check_kind(object, &meta, &mut faults);
    }
    let (findings, more) = faults.into_findings();
    Validation { findings, more, has_schema: root.is_some() }
}

/// Checks the values that only objects of this kind have.
fn check_kind(object: &RawValue, meta: &values::TypeMeta, faults: &mut Faults<'_>) {
    let kind = meta.kind.as_str();
    let Ok(value) = serde_json::from_str(object.get()) else { return };
    owners::check(&value, kind, faults);
    if kind == "Service" {
        let Some(spec) = service::ServiceSpec::read(object) else { return };
        let root = Pointer::At("/spec");
        service::check(&spec, &root, faults);
        return service_addresses::check(&spec, &root, faults);
    }
    match kind {
        "Endpoints" => endpoints::check(&value, faults),
        "EndpointSlice" => endpoint_slice::check(&value, faults),
        _ => {
            pod_spec::check(&value, kind, faults);
            workload_spec::check(object, kind, faults);
            if kind == "HorizontalPodAutoscaler" && meta.api_version == "autoscaling/v2" {
                metrics::check(&value, faults);
            }
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod workload_tests;
