//! Records of how stored objects list pods, for a controller that leaves the objects as they are although it would
//! write others. Shared by Endpoints and slices.

use std::collections::BTreeMap;

use crate::{
    model::{ObjectRef, Pod, Service, Text},
    reason::Reason,
    record::{Record, Recorder, Scope},
};

/// An address in a stored object.
pub(super) struct StoredAddress<'a> {
    pub(super) target: Option<&'a ObjectRef>,
    pub(super) ready: bool,
    pub(super) terminating: bool,
    /// Its hints in words, if it has any.
    pub(super) hints: Option<String>,
}

impl StoredAddress<'_> {
    /// The order in which several addresses of one pod count: clients use the pod if any of them lets them.
    fn rank(&self) -> (bool, bool) {
        (!self.ready, self.terminating)
    }
}

/// Stored addresses that share their ports: those of a subset, or of a slice.
pub(super) struct StoredGroup<'a> {
    /// The object, as part of a sentence.
    pub(super) object: String,
    /// Names of its ports.
    pub(super) ports: Vec<&'a Text>,
    pub(super) addresses: Vec<StoredAddress<'a>>,
}

/// Records how stored objects list the selected pods, under the ports that the Service has. Each pod must already have
/// the record that says why the objects stay as they are.
pub(super) fn record_stored(
    scope: Scope,
    service: &Service,
    pods: &[&Pod],
    groups: &[StoredGroup<'_>],
    recorder: &mut impl Recorder,
) {
    if !recorder.open() {
        return;
    }
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, port) in service.ports.iter().enumerate() {
        places.entry(&port.name).or_default().push(place);
    }
    for (pod, mut addresses) in by_pod(pods, groups).into_iter().enumerate() {
        addresses.sort_by_key(|(_, a)| a.rank());
        let mut seen = vec![false; service.ports.len()];
        for (group, address) in addresses {
            if service.ports.is_empty() {
                if group.ports.is_empty() {
                    record(scope, pod, None, group, address, recorder);
                    break;
                }
                continue;
            }
            for &place in group.ports.iter().filter_map(|name| places.get(name.as_str())).flatten() {
                if !recorder.open() {
                    return;
                }
                if !std::mem::replace(&mut seen[place], true) {
                    record(scope, pod, Some(place), group, address, recorder);
                }
            }
        }
    }
}

/// For each pod its addresses, each with its group.
fn by_pod<'a, 'b>(
    pods: &[&Pod],
    groups: &'b [StoredGroup<'a>],
) -> Vec<Vec<(&'b StoredGroup<'a>, &'b StoredAddress<'a>)>> {
    let index: BTreeMap<&str, usize> = pods.iter().map(|p| p.name().as_str()).zip(0..).collect();
    let mut by_pod = vec![Vec::new(); pods.len()];
    for (group, address) in groups.iter().flat_map(|group| group.addresses.iter().map(move |a| (group, a))) {
        let target = address.target.filter(|t| t.kind == "Pod");
        let Some((target, &pod)) = target.and_then(|t| Some((t, index.get(t.name.as_str())?))) else { continue };
        // A pod with the same name but another uid is another pod.
        if target.namespace == *pods[pod].namespace() && target.uid == pods[pod].reference.uid {
            by_pod[pod].push((group, address));
        }
    }
    by_pod
}

fn record(
    scope: Scope,
    pod: usize,
    port: Option<usize>,
    group: &StoredGroup<'_>,
    address: &StoredAddress<'_>,
    recorder: &mut impl Recorder,
) {
    let mut add = |reason, detail| {
        recorder.record(|| Record { scope, pod, ports: port.map(|port| port..port + 1), reason, detail });
    };
    let detail = format!("{} lists it so, and stays as it is", group.object);
    match (address.terminating, address.ready) {
        (false, true) => add(Reason::Ready, detail),
        (false, false) => add(Reason::NotReady, detail),
        (true, false) => add(Reason::Terminating, detail),
        (true, true) => {
            add(Reason::Terminating, detail);
            add(Reason::Ready, "still listed as ready".to_owned());
        }
    }
    if let Some(hints) = &address.hints {
        add(Reason::HintGiven, hints.clone());
    }
}
