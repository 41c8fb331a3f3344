//! From a scene to the nodes and edges of its picture.

use std::collections::BTreeSet;

use super::{
    composer::Composer,
    graph::{EdgeKind, NodeKind, Picture, PictureNode, PictureReason, PictureState},
    groups::Groups,
    members::Members,
    node_account::NodeAccount,
    places_of_pods::PlacesOfPods,
    scene::{NodeSight, Route, Scene},
    service_side::{ServiceSide, service_state},
    verdict_of_pod::is_misfit,
};
use crate::{
    explain::{Cause, Diagnosis, Explanation, LabelMiss, ServedTotals},
    model::{Endpoint, EndpointSlice, Text, names},
    phrase::{clip, counted},
    reason::{Reason, Severity},
    state::{Options, Plan, State},
    view::planned_slices,
};

/// The most slices that are drawn; one node stands for the others.
const MOST_SLICES: usize = 12;

impl Picture {
    /// The picture of a Service whose plan is known.
    pub fn of_plan(
        state: &State<'_>,
        plan: &Plan,
        explanation: &Explanation,
        options: &Options,
        routes: &[Route],
        from: Option<NodeSight<'_>>,
    ) -> Self {
        let slices = planned_slices(state, plan);
        Self::of(&Scene { state, explanation, slices: &slices, options, routes, from })
    }

    /// The picture of a scene.
    pub fn of(scene: &Scene<'_>) -> Self {
        let members = Members::of(scene);
        let groups = Groups::of(&members);
        let mut drawn = Composer::default();
        let side = ServiceSide::add(scene, &members, &mut drawn);
        let slices = add_slices(scene, &members, &side, &mut drawn);
        let of_groups: Vec<usize> = groups.all.iter().map(|group| drawn.add(group.node())).collect();
        let node_of = |member: usize| of_groups[groups.of_member[member]];
        for place in &members.places {
            drawn.connect(slices[place.slice], node_of(place.member), EdgeKind::Traffic, place.is_ready);
        }
        for (at, member) in members.all.iter().enumerate() {
            for (ports, cause) in &member.verdict.left_out {
                let state = if is_misfit(cause) { PictureState::Broken } else { PictureState::NotServed };
                for from in side.of_ports(ports.as_ref()) {
                    drawn.leave_out(*from, node_of(at), state, cause.code.code(), || text_of(cause));
                }
            }
        }
        add_near_misses(scene, side.service, &mut drawn);
        PlacesOfPods::of(&members, &groups, scene.state.nodes).add(&of_groups, &mut drawn);
        let (nodes, edges) = drawn.finish();
        let reasons = PictureReason::of_service(scene.explanation, scene.routes);
        Self {
            service: scene.explanation.service.clone(),
            title: title(scene, &members),
            from: scene.from.map(|from| clip(from.node).to_owned()),
            severity: reasons.first().map_or(Severity::Info, |worst| worst.severity),
            reasons,
            nodes,
            edges,
        }
    }
}

impl PictureReason {
    /// What is wrong with a Service and the routes to it, the worst first; or why something is not served although nothing is wrong.
    pub fn of_service(explanation: &Explanation, routes: &[Route]) -> Vec<Self> {
        let diagnosis = Diagnosis::of(explanation);
        let mut reasons: Vec<Self> = diagnosis.causes.iter().chain(&diagnosis.note).map(Into::into).collect();
        let mut codes = BTreeSet::new();
        let faults = routes.iter().filter_map(|route| Some((route, route.fault.as_ref()?)));
        // One of each code is enough: the others are in the picture.
        reasons.extend(faults.filter(|(_, fault)| codes.insert(fault.code)).map(|(route, fault)| {
            let detail = format!("{} {}: {}", route.kind, route.name, fault.message);
            Self::new(fault.code, fault.severity, &detail, fault.fix)
        }));
        // Stable: a diagnosis is in order.
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.severity));
        reasons
    }
}

