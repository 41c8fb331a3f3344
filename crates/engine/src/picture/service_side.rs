//! The nodes before the slices: routes, the Service, its ports, and Endpoints that somebody wrote.

use std::ops::Range;

use super::{
    composer::Composer,
    graph::{EdgeKind, NodeKind, PictureNode, PictureReason, PictureState},
    members::Members,
    scene::{Route, Scene},
};
use crate::{
    explain::{Cause, CountByPlace, ServedTotals},
    model::{Service, ServicePort, ServiceType, TargetPort, Text, installed::MANAGER, names, protocol_or_tcp},
    phrase::{clip, counted, label_text},
    reason::Reason,
};

/// The most routes and ports that are drawn; one node stands for the others.
const MOST_ROUTES: usize = 12;
const MOST_PORTS: usize = 16;
/// The most pairs of a selector that are shown.
const SHOWN_PAIRS: usize = 4;

/// The nodes of a Service.
pub(super) struct ServiceSide {
    pub(super) service: usize,
    /// The nodes of the ports; the last one stands for all others.
    ports: Vec<usize>,
    pub(super) endpoints: Option<usize>,
}

impl ServiceSide {
    /// Adds the nodes, and the edges between them.
    pub(super) fn add(scene: &Scene<'_>, members: &Members<'_>, drawn: &mut Composer) -> Self {
        let state = if scene.explanation.rows.is_empty() { state_by_endpoints(scene, members) } else { None };
        let state = state.unwrap_or_else(|| service_state(scene));
        let routes = add_routes(scene, drawn);
        let service = drawn.add(service_node(scene, state));
        for (route, is_broken) in routes {
            let of_route = if is_broken { PictureState::Broken } else { without_misfit(state) };
            drawn.connect_as(route, service, EdgeKind::Traffic, of_route);
        }
        let ports = add_ports(scene, members, state, drawn);
        for port in &ports {
            let state = drawn.nodes[*port].state;
            drawn.connect_as(service, *port, EdgeKind::Traffic, state);
        }
        let endpoints = add_endpoints(scene, drawn);
        Self { service, ports, endpoints }
    }

    /// The node of a port; that of the Service if it has none.
    pub(super) fn port(&self, place: usize) -> usize {
        self.ports.get(place).or(self.ports.last()).copied().unwrap_or(self.service)
    }

    /// The nodes of these ports; that of the Service for all of them, and if it has none.
    pub(super) fn of_ports(&self, places: Option<&Range<usize>>) -> &[usize] {
        let service = std::slice::from_ref(&self.service);
        let (Some(places), Some(last)) = (places, self.ports.len().checked_sub(1)) else { return service };
        self.ports.get(places.start.min(last)..places.end.min(last + 1).max(1)).unwrap_or(service)
    }
}

/// The state of what leads to a Service, or from it: routes and ports do not cause a selector to miss its pods.
fn without_misfit(state: PictureState) -> PictureState {
    if state == PictureState::Broken { PictureState::NotServed } else { state }
}

/// The state of a Service by what is explained.
pub(super) fn service_state(scene: &Scene<'_>) -> PictureState {
    let explanation = scene.explanation;
    let has = |code: Reason| explanation.reasons.iter().any(|cause| cause.code == code);
    let totals = ServedTotals::of(explanation);
    match totals.pod_ports {
        0 if explanation.hides_pods() => PictureState::Unknown,
        0 if has(Reason::ExternalName) => PictureState::Plain,
        0 if has(Reason::LabelDiffers) || has(Reason::OtherNamespace) => PictureState::Broken,
        all => PictureState::of_parts(totals.served, all),
    }
}

/// The state by the endpoints of the slices, for a Service whose endpoints somebody else writes.
fn state_by_endpoints(scene: &Scene<'_>, members: &Members<'_>) -> Option<PictureState> {
    let selects = scene.state.service.is_some_and(|service| service.selector.is_some());
    let ready = members.places.iter().filter(|place| place.is_ready).count();
    (!selects && !members.places.is_empty()).then(|| PictureState::of_parts(ready, members.places.len()))
}

