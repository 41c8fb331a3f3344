//! What stored objects say of pods where a controller leaves them as they are, though it would write others. Slices
//! ask as well. Without a reader nothing here does anything.

use std::collections::BTreeMap;

use crate::{
    engine::{
        reason::Reason,
        record::{Record, Recorder, Scope},
    },
    model::{ObjectRef, Pod, Service, Text},
};

/// An address in a stored object.
pub(crate) struct Listing<'a> {
    pub(crate) target: Option<&'a ObjectRef>,
    pub(crate) ready: bool,
    pub(crate) terminating: bool,
    /// What its hints say, if it has any.
    pub(crate) hints: Option<String>,
}

impl Listing<'_> {
    /// Of several listings of one pod the first in this order counts: clients get what any of them gives.
    fn rank(&self) -> (bool, bool) {
        (!self.ready, self.terminating)
    }
}

/// Addresses that share their ports: a subset, or a slice.
pub(crate) struct Block<'a> {
    /// The object, in a sentence.
    pub(crate) object: String,
    /// Names of its ports.
    pub(crate) ports: Vec<&'a Text>,
    pub(crate) listings: Vec<Listing<'a>>,
}

/// Writes down how stored objects list the selected pods, under the ports that the Service has. Each pod must have
/// its note on why they are left alone.
pub(crate) fn tell(scope: Scope, service: &Service, pods: &[&Pod], blocks: &[Block<'_>], recorder: &mut impl Recorder) {
    if !recorder.open() {
        return;
    }
    let mut of_name: BTreeMap<&Text, Vec<usize>> = BTreeMap::new();
    for (place, port) in service.ports.iter().enumerate() {
        of_name.entry(&port.name).or_default().push(place);
    }
    let index: BTreeMap<&Text, usize> = pods.iter().enumerate().map(|(i, p)| (p.name(), i)).collect();
    let mut found: Vec<Vec<(usize, &Listing<'_>)>> = vec![Vec::new(); pods.len()];
    for (block, listing) in blocks.iter().enumerate().flat_map(|(b, block)| block.listings.iter().map(move |l| (b, l)))
    {
        let target = listing.target.filter(|t| t.kind == "Pod");
        let Some((target, &pod)) = target.and_then(|t| Some((t, index.get(&t.name)?))) else { continue };
        // A pod that only bears the name of the listed one is another pod.
        if target.namespace == *pods[pod].namespace() && target.uid == pods[pod].reference.uid {
            found[pod].push((block, listing));
        }
    }
    for (pod, mut listed) in found.into_iter().enumerate() {
        listed.sort_by_key(|(_, l)| l.rank());
        let mut seen = vec![false; service.ports.len()];
        for (block, listing) in listed {
            let block = &blocks[block];
            if service.ports.is_empty() {
                if block.ports.is_empty() {
                    note(scope, pod, None, block, listing, recorder);
                    break;
                }
                continue;
            }
            for &place in block.ports.iter().filter_map(|name| of_name.get(name)).flatten() {
                if !recorder.open() {
                    return;
                }
                if !std::mem::replace(&mut seen[place], true) {
                    note(scope, pod, Some(place), block, listing, recorder);
                }
            }
        }
    }
}

fn note(
    scope: Scope,
    pod: usize,
    port: Option<usize>,
    block: &Block<'_>,
    listing: &Listing<'_>,
    recorder: &mut impl Recorder,
) {
    let mut say = |reason, detail| recorder.record(|| Record { scope, pod, port, reason, detail });
    let detail = format!("{} lists it so, and stays as it is", block.object);
    match (listing.terminating, listing.ready) {
        (false, true) => say(Reason::Ready, detail),
        (false, false) => say(Reason::NotReady, detail),
        (true, false) => say(Reason::Terminating, detail),
        (true, true) => {
            say(Reason::Terminating, detail);
            say(Reason::Ready, "listed as ready all the same".to_owned());
        }
    }
    if let Some(hints) = &listing.hints {
        say(Reason::HintGiven, hints.clone());
    }
}