/// How much of the Service is served.
fn title(scene: &Scene<'_>, members: &Members<'_>) -> String {
    let totals = ServedTotals::of(scene.explanation);
    if let Some(from) = scene.from {
        let node = clip(from.node);
        return match NodeAccount::of(from.view, totals, scene.explanation.summary.ports) {
            uses @ NodeAccount::Uses { .. } => format!("node {node} uses {uses}"),
            why => format!("from node {node}, the Service is {why}"),
        };
    }
    let selects = scene.state.service.is_some_and(|service| service.selector.is_some());
    let has = |code: Reason| scene.explanation.reasons.iter().any(|cause| cause.code == code);
    if has(Reason::ExternalName) {
        return "a name for another server, without endpoints".to_owned();
    }
    if totals.pod_ports == 0 && has(Reason::SelectorMatchesNothing) {
        return "no pod matches the selector".to_owned();
    }
    if totals.pod_ports > 0 || selects {
        return totals.long(scene.explanation);
    }
    let ready = members.places.iter().filter(|place| place.is_ready).count();
    let by = if scene.state.endpoints.is_some() { "Endpoints" } else { "slices" };
    match (scene.state.service, members.places.len()) {
        (None, 0) => "there is no Service".to_owned(),
        (None, all) => format!("there is no Service; {} left over", counted(all, "endpoint")),
        (Some(_), 0) => "no selector, and no endpoints".to_owned(),
        (Some(_), all) => format!("{ready} of {} ready, from {by} without a selector", counted(all, "endpoint")),
    }
}

fn text_of(cause: &Cause) -> String {
    PictureReason::from(cause).detail
}

/// Adds the slices. Returns the node of each.
fn add_slices(scene: &Scene<'_>, members: &Members<'_>, side: &ServiceSide, drawn: &mut Composer) -> Vec<usize> {
    let stored: BTreeSet<&Text> = scene.state.slices.iter().map(|slice| &slice.meta.name).collect();
    let mut ready = vec![0; members.slices.len()];
    for place in members.places.iter().filter(|place| place.is_ready) {
        ready[place.slice] += 1;
    }
    let (mut nodes, mut new) = (Vec::with_capacity(members.slices.len()), 0);
    let last = members.slices.len().min(MOST_SLICES) - usize::from(members.slices.len() > MOST_SLICES);
    for (place, slice) in members.slices.iter().enumerate().take(last) {
        let state = match slice.endpoints.len() {
            0 => PictureState::Plain,
            all => PictureState::of_parts(ready[place], all),
        };
        let is_new = !stored.contains(&slice.meta.name);
        let (id, label) = if is_new {
            new += 1;
            (format!("slice/new/{new}"), format!("{}…", slice.meta.generate_name))
        } else {
            (format!("slice/{}", slice.meta.name), slice.meta.name.to_string())
        };
        let detail = slice_detail(scene, slice, is_new);
        nodes.push(drawn.add(PictureNode { detail, ..PictureNode::new(NodeKind::Slice, id, label, state) }));
    }
    let others = members.slices.len() - last;
    if others > 0 {
        let all = members.slices[last..].iter().map(|slice| slice.endpoints.len()).sum();
        let state = PictureState::of_parts(ready[last..].iter().sum(), all);
        let node = PictureNode::new(NodeKind::Slice, "slices/more".into(), format!("{others} more slices"), state);
        let detail = counted(all, "endpoint");
        let node = drawn.add(PictureNode { count: others, detail, ..node });
        nodes.extend(std::iter::repeat_n(node, others));
    }
    connect_slices(members, &nodes, side, drawn);
    nodes
}

