//! The endpoints of a Service, and the pods that should be: what a picture shows at the ends of its edges.

use std::collections::HashMap;

use super::{
    graph::{NodeKind, PictureState},
    scene::Scene,
    sight::Sight,
    slice_ports::SlicePorts,
    verdict_of_pod::VerdictOfPod,
};
use crate::{
    explain::{Cause, PodVerdict},
    model::{AddressType, Endpoint, EndpointSlice, HashSeed, Nodes, Pod, Text},
    plan::selected_pods,
    reason::Reason,
};

/// A pod that the Service selects, or another endpoint of its slices.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub(super) kind: NodeKind,
    /// Its name, or its address.
    pub(super) name: &'a str,
    /// The first of its addresses, if it has a name.
    pub(super) address: &'a str,
    /// The controller of the pod.
    pub(super) owner: &'a str,
    pub(super) node: Option<&'a Text>,
    pub(super) zone: Option<&'a Text>,
    pub(super) verdict: VerdictOfPod<'a>,
    /// Why its node does not use it, in the picture of one node.
    pub(super) unused: Option<Reason>,
}

/// An endpoint in a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// The place of the slice among those of the picture.
    pub(super) slice: usize,
    /// The place of the member.
    pub(super) member: usize,
    /// Whether clients use it.
    pub(super) is_ready: bool,
    pub(super) endpoint: &'a Endpoint,
}

/// All members of a Service, and their places in its slices.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    pub(super) all: Vec<Member<'a>>,
    pub(super) places: Vec<Place<'a>>,
    /// The slices, IPv4 first.
    pub(super) slices: Vec<&'a EndpointSlice>,
    pub(super) ports: SlicePorts,
}

impl<'a> Members<'a> {
    pub(super) fn of(scene: &Scene<'a>) -> Self {
        let mut slices: Vec<&EndpointSlice> = scene.slices.iter().collect();
        // Stable: slices stay in the order of the plan.
        slices.sort_by_key(|slice| match slice.address_type {
            AddressType::V4 => 0,
            AddressType::V6 => 1,
            AddressType::Other(_) => 2,
        });
        let of_service = scene.state.service.map_or(&[][..], |service| &service.ports);
        let ports = SlicePorts::of(of_service, &slices);
        let mut members = Self { all: pods(scene), places: Vec::new(), slices, ports };
        members.place(scene.state.nodes);
        if let Some(from) = scene.from {
            let sight = Sight::of(&from);
            members.all.iter_mut().for_each(|member| sight.apply_to(member));
        }
        members
    }

    /// Finds the member of each endpoint; those that no selected pod is become members.
    fn place(&mut self, nodes: &'a Nodes) {
        let mut pods: HashMap<&str, usize, HashSeed> = HashMap::default();
        pods.extend(self.all.iter().enumerate().map(|(place, member)| (member.name, place)));
        let mut others: HashMap<(NodeKind, &str), usize, HashSeed> = HashMap::default();
        let slices = std::mem::take(&mut self.slices);
        for (slice, endpoint) in
            slices.iter().enumerate().flat_map(|(at, slice)| slice.endpoints.iter().map(move |e| (at, e)))
        {
            let pod = endpoint.target_ref.as_ref().filter(|target| target.kind == "Pod").map(|target| &target.name);
            let address = endpoint.addresses.first().map(Text::as_str).unwrap_or_default();
            let is_ready = endpoint.ready() && self.ports.is_used(slice);
            let selected = pod.and_then(|name| pods.get(name.as_str())).copied();
            let member = selected.unwrap_or_else(|| {
                let key = pod.map_or((NodeKind::Address, address), |name| (NodeKind::Pod, name.as_str()));
                *others.entry(key).or_insert_with(|| {
                    self.all.push(Member::of_endpoint(key, address, endpoint, nodes));
                    self.all.len() - 1
                })
            });
            let known = &mut self.all[member];
            known.zone = known.zone.or(endpoint.zone.as_ref());
            if known.address.is_empty() && known.kind == NodeKind::Pod {
                known.address = address;
            }
            if is_ready && known.verdict.cause.is_none() {
                known.verdict.state = PictureState::Served;
            }
            self.places.push(Place { slice, member, is_ready, endpoint });
        }
        self.slices = slices;
    }
}

/// The pods that the Service selects, each with its verdict.
fn pods<'a>(scene: &Scene<'a>) -> Vec<Member<'a>> {
    let selected = selected_pods(scene.state);
    let mut rows: HashMap<&str, &[PodVerdict], HashSeed> = HashMap::default();
    let groups = scene.explanation.rows.chunk_by(|a, b| a.pod == b.pod);
    rows.extend(groups.filter_map(|group| Some((group.first()?.pod.as_str(), group))));
    let member = |pod: &&'a Pod| {
        let verdict = rows.get(pod.name().as_str()).map(|rows| VerdictOfPod::of(rows));
        Member::of_pod(pod, verdict.unwrap_or_else(VerdictOfPod::unknown), scene.state.nodes)
    };
    selected.iter().map(member).collect()
}

impl<'a> Member<'a> {
    fn of_pod(pod: &'a Pod, verdict: VerdictOfPod<'a>, nodes: &'a Nodes) -> Self {
        let node = Some(&pod.node_name).filter(|name| !name.is_empty());
        Self {
            kind: NodeKind::Pod,
            name: pod.name(),
            address: pod.ips.first().map(|ip| ip.raw.as_str()).unwrap_or_default(),
            owner: pod.owner.as_ref().map(|owner| owner.name.as_str()).unwrap_or_default(),
            node,
            zone: node.and_then(|name| nodes.zone_of(name)).flatten(),
            verdict,
            unused: None,
        }
    }

    fn of_endpoint((kind, name): (NodeKind, &'a str), address: &'a str, of: &'a Endpoint, nodes: &'a Nodes) -> Self {
        let node = of.node_name.as_ref();
        Self {
            kind,
            name,
            address: if kind == NodeKind::Pod { address } else { "" },
            owner: "",
            node,
            zone: of.zone.as_ref().or_else(|| node.and_then(|name| nodes.zone_of(name)).flatten()),
            verdict: VerdictOfPod { state: PictureState::NotServed, ..VerdictOfPod::unknown() },
            unused: None,
        }
    }

    /// How it serves.
    pub(super) fn state(&self) -> PictureState {
        match self.unused {
            Some(_) if matches!(self.verdict.state, PictureState::Served | PictureState::PartlyServed) => {
                PictureState::NotServed
            }
            _ => self.verdict.state,
        }
    }

    /// Why it does not serve all ports.
    pub(super) fn cause(&self) -> Option<&'a Cause> {
        self.verdict.cause
    }
}

impl VerdictOfPod<'_> {
    /// The verdict on a pod of which the explanation does not speak.
    fn unknown() -> Self {
        Self { state: PictureState::Unknown, cause: None, left_out: Vec::new(), served: Vec::new() }
    }
}
