//! Endpoints → EndpointSlices, as the mirroring controller maps them, but without a controller as their writer.

use roster_engine::{
    mirror,
    model::{EndpointAddress, EndpointSlice, Endpoints, Text, names},
    reason::Reason,
};
use serde_json::{Value, value::RawValue};

use super::losses::Losses;

/// Most endpoints of a slice that an API server accepts.
const MAX_ENDPOINTS: usize = 1000;
/// The writer of the slices. The mirroring controller would delete slices that carry its name.
const MANAGED_BY: &str = "roster-convert";
/// Longest name of an object, with room for a number.
const MAX_NAME: usize = 253 - 8;

/// The slices of an Endpoints object.
pub(super) fn from_endpoints(raw: &RawValue, losses: &mut Losses) -> Result<Vec<EndpointSlice>, String> {
    let mut endpoints: Endpoints = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    let source: Value = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    losses.add_unread(&source, &serde_json::to_value(&endpoints).map_err(|e| e.to_string())?);
    note_differing_twins(&endpoints, losses);
    if !endpoints.meta.finalizers.is_empty() {
        losses.add("metadata.finalizers", "finalizers of Endpoints do not apply to the slices");
    }
    // An API server sets the protocol of Endpoints (`SetDefaults_Endpoints`), and refuses slices without one.
    for port in endpoints.subsets.iter_mut().flat_map(|s| &mut s.ports).filter(|p| p.protocol.is_empty()) {
        port.protocol = Text::new_static("TCP");
    }
    // The mirroring controller does not map an object that is being deleted; a conversion does.
    endpoints.meta.deletion_timestamp = None;
    let (slices, report) = mirror::mapped(&endpoints);
    if let Some(error) = report.errors.first() {
        return Err(error.clone());
    }
    for problem in report.problems {
        if problem.code == Reason::MirrorInvalidAddress {
            losses.add("subsets", &problem.message);
        }
    }
    Ok(with_own_metadata(&endpoints, slices))
}

/// Gives the slices names and labels without a controller, and splits those with too many endpoints.
fn with_own_metadata(endpoints: &Endpoints, slices: Vec<EndpointSlice>) -> Vec<EndpointSlice> {
    let mut out: Vec<EndpointSlice> = Vec::with_capacity(slices.len());
    for mut slice in slices {
        slice.meta.generate_name = Text::default();
        slice.meta.owner_references.clone_from(&endpoints.meta.owner_references);
        slice.meta.labels.insert(names::SLICE_MANAGED_BY, MANAGED_BY);
        slice.meta.labels.remove(names::ENDPOINTS_MANAGED_BY);
        let all = std::mem::take(&mut slice.endpoints);
        for part in all.chunks(MAX_ENDPOINTS) {
            let mut slice = slice.clone();
            let name: String = endpoints.meta.name.chars().take(MAX_NAME).collect();
            slice.meta.name = format!("{name}-{}", out.len() + 1).into();
            slice.endpoints = part.to_vec();
            out.push(slice);
        }
    }
    out
}

/// Reports addresses that Kubernetes treats as equal but that differ in details: the first one is kept.
fn note_differing_twins(endpoints: &Endpoints, losses: &mut Losses) {
    let mut all: Vec<(&EndpointAddress, usize, &str, usize)> = Vec::new();
    for (i, subset) in endpoints.subsets.iter().enumerate() {
        for (list, addresses) in [("addresses", &subset.addresses), ("notReadyAddresses", &subset.not_ready_addresses)]
        {
            all.extend(addresses.iter().enumerate().map(|(j, a)| (a, i, list, j)));
        }
    }
    let uid = |a: &EndpointAddress| a.target_ref.as_ref().map(|t| t.uid.clone()).unwrap_or_default();
    // The sort is stable: twins stay in order.
    all.sort_by(|a, b| (&a.0.ip, uid(a.0)).cmp(&(&b.0.ip, uid(b.0))));
    let mut first = None;
    for (address, i, list, j) in all {
        match first {
            Some(f) if twins(f, address) && f != address => {
                let why = "an earlier entry of the address has another host name, node or target, and takes precedence";
                losses.add(format!("subsets[{i}].{list}[{j}]"), why);
            }
            Some(f) if twins(f, address) => {}
            _ => first = Some(address),
        }
    }
}

fn twins(a: &EndpointAddress, b: &EndpointAddress) -> bool {
    let uid = |a: &EndpointAddress| a.target_ref.as_ref().map(|t| t.uid.clone()).unwrap_or_default();
    a.ip == b.ip && uid(a) == uid(b)
}
