//! `topology-mode: Auto` (`TopologyCache.AddHints`).

use std::collections::BTreeMap;

use crate::{
    model::{Endpoint, EndpointSlice, HintName, Hints, Text, ZoneShares},
    profile::HashKind,
};

use super::{
    super::draft::SliceDraft,
    allocation::{self, Allocation},
    traffic::is_ready,
};

const NODES: &str = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
const NO_ZONE: &str = "One or more endpoints do not have a zone specified";

/// Sets hints; or removes all of them, and returns why.
pub(super) fn apply(zones: Option<&ZoneShares>, draft: &mut SliceDraft<'_>, hash: HashKind) -> Result<(), String> {
    let answer = zones.ok_or_else(|| NODES.to_owned()).and_then(|zones| give(zones, draft, hash));
    if answer.is_err() {
        draft.remove_hints(hash);
    }
    answer
}

fn give(zones: &ZoneShares, draft: &mut SliceDraft<'_>, hash: HashKind) -> Result<(), String> {
    let allocations = allocation::allocate(zones.shares(), ready_endpoints(draft))?;
    let mut have = vec![0; allocations.len()];
    draft.move_to_update(hash, |slice| match hints_by_zone(slice, zones, &allocations, &have) {
        Some(counts) => {
            for (zone, count) in counts {
                have[zone] += count;
            }
            false
        }
        None => true,
    });
    for endpoint in draft.written().flat_map(|s| &mut s.endpoints).filter(|e| is_ready(e)) {
        let Some(zone) = endpoint.zone.clone().filter(|z| !z.is_empty()) else { return Err(NO_ZONE.to_owned()) };
        // A zone has no allocation if its nodes are not ready: its endpoints stay in it.
        if let Some(index) = zones.index(&zone) {
            have[index] += 1;
        }
        hint(endpoint, &zone);
    }
    let (mut giving, mut receiving) = allocation::moves(&allocations, &have);
    let mut to = 0;
    for endpoint in draft.written().flat_map(|s| &mut s.endpoints).filter(|e| is_ready(e)) {
        while receiving.get(to) == Some(&0) {
            to += 1;
        }
        if to == receiving.len() {
            break;
        }
        if let Some(from) = endpoint.zone.as_deref().and_then(|z| zones.index(z)).filter(|z| giving[*z] > 0) {
            hint(endpoint, zones.name(to));
            giving[from] -= 1;
            receiving[to] -= 1;
        }
    }
    Ok(())
}

fn hint(endpoint: &mut Endpoint, zone: &Text) {
    let hints = Hints { for_zones: vec![HintName { name: zone.clone() }], for_nodes: Vec::new() };
    endpoint.hints = Some(Box::new(hints));
}

fn ready_endpoints(draft: &SliceDraft<'_>) -> usize {
    draft.all().flat_map(|s| &s.endpoints).filter(|e| is_ready(e)).count()
}

/// How many endpoints an unchanged slice hints for each zone (`getHintsByZone`); `None` if it cannot stay as it is: a
/// ready endpoint has no hint, or a hint is for a zone that gets nothing, or with those before it the
/// slice gives a zone more than its maximum.
fn hints_by_zone(
    slice: &EndpointSlice,
    zones: &ZoneShares,
    allocations: &[Allocation],
    have: &[usize],
) -> Option<BTreeMap<usize, usize>> {
    let mut counts = BTreeMap::new();
    for endpoint in slice.endpoints.iter().filter(|e| is_ready(e)) {
        let hints = endpoint.hints.as_ref().filter(|h| !h.for_zones.is_empty())?;
        for zone in &hints.for_zones {
            *counts.entry(zones.index(&zone.name)?).or_default() += 1;
        }
    }
    counts.iter().all(|(&zone, count)| have[zone] + count <= allocations[zone].maximum).then_some(counts)
}
