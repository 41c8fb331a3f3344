//! What each decision about a pod reads like, for `explain`. Without a reader nothing here does anything.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    engine::{
        membership,
        ports::miss,
        reason::Reason,
        record::{Record, Recorder, Scope},
    },
    model::{EndpointAddress, Endpoints, Pod, Service},
};

use super::{
    desired::{Desired, Entry, family},
    kept::{self, Block, Listing},
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
            Reason::Terminating => "the pod is being deleted; Endpoints leave it out".into(),
            _ => String::new(),
        };
        of_pod(index, reason, detail)
    });
}

/// All pods, where nothing is planned: what is stored stays.
pub(super) fn too_large(service: &Service, pods: &[&Pod], stored: Option<&Endpoints>, recorder: &mut impl Recorder) {
    for pod in 0..pods.len() {
        recorder.record(|| of_pod(pod, Reason::PlanTooLarge, String::new()));
    }
    let Some(stored) = stored.filter(|_| recorder.open()) else { return };
    let listing = |a, ready| {
        let a: &EndpointAddress = a;
        Listing { target: a.target_ref.as_deref(), ready, terminating: false, hints: None }
    };
    let blocks = stored.subsets.iter().map(|s| Block {
        object: "the stored Endpoints object".to_owned(),
        ports: s.ports.iter().map(|p| &p.name).collect(),
        listings: (s.addresses.iter().map(|a| listing(a, true)))
            .chain(s.not_ready_addresses.iter().map(|a| listing(a, false)))
            .collect(),
    });
    kept::tell(Scope::Endpoints, service, pods, &blocks.collect::<Vec<_>>(), recorder);
}

/// How the pods that have an address are listed, and which ports they do not have.
pub(super) fn listed(desired: &Desired<'_>, pods: &[&Pod], recorder: &mut impl Recorder) {
    if !recorder.open() {
        return;
    }
    let Desired { blocks, entries, .. } = desired;
    let merged = Merged::of(desired);
    for entry in entries {
        let index = entry.pod;
        if blocks.service.ports.is_empty() && !blocks.portless() {
            recorder.record(|| of_pod(index, Reason::NoPorts, String::new()));
        } else if let Some(kept) = merged.kept_for(entry) {
            let kept = pods[kept].name();
            recorder.record(|| of_pod(index, Reason::DuplicateAddress, format!("the address of pod {kept} is listed")));
        } else if let Some(all) = merged.all_of(entry) {
            listed_for_several(desired, pods, entry, all, recorder);
        } else {
            recorder.record(|| state(index, None, pods[index], entry.ready));
            misses(desired, pods, entry, |_| true, recorder);
        }
    }
}

/// How a pod is listed by itself, on one port or on every one that it has.
fn state(index: usize, port: Option<usize>, pod: &Pod, ready: bool) -> Record {
    let (reason, detail) = match (pod.ready(), ready) {
        (true, _) => (Reason::Ready, String::new()),
        (false, true) => (Reason::PublishedNotReady, membership::not_ready_detail(pod)),
        (false, false) => (Reason::NotReady, membership::not_ready_detail(pod)),
    };
    Record { scope: Scope::Endpoints, pod: index, port, reason, detail }
}

/// Service ports that a pod does not have, as far as they are asked for.
fn misses(
    desired: &Desired<'_>,
    pods: &[&Pod],
    entry: &Entry,
    asked: impl Fn(usize) -> bool,
    recorder: &mut impl Recorder,
) {
    let targets = &desired.blocks.targets;
    for port in targets.missing(&targets.rows()[entry.row]).filter(|port| asked(*port)) {
        if !recorder.open() {
            return;
        }
        recorder.record(|| {
            let (reason, detail) = miss(pods[entry.pod], &desired.blocks.service.ports[port]);
            Record { scope: Scope::Endpoints, pod: entry.pod, port: Some(port), reason, detail }
        });
    }
}

