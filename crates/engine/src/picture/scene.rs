//! What a picture is drawn from.

use serde::Serialize;

use crate::{
    explain::Explanation,
    model::{EndpointSlice, TargetPort, Text},
    reason::Severity,
    state::{Options, State},
    view::{ServiceView, UnseenEndpoint},
};

/// What a picture is drawn from: a Service with its state, and what the engine answers about it.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The state that is explained.
    pub state: &'a State<'a>,
    /// Which pods serve the Service, and why not the others.
    pub explanation: &'a Explanation,
    /// The slices of the Service after the plan: those of [`planned_slices`](crate::view::planned_slices).
    pub slices: &'a [EndpointSlice],
    /// The options of the plan: they limit slices.
    pub options: &'a Options,
    /// The routes that name the Service.
    pub routes: &'a [Route],
    /// What a node uses of the Service, to show it from there.
    pub from: Option<NodeSight<'a>>,
}

/// What the proxy of a node uses of a Service.
#[derive(Clone, Copy, Debug)]
pub struct NodeSight<'a> {
    /// The name of the node.
    pub node: &'a str,
    /// What it uses.
    pub view: &'a ServiceView<'a>,
    /// The endpoints that do not reach it.
    pub removed: &'a [UnseenEndpoint],
}

/// An Ingress or a route of the Gateway API that sends requests to a Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Its kind, such as `Ingress` or `HTTPRoute`.
    pub kind: Text,
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// The requests that it sends, such as `shop.example.com/cart`; empty for all.
    pub matches: String,
    /// The port of the Service that it names, by number or name; `None` if it names none.
    pub port: Option<TargetPort>,
    /// Why its requests do not reach the Service, if they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<RouteFault>,
}

/// Why the requests of a route do not reach a Service: a finding of the linter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RouteFault {
    /// The code of the rule.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub fix: &'static str,
}
