//! What an API server refuses of a manifest: unknown fields, values of another type, values that it does not allow.
//!
//! ```text
//! object ─► object_type   (api_kinds: what Kubernetes has)
//!        ─► schema_walk   (fields.json.gz: names and types of Kubernetes' published schemas)         ─┐
//!        ─► object_meta   (names, labels, owners and finalizers)                                     ─┤
//!        ─► service…, endpoints, endpoint_slice, node, ingress, disruption_budget,                    ─┤
//!           workload_spec, pod_spec  (values, by the kind)                                            ─┴─► findings
//!           workload_spec ─► rollout, job, cron_job, autoscaler, volume_claim
//!           pod_spec ─► pod
//! ```
//!
//! The fields are checked of kinds that Roster reads, in the versions of the newest release. A field of an older or newer
//! release is unknown here as it is there.

mod addresses;
mod api_kinds;
mod autoscaler;
mod claims;
mod cron;
mod cron_job;
mod disruption_budget;
mod endpoint_slice;
mod endpoints;
mod faults;
mod field;
mod ingress;
mod job;
mod job_policies;
mod labels;
mod name_form;
mod node;
mod object_meta;
mod object_type;
mod pod;
mod pod_spec;
mod rollout;
mod schema;
mod schema_walk;
mod service;
mod service_addresses;
mod service_annotations;
mod values;
mod volume_claim;
mod workload_spec;

use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

pub use claims::{Claim, claims};
use faults::Faults;
use field::Field;
pub use name_form::NameForm;
use roster_engine::{
    model::{
        ObjectKey,
        json::{path::PathEnd, pointer::Pointer, raw::has_uid},
    },
    reason::{Finding, Reason, Severity},
};
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
///
/// ```
/// use roster_engine::model::ObjectKey;
/// use serde_json::value::RawValue;
///
/// let service = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":[{"port":99999}]}}"#;
/// let found = roster_validation::check(serde_json::from_str::<&RawValue>(service)?, &ObjectKey::default());
/// assert_eq!(found.findings[0].pointer.as_deref(), Some("/spec/ports/0/port"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check(object: &RawValue, key: &ObjectKey) -> Validation {
    values::TypeMeta::read(object).map_or_else(Validation::default, |meta| check_as(object, key, &meta))
}

/// The same for an object of a type.
fn check_as(object: &RawValue, key: &ObjectKey, meta: &values::TypeMeta) -> Validation {
    let schemas = Schemas::published();
    let mut faults = Faults::new(key, MAX_FAULTS);
    let root = object_type::check(object, meta, schemas, &mut faults);
    if let Some(root) = root {
        schema_walk::walk(object, schemas, root, &mut faults);
        if let Ok(value) = serde_json::from_str(object.get()) {
            check_values(&Field::new(&value, Pointer::At("")), &meta.kind, &mut faults);
        }
    }
    let (findings, more) = faults.into_findings();
    Validation { findings, more, has_schema: root.is_some() }
}

/// Why an API server would not store an object that somebody creates, as errors. Which kinds it has depends on its release.
pub fn refusals(object: &RawValue, key: &ObjectKey) -> Vec<Finding> {
    as_refusals(check(object, key))
}

/// The same for an object whose place says of which type it is, if it does not say so itself.
pub fn refusals_as(object: &RawValue, key: &ObjectKey, api_version: &str, kind: &str) -> Vec<Finding> {
    let meta = values::TypeMeta::read(object).map(|meta| meta.or(api_version, kind));
    as_refusals(meta.map_or_else(Validation::default, |meta| check_as(object, key, &meta)))
}

fn as_refusals(Validation { findings, more, .. }: Validation) -> Vec<Finding> {
    let refused = findings.into_iter().chain(more).filter(|f| is_refusal(f) && f.code != Reason::UnknownKind);
    refused.map(|f| Finding { severity: Severity::Error, ..f }).collect()
}

/// Why an API server would not store an object that somebody writes, after webhooks have `changed` it; of an update, only what the
/// stored object does not have already. An object that was read from a cluster is stored there as it is.
pub fn refusals_of_write(
    written: &RawValue,
    changed: Option<&Value>,
    stored: Option<&RawValue>,
    key: &ObjectKey,
) -> Vec<Finding> {
    if is_recorded(written) {
        return Vec::new();
    }
    // A value that was read serializes.
    let changed = changed.and_then(|object| to_raw_value(object).ok());
    let of_stored = stored.map(|stored| refusals(stored, key)).unwrap_or_default();
    let mut found = refusals(changed.as_deref().unwrap_or(written), key);
    found.retain(|finding| !of_stored.contains(finding));
    found
}

/// Whether an object was read from a cluster: it has a uid, or a version other than that of no object.
fn is_recorded(object: &RawValue) -> bool {
    let is_version = |text: &str| !matches!(text, "" | "0");
    has_uid(object.get())
        || PathEnd::of(object.get().as_bytes(), &["metadata", "resourceVersion"])
            .text
            .is_some_and(|text| is_version(&text))
}

/// Whether an API server refuses an object with this finding. Names and ports are only warnings, because objects of a cluster may
/// date from another release.
pub fn is_refusal(finding: &Finding) -> bool {
    finding.severity == Severity::Error || matches!(finding.code, Reason::InvalidName | Reason::InvalidPort)
}

/// Checks the values of an object of the kind.
fn check_values(object: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    object_meta::check(&object.key("metadata"), kind, faults);
    match kind {
        "Service" => {
            let (root, field) = (Pointer::At("/spec"), object.key("spec"));
            let spec = field.read();
            service::check(&spec, &root, faults);
            service_addresses::check(&spec, &root, faults);
            service_annotations::check(object, faults);
            labels::check_labels(&field.key("selector"), faults);
        }
        "Endpoints" => endpoints::check(object, faults),
        "EndpointSlice" => endpoint_slice::check(object, faults),
        "Node" => node::check(object, faults),
        "Ingress" => ingress::check(object, faults),
        "PodDisruptionBudget" => disruption_budget::check(&object.key("spec"), faults),
        _ => {
            pod_spec::check(object, kind, faults);
            workload_spec::check(object, kind, faults);
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod workload_tests;
