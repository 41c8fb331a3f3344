//! Which endpoints the proxy of a node uses, and why not the others.

use roster_engine::{
    model::{
        EndpointSlice, Endpoints, Family, Nodes, ObjectKey, Text,
        spelling::{did_you_mean, nearest},
    },
    phrase::clip_name,
    reason::{Finding, Reason},
    view::{GridView, PortView, ProxyView, PrunedView, Viewpoint, YurtView},
};
use roster_manifests::decode::request::{ViewRequest, ViewScheme, read_view};
use serde::Serialize;

use crate::{Answer, Params, PostedBody, PreparedCall, Problem, ProblemKind, input};

/// Most endpoints that are listed, each once for every port of its Service.
const MAX_LINES: usize = 200_000;
/// Memory that a line of the answer takes, about.
const LINE_BYTES: usize = 256;

pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    Params::read(query, &[])?;
    Ok(PreparedCall::new(of_body))
}

/// The answer about a node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ViewResponse<'a> {
    node: &'a Text,
    #[serde(flatten)]
    content: ViewContent<'a>,
    reasons: Vec<Finding>,
    problems: Vec<Finding>,
}

#[derive(Serialize)]
#[serde(tag = "scheme", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum ViewContent<'a> {
    #[serde(rename = "kube-proxy")]
    KubeProxy { ip_family: Family, ports: Vec<PortView<'a>> },
    #[serde(rename = "superedge")]
    SuperEdge { endpoints: Vec<Endpoints>, endpoint_slices: Vec<EndpointSlice> },
    #[serde(rename = "openyurt")]
    OpenYurt { endpoint_slices: Vec<EndpointSlice> },
}

fn of_body(posted: &PostedBody<'_>) -> Result<Answer, Problem> {
    let (text, source) = input::text(posted)?;
    let mut request =
        read_view(&input::json(posted, text)?, &source).map_err(|error| input::request_error(posted, error))?;
    posted.interrupt.check()?;
    let nodes = Nodes::new(std::mem::take(&mut request.known.nodes));
    let ViewRequest { node, scheme, known, .. } = &request;
    let at = Viewpoint { name: node, node: nodes.get(node) };
    let (content, reasons) = match scheme {
        ViewScheme::KubeProxy => of_kube_proxy(posted, &request, at)?,
        ViewScheme::SuperEdge => of_grid(&request, &nodes, at),
        ViewScheme::OpenYurt => of_yurt(&request, at),
    };
    posted.interrupt.check()?;
    let mut problems = input::listed(&known.problems);
    problems.extend(unknown_node(&request, &nodes));
    problems.extend(known.assumptions());
    Answer::json(&ViewResponse { node, content, reasons, problems })
}

/// The finding that nothing in the request knows the node: neither a Node nor an endpoint that is on it.
fn unknown_node(ViewRequest { node, known, .. }: &ViewRequest, nodes: &Nodes) -> Option<Finding> {
    let of_slices = || known.slices.iter().flat_map(|slice| &slice.endpoints).filter_map(|e| e.node_name.as_ref());
    let of_endpoints = || {
        known.endpoints.iter().flat_map(|e| &e.subsets).flat_map(|s| s.addresses.iter().chain(&s.not_ready_addresses))
    };
    let of_endpoints = || of_endpoints().filter_map(|address| address.node_name.as_ref());
    if nodes.get(node).is_some() || of_slices().chain(of_endpoints()).any(|name| name == node) {
        return None;
    }
    let meant = nearest(node, nodes.iter().map(|known| &known.name), |name| name.as_str());
    let meant = did_you_mean(meant.map(Text::as_str).as_slice());
    let message = format!("nothing is known of node {}, neither labels nor a zone{meant}", clip_name(node));
    let key = ObjectKey::new("Node", &Text::default(), node);
    Some(Finding { pointer: Some("/node".to_owned()), ..Finding::new(Reason::NotChecked, key, message) })
}

fn of_kube_proxy<'a>(
    posted: &PostedBody<'_>,
    request: &'a ViewRequest,
    at: Viewpoint<'_>,
) -> Result<(ViewContent<'a>, Vec<Finding>), Problem> {
    let ViewRequest { family, known, .. } = request;
    let view = ProxyView::of(&known.services, &known.slices, *family, at, MAX_LINES)
        .map_err(|error| Problem::new(ProblemKind::TooLarge, error.to_string()))?;
    posted.charge(view.lines() * LINE_BYTES + view.text())?;
    Ok((ViewContent::KubeProxy { ip_family: *family, ports: view.ports }, view.reasons))
}

fn of_grid<'a>(request: &'a ViewRequest, nodes: &Nodes, at: Viewpoint<'_>) -> (ViewContent<'a>, Vec<Finding>) {
    let ViewRequest { options, known, .. } = request;
    let grid = GridView {
        at,
        nodes,
        substitutes_api_server: options.substitute_local_apiserver,
        health: options.health_filter.then_some(&options.health),
        order: options.topology_mode,
    };
    let view = PrunedView::of_grid(&grid, &known.services, &known.endpoints, &known.slices);
    let PrunedView { endpoints, endpoint_slices, reasons } = view;
    (ViewContent::SuperEdge { endpoints, endpoint_slices }, reasons)
}

fn of_yurt<'a>(request: &'a ViewRequest, at: Viewpoint<'_>) -> (ViewContent<'a>, Vec<Finding>) {
    let ViewRequest { options, pools, known, .. } = request;
    let yurt = YurtView::new(at, pools, options.pool_topology);
    let PrunedView { endpoint_slices, reasons, .. } = PrunedView::of_yurt(&yurt, &known.services, &known.slices);
    (ViewContent::OpenYurt { endpoint_slices }, reasons)
}