/// Connects the slices with the ports that they have, and with the Endpoints that they copy.
fn connect_slices(members: &Members<'_>, nodes: &[usize], side: &ServiceSide, drawn: &mut Composer) {
    for (place, (slice, node)) in members.slices.iter().zip(nodes).enumerate() {
        let is_served = members.ports.is_used(place) && slice.endpoints.iter().any(Endpoint::ready);
        let ports = members.ports.of_slice(place);
        for port in ports {
            drawn.connect(side.port(*port), *node, EdgeKind::Traffic, is_served);
        }
        match (ports.is_empty(), members.ports.is_used(place)) {
            (true, true) => drawn.connect(side.service, *node, EdgeKind::Traffic, is_served),
            // The empty slice of a Service without pods has no ports.
            (true, false) if !slice.endpoints.is_empty() => {
                let has_none = slice.ports.iter().flatten().next().is_none();
                let (state, why) = if has_none {
                    (PictureState::NotServed, "without ports")
                } else {
                    (PictureState::Broken, "none of its ports is a port of the Service")
                };
                drawn.connect_as(side.service, *node, EdgeKind::Traffic, state);
                let of_slice = &mut drawn.nodes[*node];
                of_slice.state = state;
                of_slice.detail = format!("{}; {why}", of_slice.detail);
            }
            _ => {}
        }
        if let Some(endpoints) = side.endpoints.filter(|_| slice.managed_by().is_some_and(is_mirroring)) {
            drawn.connect_as(endpoints, *node, EdgeKind::Mirrors, PictureState::Plain);
        }
    }
}

fn is_mirroring(manager: &Text) -> bool {
    manager == names::MIRROR_CONTROLLER
}

/// The address type of a slice, how full it is, and who writes it.
fn slice_detail(scene: &Scene<'_>, slice: &EndpointSlice, is_new: bool) -> String {
    let manager = slice.managed_by().map_or("", Text::as_str);
    let limit = match manager {
        names::SLICE_CONTROLLER => Some(scene.options.per_slice()),
        names::MIRROR_CONTROLLER => Some(scene.options.per_subset()),
        _ => None,
    };
    let count = slice.endpoints.len();
    let fill = limit.map_or_else(|| counted(count, "endpoint"), |limit| format!("{count} of {limit}"));
    let by = match manager {
        names::SLICE_CONTROLLER => "",
        names::MIRROR_CONTROLLER => ", mirrored",
        _ => ", written by others",
    };
    format!("{}, {fill}{by}{}", slice.address_type.as_str(), if is_new { ", to be created" } else { "" })
}

/// Adds the pods that come closest to a selector that matches nothing.
fn add_near_misses(scene: &Scene<'_>, service: usize, drawn: &mut Composer) {
    let reasons = &scene.explanation.reasons;
    let Some(nothing) = reasons.iter().find(|cause| cause.code == Reason::SelectorMatchesNothing) else { return };
    let close: Vec<&Cause> =
        reasons.iter().filter(|c| matches!(c.code, Reason::LabelDiffers | Reason::OtherNamespace)).collect();
    for (place, cause) in close.iter().enumerate() {
        let label = cause.object.as_ref().map_or("pods of other namespaces", |object| &object.name);
        let detail =
            if cause.pods > 1 { format!("and {}", counted(cause.pods - 1, "other pod")) } else { String::new() };
        let node =
            PictureNode::new(NodeKind::NearMiss, format!("near-miss/{place}"), label.to_owned(), PictureState::Broken);
        let node = PictureNode { detail, count: cause.pods.max(1), reasons: vec![(*cause).into()], ..node };
        let node = drawn.add(node);
        drawn.leave_out(service, node, PictureState::Broken, cause.code.code(), || differences(cause));
    }
    if close.is_empty() {
        let (label, state) = ("no pod".to_owned(), service_state(scene));
        let node = PictureNode::new(NodeKind::NearMiss, "near-miss/none".into(), label, state);
        let node = drawn.add(PictureNode { count: 0, ..node });
        drawn.leave_out(service, node, state, nothing.code.code(), || text_of(nothing));
    }
}

/// How the labels of pods differ from a selector.
fn differences(cause: &Cause) -> String {
    let text = |LabelMiss { key, wanted, found }: &LabelMiss| match found {
        Some(found) => format!("{} is {:?}, not {:?}", clip(key), clip(found), clip(wanted)),
        None => format!("{} is missing, {:?} is wanted", clip(key), clip(wanted)),
    };
    let texts: Vec<String> = cause.labels.iter().map(text).collect();
    if texts.is_empty() { text_of(cause) } else { texts.join("; ") }
}
