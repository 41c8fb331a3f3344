//! From what the slices should hold to what is written.

use std::collections::{BTreeMap, VecDeque};

use super::{
    desired::{self, Key, Wanted},
    oddities,
    same::equal_beyond_identity,
};
use crate::{
    engine::{
        compat::Profile,
        endpointslice::{Identity, generate_name},
        reason::{Finding, Reason},
        state::{Context, Event, EventType, Report, SliceChanges},
    },
    model::{AddressType, EndpointSlice, Endpoints, Labels, ObjectMeta, OwnerReference, Text, names},
};

/// Labels of a slice that are not copied from the Endpoints.
const RESERVED: [&str; 2] = [names::SLICE_MANAGED_BY, names::SERVICE_NAME];

/// Makes the stored slices hold what the Endpoints say.
pub(super) fn reconcile(
    endpoints: &Endpoints,
    stored: &[&EndpointSlice],
    context: &Context,
    report: &mut Report,
) -> SliceChanges {
    let desired = match desired::desired(endpoints, context) {
        Ok(desired) => desired,
        Err(too_large) => {
            too_large.tell(desired::LISTS, endpoints.key(), report);
            return SliceChanges { unchanged: names_of(stored), ..SliceChanges::default() };
        }
    };
    tell_what_is_left_out(endpoints, &desired, context, report);
    oddities::uncanonical(endpoints, &desired, context, report);
    oddities::of_endpoints(endpoints, &desired, stored, context, report);
    let mut by_key: BTreeMap<Key, Vec<&EndpointSlice>> = BTreeMap::new();
    for slice in stored {
        by_key
            .entry(desired::key(&slice.address_type, slice.ports.as_deref(), context.profile))
            .or_default()
            .push(slice);
    }
    let mut work = Work::default();
    for (key, wanted) in desired.in_turn() {
        let stored = by_key.remove(key).unwrap_or_default();
        work.one_key(endpoints, &key.0, wanted, &stored, context, report);
    }
    // Ports that nobody wants any more.
    work.delete.extend(by_key.into_values().flatten());
    work.finish(endpoints)
}

fn tell_what_is_left_out(endpoints: &Endpoints, desired: &desired::Desired, context: &Context, report: &mut Report) {
    let (invalid, skipped, max) = (desired.invalid, desired.skipped, context.per_subset);
    let mut tell = |event, message: String, code, detail: String| {
        report.events.push(Event { kind: EventType::Warning, reason: event, message, object: endpoints.key() });
        report.problems.push(Finding::new(code, endpoints.key(), detail));
    };
    if invalid > 0 {
        let first: String = desired.first_invalid.chars().take(60).collect();
        tell(
            "InvalidIPAddress",
            format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices"),
            Reason::MirrorInvalidAddress,
            format!("{invalid} not mirrored: {first:?} is not an IP address that {} reads", context.minor),
        );
    }
    if skipped > invalid {
        tell(
            "TooManyAddressesToMirror",
            format!(
                "A max of {max} addresses can be mirrored to EndpointSlices per Endpoints subset. {skipped} addresses were skipped"
            ),
            Reason::MirrorTooManyAddresses,
            format!("{} addresses are over the {max} that may be mirrored of each subset", skipped - invalid),
        );
    }
}

/// Slices to be written, before deleted ones are reused.
#[derive(Default)]
struct Work<'a> {
    create: Vec<EndpointSlice>,
    update: Vec<EndpointSlice>,
    delete: Vec<&'a EndpointSlice>,
    unchanged: Vec<Text>,
}

