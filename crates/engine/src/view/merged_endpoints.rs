//! The endpoints of a Service port, merged from its slices as kube-proxy merges them.

use std::{fmt, net::IpAddr};

use super::{hints::HintFlags, viewpoint::Viewpoint};
use crate::{
    model::{Endpoint, EndpointSlice, Family, ServicePort, Text, parse_lenient, protocol_or_tcp},
    reason::Reason,
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

/// The endpoints of a Service in one address family as kube-proxy of a node reads them, for all its ports.
pub(super) struct ServiceEndpoints<'a> {
    slices: Vec<&'a EndpointSlice>,
    reader: EndpointReader,
    /// The endpoints of each slice, where several ports read them.
    read: Option<Vec<Vec<ProxyEndpoint<'a>>>>,
    /// The ports of the slices, sorted by name and protocol, those of one in the order of the slices.
    ports: Vec<JoinedPort<'a>>,
}

/// A port of a slice. Those without a name or number are not used.
struct JoinedPort<'a> {
    key: (&'a Text, &'a str),
    /// The place of the slice.
    slice: usize,
    number: i32,
}

/// What the node of a view compares endpoints with. Texts are compared faster with each other than with a `str`.
struct EndpointReader {
    node: Text,
    zone: Text,
}

impl EndpointReader {
    fn read<'a>(&self, slice: &'a EndpointSlice, endpoint: &'a Endpoint, port: i32) -> Option<ProxyEndpoint<'a>> {
        // No API server stores a text that is not an address here.
        let ip = endpoint.addresses.first().and_then(|address| parse_lenient(address))?;
        Some(ProxyEndpoint {
            ip,
            port,
            endpoint,
            slice,
            // A node without a name has no local endpoints.
            is_local: !self.node.is_empty() && endpoint.node_name.as_ref() == Some(&self.node),
            hints: HintFlags::of(endpoint, &self.node, &self.zone),
            conditions: ConditionFlags::of(endpoint),
        })
    }
}

impl<'a> ServiceEndpoints<'a> {
    /// Reads the slices of a Service; `asked` ports are going to be merged.
    pub(super) fn of(slices: &[&'a EndpointSlice], asked: usize, family: Family, at: Viewpoint<'_>) -> Self {
        let slices: Vec<_> = slices.iter().copied().filter(|slice| slice.address_type == family.into()).collect();
        let reader = EndpointReader { node: Text::new(at.name), zone: Text::new(at.zone()) };
        let mut ports: Vec<JoinedPort<'a>> = Vec::new();
        for (place, slice) in slices.iter().enumerate() {
            ports.extend(slice.ports.iter().flatten().filter_map(|port| {
                let protocol = protocol_or_tcp(port.protocol.as_deref().unwrap_or_default());
                let number = port.port.filter(|number| *number != 0)?;
                Some(JoinedPort { key: (port.name.as_ref()?, protocol), slice: place, number })
            }));
        }
        // Stable: of equal endpoints, the order of the slices decides.
        ports.sort_by(|a, b| a.key.cmp(&b.key));
        let read = (asked > 1).then(|| {
            let of_slice = |slice: &&'a EndpointSlice| {
                slice.endpoints.iter().filter_map(|endpoint| reader.read(slice, endpoint, 0)).collect()
            };
            slices.iter().map(of_slice).collect()
        });
        Self { slices, reader, read, ports }
    }

    /// The ports of slices that kube-proxy joins with a port of the Service.
    fn joined(&self, port: &'a ServicePort) -> &[JoinedPort<'a>] {
        let key = (&port.name, protocol_or_tcp(&port.protocol));
        let first = self.ports.partition_point(|joined| joined.key < key);
        let count = self.ports[first..].partition_point(|joined| joined.key == key);
        &self.ports[first..first + count]
    }

    /// How many endpoints are looked at for a port.
    pub(super) fn work(&self, port: &'a ServicePort) -> usize {
        self.joined(port).iter().map(|joined| 1 + self.slices[joined.slice].endpoints.len()).sum()
    }

    /// The slices that are looked at for a port, each once for every number.
    pub(super) fn slices_of(&self, port: &'a ServicePort) -> impl Iterator<Item = usize> {
        self.joined(port).iter().map(|joined| joined.slice)
    }

    /// The slices.
    pub(super) fn slices(&self) -> &[&'a EndpointSlice] {
        &self.slices
    }

    /// Merges the endpoints of a port (upstream: `endpointInfoByServicePort`, `addEndpoints`).
    pub(super) fn merged(&self, port: &'a ServicePort) -> MergedEndpoints<'a> {
        let joined = self.joined(port);
        let mut all = EndpointRun { list: Vec::with_capacity(self.work(port)), is_sorted: true, last: None };
        for &JoinedPort { slice, number, .. } in joined {
            if let Some(read) = &self.read {
                read[slice].iter().for_each(|endpoint| all.push(ProxyEndpoint { port: number, ..*endpoint }));
            } else {
                let slice = self.slices[slice];
                let read = slice.endpoints.iter().filter_map(|e| self.reader.read(slice, e, number));
                read.for_each(|endpoint| all.push(endpoint));
            }
        }
        all.merged()
    }
}

/// Endpoints in the order of their slices.
struct EndpointRun<'a> {
    list: Vec<ViewedEndpoint<'a>>,
    is_sorted: bool,
    last: Option<(u128, i32)>,
}

impl<'a> EndpointRun<'a> {
    #[inline]
    fn push(&mut self, endpoint: ProxyEndpoint<'a>) {
        let key = endpoint.key();
        self.is_sorted &= self.last.replace(key).is_none_or(|last| last < key);
        self.list.push(ViewedEndpoint { endpoint, uses: EndpointUse::default(), reason: None });
    }

    fn merged(self) -> MergedEndpoints<'a> {
        let Self { list: mut all, is_sorted, .. } = self;
        if is_sorted {
            return MergedEndpoints { endpoints: all, duplicates: Vec::new() };
        }
        // Stable: of equal ones, the order of the slices decides.
        all.sort_by_key(|e| e.endpoint.key());
        let mut merged = MergedEndpoints::default();
        for run in all.chunk_by(|a, b| a.endpoint.key() == b.endpoint.key()) {
            let chosen = chosen(run);
            merged.endpoints.push(run[chosen]);
            let others = run.iter().enumerate().filter(|(place, _)| *place != chosen);
            merged.duplicates.extend(others.map(|(_, e)| e.endpoint));
        }
        merged
    }
}

/// The place of the endpoint that counts among those with one address: the last one that is not terminating, else the
/// first. Two pods have one address for a moment if the network gives the address of an ended pod to a new one.
/// kube-proxy reads slices in random order; here, the order of the input decides.
fn chosen(same: &[ViewedEndpoint<'_>]) -> usize {
    same.iter().rposition(|e| !e.endpoint.terminating()).unwrap_or(0)
}
