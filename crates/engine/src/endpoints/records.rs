//! Records of the decisions about pods. Nothing here does any work unless the recorder is open.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::{
    membership,
    model::{EndpointAddress, Endpoints, Pod, Service},
    ports::{NameId, PortMiss},
    reason::Reason,
    record::{Record, Recorder, Scope},
    stored_addresses::{StoredAddress, StoredGroup, record_stored},
};

use super::{
    pod_address::family,
    port_blocks::{PodEntry, PodSubsets},
};

fn of_pod(pod: usize, reason: Reason, detail: String) -> Record {
    Record::of_pod(Scope::Endpoints, pod, reason, detail)
}

/// A pod that is not listed at all.
pub(super) fn left_out(service: &Service, index: usize, pod: &Pod, reason: Reason, recorder: &mut impl Recorder) {
    recorder.record(|| {
        let detail = match reason {
            Reason::FamilyMismatch => format!("Endpoints list {} addresses only", family(service, pod).as_str()),
            // Where there is no `status.podIP` either, the reason says all.
            Reason::NoPodIp if pod.has_pod_ip => "status.podIPs is empty".into(),
            Reason::NoPodIp => membership::gated_detail(pod).unwrap_or_default(),
            Reason::Terminating => "the pod is being deleted; Endpoints leave it out".into(),
            _ => String::new(),
        };
        of_pod(index, reason, detail)
    });
}

/// All pods, where nothing is planned and the stored object stays.
pub(super) fn too_large(service: &Service, pods: &[&Pod], stored: Option<&Endpoints>, recorder: &mut impl Recorder) {
    for pod in 0..pods.len() {
        recorder.record(|| of_pod(pod, Reason::PlanTooLarge, String::new()));
    }
    let Some(stored) = stored.filter(|_| recorder.open()) else { return };
    let address = |a, ready| {
        let a: &EndpointAddress = a;
        StoredAddress { target: a.target_ref.as_deref(), ready, terminating: false, hints: None }
    };
    let groups = stored.subsets.iter().map(|s| StoredGroup {
        object: "the stored Endpoints object".to_owned(),
        ports: s.ports.iter().map(|p| &p.name).collect(),
        addresses: (s.addresses.iter().map(|a| address(a, true)))
            .chain(s.not_ready_addresses.iter().map(|a| address(a, false)))
            .collect(),
    });
    record_stored(Scope::Endpoints, service, pods, &groups.collect::<Vec<_>>(), recorder);
}

/// The pods that have an address: how they are listed, and which ports they lack.
pub(super) fn listed(made: &PodSubsets<'_>, pods: &[&Pod], recorder: &mut impl Recorder) {
    if !recorder.open() {
        return;
    }
    let PodSubsets { blocks, entries, .. } = made;
    let merged = Merged::of(made);
    for entry in entries {
        // What is not recorded is not made.
        if !recorder.open() {
            return;
        }
        let index = entry.pod;
        if blocks.service.ports.is_empty() && !blocks.portless() {
            recorder.record(|| of_pod(index, Reason::NoPorts, String::new()));
        } else if let Some(kept) = merged.kept_for(entry) {
            let kept = pods[kept].name();
            recorder.record(|| of_pod(index, Reason::DuplicateAddress, format!("the address of pod {kept} is listed")));
        } else if let Some(all) = merged.all_of(entry) {
            listed_for_several(made, pods, entry, all, recorder);
        } else {
            recorder.record(|| state(index, None, pods[index], entry.ready));
            misses(made, pods, entry, &BTreeSet::new(), recorder);
        }
    }
}

/// A pod that is listed for itself, on one port or on every port that it has.
fn state(index: usize, ports: Option<Range<usize>>, pod: &Pod, ready: bool) -> Record {
    let (reason, detail) = match (pod.ready(), ready) {
        (true, _) => (Reason::Ready, String::new()),
        (false, true) => (Reason::PublishedNotReady, membership::not_ready_detail(pod)),
        (false, false) => (Reason::NotReady, membership::not_ready_detail(pod)),
    };
    Record { scope: Scope::Endpoints, pod: index, ports, reason, detail }
}

/// The Service ports that a pod lacks, but for those that are `listed` because of another pod.
fn misses(
    made: &PodSubsets<'_>,
    pods: &[&Pod],
    entry: &PodEntry,
    listed: &BTreeSet<usize>,
    recorder: &mut impl Recorder,
) {
    if !recorder.open() {
        return;
    }
    for PortMiss { ports, reason, detail } in made.blocks.targets.misses(entry.row, pods[entry.pod]) {
        let mut next = ports.start;
        for end in listed.range(ports.clone()).copied().chain([ports.end]) {
            if next < end {
                let (ports, detail) = (Some(next..end), detail.clone());
                recorder.record(|| Record { scope: Scope::Endpoints, pod: entry.pod, ports, reason, detail });
            }
            next = end + 1;
        }
    }
}

fn one_port(port: usize) -> Range<usize> {
    port..port + 1
}

