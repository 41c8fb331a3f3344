//! The endpoints of a Service port, merged from its slices as kube-proxy merges them.

use std::{fmt, net::IpAddr};

use super::{hints::HintFlags, viewpoint::Viewpoint};
use crate::{
    engine::reason::Reason,
    model::{Endpoint, EndpointSlice, Family, ServicePort, Text, parse_lenient, protocol_or_tcp},
};

/// An endpoint of a Service port.
#[derive(Clone, Copy, Debug)]
pub struct ProxyEndpoint<'a> {
    /// The first address of the endpoint: kube-proxy uses no other.
    pub ip: IpAddr,
    /// The port that the slice has for it.
    pub port: i32,
    /// The endpoint in its slice.
    pub endpoint: &'a Endpoint,
    /// The slice.
    pub slice: &'a EndpointSlice,
    /// Whether it is on the node of the view.
    pub is_local: bool,
    /// What its hints say to that node.
    pub(super) hints: HintFlags,
    /// Its conditions, which every rule reads: thousands of endpoints in their slices are spread over megabytes.
    conditions: ConditionFlags,
}

/// What the conditions of an endpoint mean to kube-proxy.
#[derive(Clone, Copy, Debug)]
struct ConditionFlags {
    ready: bool,
    serves_while_terminating: bool,
    terminating: bool,
}

impl ConditionFlags {
    fn of(endpoint: &Endpoint) -> Self {
        let conditions = &endpoint.conditions;
        let terminating = conditions.terminating == Some(true);
        let serves_while_terminating = terminating && conditions.serving != Some(false);
        Self { ready: endpoint.ready(), serves_while_terminating, terminating }
    }
}

impl ProxyEndpoint<'_> {
    /// Whether it takes new connections: an unknown state counts as ready.
    pub fn ready(&self) -> bool {
        self.conditions.ready
    }

    /// Whether it is terminating and still serves: what is used where nothing is ready.
    pub fn serves_while_terminating(&self) -> bool {
        self.conditions.serves_while_terminating
    }

    /// Whether it is terminating.
    pub(super) fn terminating(&self) -> bool {
        self.conditions.terminating
    }

    fn key(&self) -> (u128, i32) {
        let ip = match self.ip {
            IpAddr::V4(ip) => u128::from(ip.to_bits()),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        (ip, self.port)
    }
}

/// Address and port, as in a URL: an IPv6 address is in brackets.
impl fmt::Display for ProxyEndpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            IpAddr::V4(ip) => write!(f, "{ip}:{}", self.port),
            IpAddr::V6(ip) => write!(f, "[{ip}]:{}", self.port),
        }
    }
}

/// An endpoint, and what the node uses it for.
#[derive(Clone, Copy, Debug)]
pub struct ViewedEndpoint<'a> {
    /// The endpoint.
    pub endpoint: ProxyEndpoint<'a>,
    /// What it is used for.
    pub uses: EndpointUse,
    /// Why it is not used, or is used although it is terminating.
    pub reason: Option<Reason>,
}

/// What a node uses an endpoint for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointUse {
    /// For traffic with the policy `Cluster`.
    pub cluster: bool,
    /// For traffic with the policy `Local`.
    pub local: bool,
}

impl EndpointUse {
    /// Whether it is used at all.
    pub fn any(self) -> bool {
        self.cluster || self.local
    }
}

/// The endpoints of a port, and those that another one with the same address replaces.
#[derive(Debug, Default)]
pub(super) struct MergedEndpoints<'a> {
    /// Sorted by address and port; what they are used for is not decided yet.
    pub(super) endpoints: Vec<ViewedEndpoint<'a>>,
    /// Those with the address and port of another one.
    pub(super) duplicates: Vec<ProxyEndpoint<'a>>,
}

impl<'a> MergedEndpoints<'a> {
    /// Merges the endpoints of the slices of a Service (upstream: `endpointInfoByServicePort`,
    /// `addEndpoints`).
    pub(super) fn of(slices: &[&'a EndpointSlice], port: &ServicePort, family: Family, at: Viewpoint<'_>) -> Self {
        let of_family = || slices.iter().filter(|slice| slice.address_type == family.into());
        let mut all: Vec<ViewedEndpoint<'a>> = Vec::with_capacity(of_family().map(|slice| slice.endpoints.len()).sum());
        // A node without a name has no local endpoints. Texts are compared faster with each other than with a `str`.
        let (name, zone) = (Text::new(at.name), Text::new(at.zone()));
        let is_local = |node: Option<&Text>| !name.is_empty() && node == Some(&name);
        let (mut is_sorted, mut last) = (true, None);
        for slice in of_family() {
            for number in numbers(slice, port) {
                for endpoint in &slice.endpoints {
                    // No API server stores a text that is not an address here.
                    let Some(ip) = endpoint.addresses.first().and_then(|address| parse_lenient(address)) else {
                        continue;
                    };
                    let endpoint = ProxyEndpoint {
                        ip,
                        port: number,
                        endpoint,
                        slice,
                        is_local: is_local(endpoint.node_name.as_ref()),
                        hints: HintFlags::of(endpoint, &name, &zone),
                        conditions: ConditionFlags::of(endpoint),
                    };
                    let key = endpoint.key();
                    is_sorted &= last.replace(key).is_none_or(|last| last < key);
                    all.push(ViewedEndpoint { endpoint, uses: EndpointUse::default(), reason: None });
                }
            }
        }
        if is_sorted {
            return Self { endpoints: all, duplicates: Vec::new() };
        }
        // Stable: of equal ones, the order of the slices decides.
        all.sort_by_key(|e| e.endpoint.key());
        let mut merged = Self::default();
        for run in all.chunk_by(|a, b| a.endpoint.key() == b.endpoint.key()) {
            let chosen = chosen(run);
            merged.endpoints.push(run[chosen]);
            let others = run.iter().enumerate().filter(|(place, _)| *place != chosen);
            merged.duplicates.extend(others.map(|(_, e)| e.endpoint));
        }
        merged
    }
}

/// The numbers that a slice has for a Service port. A port without a name in the slice is not used.
fn numbers(slice: &EndpointSlice, port: &ServicePort) -> impl Iterator<Item = i32> {
    let is_same = |name: Option<&Text>, protocol: Option<&Text>| {
        name == Some(&port.name) && protocol_or_tcp(protocol.map_or("", |p| p)) == protocol_or_tcp(&port.protocol)
    };
    slice
        .ports
        .iter()
        .flatten()
        .filter(move |p| is_same(p.name.as_ref(), p.protocol.as_ref()))
        .filter_map(|p| p.port.filter(|number| *number != 0))
}

/// The place of the endpoint that counts among those with one address: the last one that is not terminating, else the
/// first. Two pods have one address for a moment if the network gives the address of an ended pod to a new one.
/// kube-proxy reads slices in random order; here, the order of the input decides.
fn chosen(same: &[ViewedEndpoint<'_>]) -> usize {
    same.iter().rposition(|e| !e.endpoint.terminating()).unwrap_or(0)
}