fn service_node(scene: &Scene<'_>, state: PictureState) -> PictureNode {
    let name = scene.explanation.service.as_ref().map(|key| key.name.to_string()).unwrap_or_default();
    let (detail, state) = match scene.state.service {
        Some(service) => (format!("{}; {}", type_text(service), selector_text(service)), state),
        None => ("there is no Service of this name".to_owned(), PictureState::Broken),
    };
    PictureNode { detail, ..PictureNode::new(NodeKind::Service, "service".into(), name, state) }
}

fn type_text(service: &Service) -> String {
    let address = || clip(&service.cluster_ip);
    match service.kind {
        ServiceType::ExternalName => "ExternalName".to_owned(),
        _ if service.declared_headless() => "headless".to_owned(),
        ServiceType::ClusterIp if service.cluster_ip.is_empty() => "ClusterIP".to_owned(),
        ServiceType::ClusterIp => format!("ClusterIP {}", address()),
        ServiceType::NodePort => format!("NodePort {}", address()),
        ServiceType::LoadBalancer => format!("LoadBalancer {}", address()),
    }
}

fn selector_text(service: &Service) -> String {
    let Some(selector) = &service.selector else { return "no selector".to_owned() };
    let pair = |(key, value): (&Text, &Text)| format!("{}={}", label_text(clip(key)), label_text(clip(value)));
    let pairs: Vec<String> = selector.iter().take(SHOWN_PAIRS).map(pair).collect();
    match selector.len().saturating_sub(pairs.len()) {
        0 if pairs.is_empty() => "selects all pods".to_owned(),
        0 => format!("selects {}", pairs.join(", ")),
        more => format!("selects {} and {more} more", pairs.join(", ")),
    }
}

/// Adds the routes, those with a fault first. Returns their nodes, and which are broken.
fn add_routes(scene: &Scene<'_>, drawn: &mut Composer) -> Vec<(usize, bool)> {
    let mut routes: Vec<&Route> = scene.routes.iter().collect();
    // Stable: routes stay in order.
    routes.sort_by_key(|route| route.fault.is_none());
    let shown = if routes.len() > MOST_ROUTES { MOST_ROUTES - 1 } else { routes.len() };
    let own = scene.explanation.service.as_ref().map(|key| &key.namespace);
    let mut nodes: Vec<(usize, bool)> = Vec::new();
    for route in &routes[..shown] {
        nodes.push((drawn.add(route_node(route, own)), route.fault.is_some()));
    }
    let others = &routes[shown..];
    if !others.is_empty() {
        let is_broken = others.iter().any(|route| route.fault.is_some());
        let state = if is_broken { PictureState::Broken } else { PictureState::Plain };
        let label = format!("{} more routes", others.len());
        let node = PictureNode::new(NodeKind::Route, "routes/more".into(), label, state);
        nodes.push((drawn.add(PictureNode { count: others.len(), ..node }), is_broken));
    }
    nodes
}

fn route_node(route: &Route, own: Option<&Text>) -> PictureNode {
    let Route { kind, namespace, name, matches, port, fault } = route;
    let state = if fault.is_some() { PictureState::Broken } else { PictureState::Plain };
    let port = match port {
        Some(TargetPort::Number(number)) => format!("port {number}"),
        Some(TargetPort::Name(name)) => format!("port {}", clip(name)),
        None => "no port".to_owned(),
    };
    let label = if own.is_none_or(|own| own == namespace) { name.to_string() } else { format!("{namespace}/{name}") };
    let id = format!("route/{kind}/{namespace}/{name}/{matches}/{port}");
    let matches = if matches.is_empty() { String::new() } else { format!(" {matches}") };
    let reason = |fault: &super::RouteFault| PictureReason::new(fault.code, fault.severity, &fault.message, fault.fix);
    PictureNode {
        detail: format!("{kind}{matches}; to {port}"),
        reasons: fault.as_ref().map(reason).into_iter().collect(),
        ..PictureNode::new(NodeKind::Route, id, label, state)
    }
}