impl<'a> Work<'a> {
    /// `reconcileByPortMapping`: one slice per key, never more.
    fn one_key(
        &mut self,
        endpoints: &Endpoints,
        address_type: &AddressType,
        wanted: &Wanted,
        stored: &[&'a EndpointSlice],
        context: &Context,
        report: &mut Report,
    ) {
        let (first, rest) = match stored.split_first() {
            Some(split) if !wanted.endpoints.is_empty() => (Some(*split.0), split.1),
            _ => (None, stored),
        };
        self.delete.extend(rest);
        if wanted.endpoints.is_empty() {
            return;
        }
        if let Some(first) = first {
            oddities::of_slice(endpoints, wanted, first, context, report);
            if is_current(endpoints, wanted, first, context.profile) {
                self.unchanged.push(first.meta.name.clone());
                return;
            }
        }
        let slice = new_slice(endpoints, address_type, wanted, first.map(|s| &s.meta.name), context);
        if first.is_some() { self.update.push(slice) } else { self.create.push(slice) }
    }

    /// `recycleSlices`, and what `finalize` then writes.
    fn finish(mut self, endpoints: &Endpoints) -> SliceChanges {
        let mut gone: BTreeMap<&AddressType, VecDeque<&EndpointSlice>> = BTreeMap::new();
        for slice in self.delete {
            gone.entry(&slice.address_type).or_default().push_back(slice);
        }
        let mut create = Vec::with_capacity(self.create.len());
        for mut slice in self.create {
            // Upstream takes the first unnamed slice from its list, not this one, and loses one where both
            // families create and only the second deletes. That helps nobody.
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

/// Whether a stored slice needs no write.
pub(super) fn is_current(endpoints: &Endpoints, wanted: &Wanted, slice: &EndpointSlice, profile: &Profile) -> bool {
    holds(wanted, slice, profile)
        && endpoints.meta.labels.iter().eq(slice.meta.labels.iter().filter(|(k, _)| !RESERVED.contains(&k.as_str())))
        && endpoints.meta.annotations.iter().filter(|(k, _)| is_copied(k)).eq(slice.meta.annotations.iter())
        && !(profile.mirror_compares_owner && has_dead_owner(endpoints, slice))
}

/// `totalChanges`: nothing to add, update or remove. Matches are counted, not distinct, as upstream has it:
/// an endpoint that is stored twice hides one that is not stored.
fn holds(wanted: &Wanted, slice: &EndpointSlice, profile: &Profile) -> bool {
    wanted.endpoints.len() == slice.endpoints.len()
        && slice.endpoints.iter().all(|e| wanted.find(e, profile).is_some_and(|w| equal_beyond_identity(w, e, profile)))
}

/// Whether [`holds`] is fooled by an endpoint that is stored twice.
pub(super) fn hides_an_endpoint(wanted: &Wanted, slice: &EndpointSlice, profile: &Profile) -> bool {
    if !holds(wanted, slice, profile) {
        return false;
    }
    let mut stored: Vec<Identity<'_>> = slice.endpoints.iter().map(|e| Identity::of(e, profile)).collect();
    stored.sort_unstable_by(Identity::order);
    stored.windows(2).any(|pair| pair[0].order(&pair[1]).is_eq())
}

/// Whether an owner is an Endpoints object of this name that is not this one (`needRebuildExistingSlices`).
pub(super) fn has_dead_owner(endpoints: &Endpoints, slice: &EndpointSlice) -> bool {
    let meta = &endpoints.meta;
    slice.meta.owner_references.iter().any(|o| o.kind == "Endpoints" && o.name == meta.name && o.uid != meta.uid)
}

/// Which of the labels that slices use for themselves the Endpoints carry.
pub(super) fn reserved_label(endpoints: &Endpoints) -> Option<&'static str> {
    RESERVED.into_iter().find(|key| endpoints.meta.labels.contains_key(key))
}

/// All annotations but the two that are about the Endpoints object itself.
fn copied_annotations(endpoints: &Endpoints) -> Labels {
    let mut copy = endpoints.meta.annotations.clone();
    copy.retain(|key, _| is_copied(key));
    copy
}

fn is_copied(annotation: &str) -> bool {
    annotation != names::TRIGGER_TIME && annotation != names::LAST_APPLIED
}

/// `newEndpointSlice`, filled; under the name of the stored slice that it replaces. It carries no
/// resource version, as upstream writes it.
fn new_slice(
    endpoints: &Endpoints,
    address_type: &AddressType,
    wanted: &Wanted,
    name: Option<&Text>,
    context: &Context,
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
        address_type: address_type.clone(),
        endpoints: wanted.endpoints.iter().take(context.per_subset).cloned().collect(),
        ports: Some(wanted.ports.clone()),
    }
}