/// How a pod is listed whose address stands for that of others as well: on every port that any of them has, and as
/// ready only if all that have it are.
fn listed_for_several(
    desired: &Desired<'_>,
    pods: &[&Pod],
    entry: &Entry,
    all: &[Entry],
    recorder: &mut impl Recorder,
) {
    let blocks = &desired.blocks;
    // For each port who decides: the first that is not ready, or else the first of all.
    let mut decides: BTreeMap<usize, &Entry> = BTreeMap::new();
    for one in all {
        for served in blocks.served_by(one.row) {
            let first = decides.entry(served).or_insert(one);
            if first.ready && !one.ready {
                *first = one;
            }
        }
    }
    // One port may have several numbers: clients get what any of them gives.
    let mut told: BTreeMap<Option<usize>, &Entry> = BTreeMap::new();
    for (served, one) in decides {
        let first = told.entry(blocks.served[served]).or_insert(one);
        if one.ready && !first.ready {
            *first = one;
        }
    }
    for (port, one) in &told {
        if !recorder.open() {
            return;
        }
        recorder.record(|| {
            let note = state(entry.pod, *port, pods[one.pod], one.ready);
            if one.pod == entry.pod {
                return note;
            }
            let colon = if note.detail.is_empty() { "" } else { ": " };
            let name = pods[one.pod].name();
            let detail = format!("as pod {name}, which has the same address{colon}{}", note.detail);
            Record { detail, ..note }
        });
    }
    misses(desired, pods, entry, |port| !told.contains_key(&Some(port)), recorder);
}

/// Whom truncation cut: what is behind the first `kept` addresses of each subset, ready and not.
pub(super) fn truncated(desired: &Desired<'_>, kept: &[[usize; 2]], recorder: &mut impl Recorder) {
    if !recorder.open() {
        return;
    }
    let Desired { blocks, entries, places, .. } = desired;
    // The subsets that an address is cut from.
    let mut cut: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (subset, (listed, kept)) in places.listed.iter().zip(kept).enumerate() {
        for (addresses, kept) in listed.iter().zip(kept) {
            for address in addresses.iter().skip(*kept) {
                cut.entry(*address).or_default().insert(subset);
            }
        }
    }
    let merged = Merged::of(desired);
    for entry in entries {
        // Whom another address stands for has no place to lose.
        let Some(cut) = entry.address.and_then(|a| cut.get(&a)) else { continue };
        let rows: BTreeSet<usize> = match merged.all_of(entry) {
            Some(all) => all.iter().map(|e| e.row).collect(),
            None => [entry.row].into(),
        };
        if !recorder.open() {
            return;
        }
        // One port may have several numbers, if the address is that of several pods: it is cut where none is left.
        let mut ports: BTreeMap<Option<usize>, bool> = BTreeMap::new();
        for served in rows.into_iter().flat_map(|row| blocks.served_by(row)) {
            let gone = places.subset_of[served].is_some_and(|s| cut.contains(&s));
            *ports.entry(blocks.served[served]).or_insert(true) &= gone;
        }
        for (port, _) in ports.into_iter().filter(|(_, gone)| *gone) {
            recorder.record(|| {
                let detail = "the Endpoints hold 1000 other addresses".to_owned();
                Record { scope: Scope::Endpoints, pod: entry.pod, port, reason: Reason::Truncated, detail }
            });
        }
    }
}

/// Pods whose addresses are taken for one and the same: the first of them stands for all.
struct Merged {
    /// For each address that stands for another one the pod.
    stands_for: BTreeMap<usize, usize>,
    /// For each address that stands for others all of them that differ in ports or state, itself first.
    all: BTreeMap<usize, Vec<Entry>>,
}

impl Merged {
    fn of(desired: &Desired<'_>) -> Self {
        let mut merged = Self { stands_for: BTreeMap::new(), all: BTreeMap::new() };
        let places = &desired.places.stands_for;
        let addresses = || desired.entries.iter().filter_map(|e| Some((e, e.address?)));
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
    fn kept_for(&self, entry: &Entry) -> Option<usize> {
        self.stands_for.get(&entry.address?).copied()
    }

    /// All pods for which this one is listed.
    fn all_of(&self, entry: &Entry) -> Option<&[Entry]> {
        self.all.get(&entry.address?).map(Vec::as_slice)
    }
}
