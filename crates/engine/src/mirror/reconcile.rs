//! The writes that make the stored slices contain what they should.

use std::collections::{BTreeMap, VecDeque};

use super::{
    current_slice::{is_copied, is_current},
    findings,
    slice_contents::{MirrorContents, SliceContent, slice_contents, slice_key},
};
use crate::{
    endpointslice::generate_name,
    model::{AddressType, EndpointSlice, Endpoints, Labels, ObjectMeta, OwnerReference, Text, names},
    reason::{Finding, Reason},
    state::{Event, EventType, SliceChanges, SyncContext, SyncReport},
};

/// What to write so that the stored slices contain the addresses of the Endpoints.
pub(super) fn reconcile(
    endpoints: &Endpoints,
    stored: &[&EndpointSlice],
    context: &SyncContext,
    report: &mut SyncReport,
) -> SliceChanges {
    let contents = match slice_contents(endpoints, context) {
        Ok(contents) => contents,
        Err(too_large) => {
            too_large.report(findings::OUTPUT, endpoints.key(), report);
            return SliceChanges { unchanged: names_of(stored), ..SliceChanges::default() };
        }
    };
    report_left_out(endpoints, &contents, context, report);
    findings::uncanonical(endpoints, &contents, context, report);
    findings::of_endpoints(endpoints, &contents, stored, context, report);
    let mut of_content: Vec<Vec<&EndpointSlice>> = contents.slices.iter().map(|_| Vec::new()).collect();
    // Slices with ports that the Endpoints no longer have.
    let mut others = Vec::new();
    for slice in stored {
        let key = slice_key(&slice.address_type, slice.ports.as_deref(), context.profile);
        match contents.places.get(&key) {
            Some(place) => of_content[*place].push(slice),
            None => others.push((key, *slice)),
        }
    }
    let mut writes = SliceWrites::default();
    for (content, stored) in contents.slices.iter().zip(of_content) {
        writes.one_key(endpoints, content, &stored, context, report);
    }
    // Stable: slices of one key stay in their order.
    others.sort_by(|(a, _), (b, _)| a.cmp(b));
    writes.delete.extend(others.into_iter().map(|(_, slice)| slice));
    writes.finish(endpoints)
}

/// Events and findings for addresses that are not mirrored.
fn report_left_out(endpoints: &Endpoints, contents: &MirrorContents, context: &SyncContext, report: &mut SyncReport) {
    let (invalid, skipped, max) = (contents.invalid, contents.skipped, context.per_subset);
    let mut add = |event, message: String, code, detail: String| {
        report.events.push(Event { kind: EventType::Warning, reason: event, message, object: endpoints.key() });
        report.problems.push(Finding::new(code, endpoints.key(), detail));
    };
    if invalid > 0 {
        let first: String = contents.first_invalid.chars().take(60).collect();
        add(
            "InvalidIPAddress",
            format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices"),
            Reason::MirrorInvalidAddress,
            format!("{invalid} not mirrored: {first:?} is not an IP address that {} reads", context.minor),
        );
    }
    if skipped > invalid {
        add(
            "TooManyAddressesToMirror",
            format!(
                "A max of {max} addresses can be mirrored to EndpointSlices per Endpoints subset. {skipped} addresses were skipped"
            ),
            Reason::MirrorTooManyAddresses,
            format!("{} addresses are over the {max} that may be mirrored of each subset", skipped - invalid),
        );
    }
}

/// The slices to write, before new ones reuse the names of deleted ones.
#[derive(Default)]
struct SliceWrites<'a> {
    create: Vec<EndpointSlice>,
    update: Vec<EndpointSlice>,
    delete: Vec<&'a EndpointSlice>,
    unchanged: Vec<Text>,
}

impl<'a> SliceWrites<'a> {
    /// `reconcileByPortMapping`: one slice per key, never more.
    fn one_key(
        &mut self,
        endpoints: &Endpoints,
        content: &SliceContent,
        stored: &[&'a EndpointSlice],
        context: &SyncContext,
        report: &mut SyncReport,
    ) {
        let (first, rest) = match stored.split_first() {
            Some(split) if !content.endpoints.is_empty() => (Some(*split.0), split.1),
            _ => (None, stored),
        };
        self.delete.extend(rest);
        if content.endpoints.is_empty() {
            return;
        }
        if let Some(first) = first {
            findings::of_slice(endpoints, content, first, context, report);
            if is_current(endpoints, content, first, context.profile) {
                self.unchanged.push(first.meta.name.clone());
                return;
            }
        }
        let slice = new_slice(endpoints, content, first.map(|s| &s.meta.name), context);
        if first.is_some() { self.update.push(slice) } else { self.create.push(slice) }
    }

    /// Lets new slices reuse the names of deleted ones (`recycleSlices`), as `finalize` then writes them.
    fn finish(mut self, endpoints: &Endpoints) -> SliceChanges {
        let mut gone: BTreeMap<&AddressType, VecDeque<&EndpointSlice>> = BTreeMap::new();
        for slice in self.delete {
            gone.entry(&slice.address_type).or_default().push_back(slice);
        }
        let mut create = Vec::with_capacity(self.create.len());
        for mut slice in self.create {
            // Upstream takes the first unnamed slice of its list instead of this one, and so loses one if both
            // families create and only the second deletes.
            match gone.get_mut(&slice.address_type).and_then(VecDeque::pop_front) {
                Some(reused) => {
                    slice.meta.name = reused.meta.name.clone();
                    self.update.push(slice);
                }
                None => create.push(slice),
            }
        }
        if endpoints.meta.deleting() {
            create.clear();
        }
        let delete = gone.into_values().flatten().map(|s| s.meta.name.clone()).collect();
        SliceChanges { create, update: self.update, delete, unchanged: self.unchanged }
    }
}

fn names_of(slices: &[&EndpointSlice]) -> Vec<Text> {
    slices.iter().map(|s| s.meta.name.clone()).collect()
}

/// The annotations of a mirrored slice.
fn copied_annotations(endpoints: &Endpoints) -> Labels {
    let mut copy = endpoints.meta.annotations.clone();
    copy.retain(|key, _| is_copied(key));
    copy
}

/// A slice with its content (`newEndpointSlice`), under the name of the stored slice that it replaces. Like upstream's,
/// it has no resource version.
fn new_slice(
    endpoints: &Endpoints,
    content: &SliceContent,
    name: Option<&Text>,
    context: &SyncContext,
) -> EndpointSlice {
    let meta = &endpoints.meta;
    let mut labels = meta.labels.clone();
    labels.insert(names::SERVICE_NAME, meta.name.clone());
    labels.insert(names::SLICE_MANAGED_BY, names::MIRROR_CONTROLLER);
    EndpointSlice {
        meta: ObjectMeta {
            name: name.cloned().unwrap_or_default(),
            generate_name: if name.is_none() { generate_name(&meta.name) } else { Text::default() },
            namespace: meta.namespace.clone(),
            labels,
            annotations: copied_annotations(endpoints),
            owner_references: vec![OwnerReference::controller("Endpoints", &meta.name, &meta.uid)],
            ..ObjectMeta::default()
        },
        address_type: content.address_type.clone(),
        endpoints: content.endpoints.iter().take(context.per_subset).cloned().collect(),
        ports: Some(content.ports.clone()),
    }
}
