//! The Endpoints controller: one Service, its pods, and the one object that lists them.
//!
//! Upstream: `pkg/controller/endpoint/endpoints_controller.go`, `syncService`.

mod findings;
mod labels;
mod pod_address;
mod pod_subsets;
mod port_blocks;
mod records;
pub mod truncate;

use crate::{
    membership,
    model::{EndpointAddress, EndpointSubset, Endpoints, ObjectMeta, ObjectRef, Service, names},
    record::Recorder,
    state::{EndpointsAction, SyncContext, SyncInput, SyncReport},
    subsets,
};

/// What the Endpoints controller does to one Service.
pub(crate) fn sync(input: &SyncInput<'_>, report: &mut SyncReport, recorder: &mut impl Recorder) -> EndpointsAction {
    let SyncInput { state, pods, context } = *input;
    let Some(service) = state.service else {
        return if state.endpoints.is_some() { EndpointsAction::Delete } else { EndpointsAction::None };
    };
    if !membership::serves(service, context.profile) {
        return EndpointsAction::None;
    }
    let mut made = match pod_subsets::pod_subsets(service, pods, context, report, recorder) {
        Ok(made) => made,
        Err(too_large) => {
            too_large.report(findings::OUTPUT, service.key(), report);
            records::too_large(service, pods, state.endpoints, recorder);
            return EndpointsAction::None;
        }
    };
    records::listed(&made, pods, recorder);
    let subsets = std::mem::take(&mut made.subsets);
    findings::of_service(service, &subsets, context, report);
    // An object without a resource version was never stored: the controller would create it.
    let stored = state.endpoints.filter(|e| !e.meta.resource_version.is_empty());
    if let Some(stored) = stored
        && is_current(stored, service, &subsets, context)
    {
        return EndpointsAction::None;
    }
    let mut object = Endpoints { meta: metadata(state.endpoints, service, context), subsets };
    let total = count(&object.subsets);
    if let Some(kept) = truncate::truncate(&mut object.subsets) {
        object.meta.annotations.insert(names::OVER_CAPACITY, truncate::TRUNCATED);
        findings::over_capacity(service, count(&object.subsets), total, report);
        records::truncated(&made, &kept, recorder);
    }
    match stored {
        Some(stored) => {
            findings::replaced(stored, context, report);
            EndpointsAction::Update(Box::new(object))
        }
        None => EndpointsAction::Create(Box::new(object)),
    }
}

/// Whether the stored object needs no write.
fn is_current(stored: &Endpoints, service: &Service, subsets: &[EndpointSubset], context: &SyncContext) -> bool {
    // This looks at the stored object: a truncated one has the annotation, and is never current.
    let capacity =
        count(&stored.subsets) <= truncate::CAPACITY && !stored.meta.annotations.contains_key(names::OVER_CAPACITY);
    capacity
        && labels::correct(&stored.meta.labels, &service.meta.labels, context.profile)
        && (same_subsets(&stored.subsets, subsets)
            // versions.md#e9: a stored object with another order or other subsets lists the same.
            || (context.profile.compare_repacked
                && subsets::repack(context.profile.hash, &stored.subsets).is_ok_and(|s| same_subsets(&s, subsets))))
}

/// Whether subsets are equal in list order, apart from the resource versions of their targets.
fn same_subsets(a: &[EndpointSubset], b: &[EndpointSubset]) -> bool {
    let same_address = |(a, b): (&EndpointAddress, &EndpointAddress)| {
        a.ip == b.ip
            && a.hostname == b.hostname
            && a.node_name == b.node_name
            && ObjectRef::same_targets(a.target_ref.as_deref(), b.target_ref.as_deref())
    };
    let same_addresses =
        |a: &[EndpointAddress], b: &[EndpointAddress]| a.len() == b.len() && a.iter().zip(b).all(same_address);
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.ports == b.ports
                && same_addresses(&a.addresses, &b.addresses)
                && same_addresses(&a.not_ready_addresses, &b.not_ready_addresses)
        })
}

/// Metadata of the object that is written: that of the stored one, with the labels and annotations of the controller.
fn metadata(stored: Option<&Endpoints>, service: &Service, context: &SyncContext) -> ObjectMeta {
    let mut meta = stored.map_or_else(
        || ObjectMeta {
            name: service.meta.name.clone(),
            namespace: service.meta.namespace.clone(),
            ..ObjectMeta::default()
        },
        |e| e.meta.clone(),
    );
    meta.labels = labels::desired(service, context.profile);
    context.set_trigger_time(&mut meta);
    meta.annotations.remove(names::OVER_CAPACITY);
    meta
}

fn count(subsets: &[EndpointSubset]) -> usize {
    subsets.iter().map(|s| s.addresses.len() + s.not_ready_addresses.len()).sum()
}