/// A pod whose address stands for those of other pods too: it is listed on every port that any of them has, and as
/// ready only if all pods with that port are.
fn listed_for_several<'a>(
    made: &PodSubsets<'_>,
    pods: &[&Pod],
    entry: &'a PodEntry,
    all: &'a [PodEntry],
    recorder: &mut impl Recorder,
) {
    let blocks = &made.blocks;
    // The pod that decides for each port: the first that is not ready, or else the first of all. Ports that refer to a number
    // are those of all of them.
    let count = |first: &mut &'a PodEntry, one: &'a PodEntry| {
        if first.ready && !one.ready {
            *first = one;
        }
    };
    let mut of_all = all.first().unwrap_or(entry);
    let mut of_numbers: BTreeMap<(NameId, i32), &PodEntry> = BTreeMap::new();
    for one in all {
        count(&mut of_all, one);
        for number in blocks.numbers_of(one.row) {
            count(of_numbers.entry(number).or_insert(one), one);
        }
    }
    let numbered = blocks.served_by_all().map(|served| (served, of_all));
    let named = of_numbers.into_iter().flat_map(|(number, one)| blocks.served_by_number(number).map(move |s| (s, one)));
    // One port may have several numbers: clients use any of them.
    let mut recorded: BTreeMap<Option<usize>, &PodEntry> = BTreeMap::new();
    for (served, one) in numbered.chain(named) {
        let first = recorded.entry(blocks.served[served]).or_insert(one);
        if one.ready && !first.ready {
            *first = one;
        }
    }
    for (port, one) in &recorded {
        if !recorder.open() {
            return;
        }
        recorder.record(|| {
            let record = state(entry.pod, port.map(one_port), pods[one.pod], one.ready);
            if one.pod == entry.pod {
                return record;
            }
            let colon = if record.detail.is_empty() { "" } else { ": " };
            let name = pods[one.pod].name();
            let detail = format!("as pod {name}, which has the same address{colon}{}", record.detail);
            Record { detail, ..record }
        });
    }
    let listed = recorded.keys().copied().flatten().collect();
    misses(made, pods, entry, &listed, recorder);
}

/// The pods that truncation removed: those after the first `kept` addresses of each subset, ready and not.
pub(super) fn truncated(made: &PodSubsets<'_>, kept: &[[usize; 2]], recorder: &mut impl Recorder) {
    if !recorder.open() {
        return;
    }
    let PodSubsets { blocks, entries, places, .. } = made;
    // The subsets that an address is cut from.
    let mut cut: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (subset, (listed, kept)) in places.listed.iter().zip(kept).enumerate() {
        for (addresses, kept) in listed.iter().zip(kept) {
            for address in addresses.iter().skip(*kept) {
                cut.entry(*address).or_default().insert(subset);
            }
        }
    }
    let merged = Merged::of(made);
    for entry in entries {
        // A pod that another address stands for is not listed itself.
        let Some(cut) = entry.address.and_then(|a| cut.get(&a)) else { continue };
        let rows: BTreeSet<usize> = match merged.all_of(entry) {
            Some(all) => all.iter().map(|e| e.row).collect(),
            None => [entry.row].into(),
        };
        if !recorder.open() {
            return;
        }
        // If the address belongs to several pods, one port may have several numbers: it is cut if none is left.
        let mut ports: BTreeMap<Option<usize>, bool> = BTreeMap::new();
        // Rows share numbers, and what all serve is looked at once.
        let numbers: BTreeSet<(NameId, i32)> = rows.into_iter().flat_map(|row| blocks.numbers_of(row)).collect();
        let named = numbers.into_iter().flat_map(|number| blocks.served_by_number(number));
        for served in blocks.served_by_all().chain(named) {
            let gone = places.subset_of[served].is_some_and(|s| cut.contains(&s));
            *ports.entry(blocks.served[served]).or_insert(true) &= gone;
        }
        for (port, _) in ports.into_iter().filter(|(_, gone)| *gone) {
            recorder.record(|| {
                let detail = "the Endpoints hold 1000 other addresses".to_owned();
                let ports = port.map(one_port);
                Record { scope: Scope::Endpoints, pod: entry.pod, ports, reason: Reason::Truncated, detail }
            });
        }
    }
}

/// Pods whose addresses are taken for one and the same: the first of them stands for all.
struct Merged {
    /// For each address that stands for another one the pod.
    stands_for: BTreeMap<usize, usize>,
    /// For each address that stands for others all of them that differ in ports or state, itself first.
    all: BTreeMap<usize, Vec<PodEntry>>,
}

impl Merged {
    fn of(made: &PodSubsets<'_>) -> Self {
        let mut merged = Self { stands_for: BTreeMap::new(), all: BTreeMap::new() };
        let places = &made.places.stands_for;
        let addresses = || made.entries.iter().filter_map(|e| Some((e, e.address?)));
        let lost = addresses().filter_map(|(_, at)| Some((at, *places.get(at)?))).filter(|(at, first)| at != first);
        let pods: Vec<usize> = addresses().map(|(e, _)| e.pod).collect();
        for (at, first) in lost {
            merged.stands_for.insert(at, pods[first]);
            merged.all.entry(first).or_default();
        }
        if merged.all.is_empty() {
            return merged;
        }
        let mut seen = BTreeSet::new();
        for (entry, at) in addresses() {
            if let Some(all) = merged.all.get_mut(&places[at])
                && seen.insert((places[at], entry.row, entry.ready))
            {
                all.push(*entry);
            }
        }
        merged
    }

    /// The pod that is listed for this one.
    fn kept_for(&self, entry: &PodEntry) -> Option<usize> {
        self.stands_for.get(&entry.address?).copied()
    }

    /// All pods for which this one is listed.
    fn all_of(&self, entry: &PodEntry) -> Option<&[PodEntry]> {
        self.all.get(&entry.address?).map(Vec::as_slice)
    }
}