/// Adds the ports. Returns the node of each; the last one stands for all others.
fn add_ports(scene: &Scene<'_>, members: &Members<'_>, whole: PictureState, drawn: &mut Composer) -> Vec<usize> {
    let ports = scene.state.service.map_or(&[][..], |service| &service.ports);
    let states = port_states(ports, members, whole);
    let shown = if ports.len() > MOST_PORTS { MOST_PORTS - 1 } else { ports.len() };
    let mut nodes: Vec<usize> = Vec::new();
    for (place, (port, state)) in ports.iter().zip(&states).enumerate().take(shown) {
        nodes.push(drawn.add(port_node(place, port, *state)));
    }
    if let Some(worst) = states[shown..].iter().max() {
        let others = ports.len() - shown;
        let node = PictureNode::new(NodeKind::Port, "ports/more".into(), format!("{others} more ports"), *worst);
        nodes.push(drawn.add(PictureNode { count: others, ..node }));
    }
    nodes
}

/// How each port is served by the pods; if no pod is known, as the whole is.
fn port_states(ports: &[ServicePort], members: &Members<'_>, whole: PictureState) -> Vec<PictureState> {
    let whole = without_misfit(whole);
    let (mut served, mut misfits) = (CountByPlace::of(ports.len()), CountByPlace::of(ports.len()));
    let mut pods = 0;
    for member in members.all.iter().filter(|member| member.verdict.state != PictureState::Unknown) {
        let verdict = &member.verdict;
        pods += usize::from(!verdict.served.is_empty() || verdict.cause.is_some());
        verdict.served.iter().for_each(|ports| served.add(ports));
        let is_misfit = |cause: &Cause| super::verdict_of_pod::is_misfit(cause);
        let of_ports = verdict.left_out.iter().filter(|(_, cause)| is_misfit(cause)).filter_map(|(of, _)| of.as_ref());
        of_ports.for_each(|ports| misfits.add(ports));
    }
    let state = |(served, misfits): (usize, usize)| match pods {
        0 => whole,
        all if misfits == all => PictureState::Broken,
        all => PictureState::of_parts(served, all),
    };
    served.counts().zip(misfits.counts()).map(state).collect()
}

fn port_node(place: usize, port: &ServicePort, state: PictureState) -> PictureNode {
    let protocol = match protocol_or_tcp(&port.protocol) {
        "TCP" => String::new(),
        other => format!("/{}", clip(other)),
    };
    let name = if port.name.is_empty() { String::new() } else { format!(" {}", port.name) };
    let target = match &port.target_port {
        TargetPort::Number(number) => number.to_string(),
        TargetPort::Name(name) => format!("named {}", label_text(clip(name))),
    };
    let id = if port.name.is_empty() { format!("port/{place}") } else { format!("port/{}", port.name) };
    let label = format!("{}{protocol}{name}", port.port);
    PictureNode { detail: format!("to port {target}"), ..PictureNode::new(NodeKind::Port, id, label, state) }
}

/// Adds the Endpoints of a Service whose pods no controller looks for.
fn add_endpoints(scene: &Scene<'_>, drawn: &mut Composer) -> Option<usize> {
    let selects = scene.state.service.is_some_and(|service| service.selector.is_some());
    let endpoints = scene.state.endpoints.filter(|_| !selects)?;
    let addresses = endpoints.subsets.iter().map(|s| s.addresses.len() + s.not_ready_addresses.len()).sum();
    let is_own = endpoints.meta.labels.get(names::ENDPOINTS_MANAGED_BY).is_some_and(|by| by == MANAGER);
    let by = if is_own { "by `roster controller --beside`" } else { "written by hand" };
    let detail = format!("{by}, {}", counted(addresses, "address"));
    let name = endpoints.meta.name.to_string();
    let node = PictureNode::new(NodeKind::Endpoints, "endpoints".into(), name, PictureState::Plain);
    Some(drawn.add(PictureNode { detail, ..node }))
}
