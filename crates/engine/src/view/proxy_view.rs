//! What kube-proxy of a node uses for all Services, as a value and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer, ser::SerializeStruct};
use smol_str::{SmolStr, ToSmolStr, format_smolstr};

use super::{
    merged_endpoints::{ProxyEndpoint, ServiceEndpoints, ViewedEndpoint},
    port_view::{PortView, Verdict, view_port},
    proxied_service::{not_proxied, other_proxy},
    topology_mode::TopologyMode,
    traffic_policy::ServicePolicies,
    viewpoint::Viewpoint,
};
use crate::{
    model::{Endpoint, EndpointSlice, Family, Service, ServicePort, Text, names},
    phrase::clip_name,
    reason::{Finding, Reason},
    view::hints::HintsIgnored,
};

/// The ports of all Services as kube-proxy of a node serves them, for one address family.
#[derive(Debug)]
pub struct ProxyView<'a> {
    /// Sorted by namespace, name, port and protocol.
    pub ports: Vec<PortView<'a>>,
    /// What a user should know: Services that kube-proxy does not serve, hints that are not followed, traffic that is
    /// dropped.
    pub reasons: Vec<Finding>,
    /// The length of the names that it repeats, if that was limited.
    text: usize,
}

/// A view repeats more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewTooLarge {
    /// It lists too many endpoints.
    #[error("the endpoints of all ports are more than {0}")]
    Endpoints(usize),
    /// It looks at too many endpoints: those with the address of another one count as well.
    #[error("the endpoints of all ports, with those that share an address, are more than {0}")]
    Duplicates(usize),
    /// The names in it are too long.
    #[error("the names of the endpoints of all ports are longer than {} MiB together", .0 >> 20)]
    Names(usize),
}

/// The most endpoints that the view of one Service lists. A Service with 5000 endpoints may have 50 ports.
const MAX_SERVICE_LINES: usize = 1 << 18;

/// What a view may repeat. It is added up before any of it is made.
struct ViewBudget {
    most: usize,
    lines: usize,
    looked_at: usize,
    text: usize,
}

impl ViewBudget {
    /// How many endpoints may be looked at for each that may be listed.
    const LOOKS: usize = 16;
    /// The bytes of names for each endpoint that may be listed.
    const TEXT: usize = 1024;

    /// Takes what the ports of a Service are going to repeat.
    fn take(
        &mut self,
        service: &Service,
        ports: &[&ServicePort],
        all: &ServiceEndpoints<'_>,
    ) -> Result<(), ViewTooLarge> {
        let texts: Vec<usize> = all.slices().iter().map(|slice| text_of(slice)).collect();
        let of_service = service.meta.namespace.len() + service.meta.name.len();
        for port in ports {
            self.looked_at = self.looked_at.saturating_add(all.work(port));
            let text = all.slices_of(port).map(|place| texts[place]).fold(of_service, usize::saturating_add);
            self.text = self.text.saturating_add(text);
        }
        let (looks, text) = (self.most.saturating_mul(Self::LOOKS), self.most.saturating_mul(Self::TEXT));
        match () {
            () if self.looked_at > looks => Err(ViewTooLarge::Duplicates(looks)),
            () if self.text > text => Err(ViewTooLarge::Names(text)),
            () => Ok(()),
        }
    }

    /// Counts the endpoints that are listed.
    fn count(&mut self, listed: usize) -> Result<(), ViewTooLarge> {
        self.lines += listed;
        if self.lines > self.most { Err(ViewTooLarge::Endpoints(self.most)) } else { Ok(()) }
    }
}

/// The length of the names that the lines of a slice have.
fn text_of(slice: &EndpointSlice) -> usize {
    let of_endpoint = |e: &Endpoint| {
        let target = e.target_ref.as_ref().map_or(0, |target| target.kind.len() + target.name.len());
        let place = e.node_name.as_ref().map_or(0, Text::len) + e.zone.as_ref().map_or(0, Text::len);
        slice.meta.name.len() + target + place
    };
    slice.endpoints.iter().map(of_endpoint).sum()
}

impl<'a> ProxyView<'a> {
    /// Views all Services from a node; of several objects with one name the last one counts. An endpoint is listed for
    /// each port of its Service: more than `most` of these lines are an error, as are lines that repeat too long names.
    pub fn of(
        services: &'a [Service],
        slices: &'a [EndpointSlice],
        family: Family,
        at: Viewpoint<'_>,
        most: usize,
    ) -> Result<Self, ViewTooLarge> {
        let places: BTreeMap<(&str, &str), usize> =
            services.iter().map(|s| (s.meta.namespace.as_str(), s.meta.name.as_str())).zip(0..).collect();
        let mut of_service: Vec<Vec<&EndpointSlice>> = vec![Vec::new(); services.len()];
        for slice in slices {
            let service =
                slice.service_name().and_then(|name| places.get(&(slice.meta.namespace.as_str(), name.as_str())));
            if let Some(place) = service {
                of_service[*place].push(slice);
            }
        }
        let mut view = Self { ports: Vec::new(), reasons: Vec::new(), text: 0 };
        let mut budget = ViewBudget { most, lines: 0, looked_at: 0, text: 0 };
        for place in places.into_values() {
            let (service, before) = (&services[place], view.ports.len());
            let slices = std::mem::take(&mut of_service[place]);
            view.add(service, slices, family, at, |ports, all| budget.take(service, ports, all))?;
            budget.count(view.ports[before..].iter().map(|port| port.endpoints.len()).sum())?;
        }
        view.text = budget.text;
        Ok(view)
    }

    /// Views one Service from a node; `slices` are its own, in the order in which they count. If its ports repeat too much, they
    /// are not viewed, and the reasons say so.
    pub fn of_service(
        service: &'a Service,
        slices: impl IntoIterator<Item = &'a EndpointSlice>,
        family: Family,
        at: Viewpoint<'_>,
    ) -> Self {
        let mut view = Self { ports: Vec::new(), reasons: Vec::new(), text: 0 };
        let mut budget = ViewBudget { most: MAX_SERVICE_LINES, lines: 0, looked_at: 0, text: 0 };
        let slices = slices.into_iter().collect();
        if let Err(error) = view.add(service, slices, family, at, |ports, all| budget.take(service, ports, all)) {
            view.reasons.push(Finding::new(Reason::PlanTooLarge, service.key(), format!("unchecked: {error}")));
        }
        view
    }

    /// The length of the names of all endpoints, once for each port.
    pub fn text(&self) -> usize {
        self.text
    }

    /// The number of endpoints of all ports.
    pub fn lines(&self) -> usize {
        self.ports.iter().map(|port| port.endpoints.len()).sum()
    }

    /// Views a Service, if `check` allows what its ports repeat.
    fn add(
        &mut self,
        service: &'a Service,
        mut slices: Vec<&'a EndpointSlice>,
        family: Family,
        at: Viewpoint<'_>,
        check: impl FnOnce(&[&'a ServicePort], &ServiceEndpoints<'a>) -> Result<(), ViewTooLarge>,
    ) -> Result<(), ViewTooLarge> {
        let mut report = |code, message: String| self.reasons.push(Finding::new(code, service.key(), message));
        if let Some(why) = not_proxied(service, family) {
            report(Reason::NotProxied, why.to_string());
            return Ok(());
        }
        if let Some(name) = other_proxy(service) {
            report(
                Reason::OtherProxy,
                format!(
                    "the label {} gives it to {name:?}; the ports say what kube-proxy would use",
                    names::PROXY_NAME
                ),
            );
        }
        slices.retain(|slice| is_read(slice, service));
        let slices = last_of_each_name(slices);
        let mut ports: Vec<_> = service.ports.iter().rev().collect();
        // Of two ports with one name and protocol the last one counts: the sort is stable.
        ports.sort_by_key(|port| (&port.name, &port.protocol));
        ports.dedup_by_key(|port| (&port.name, &port.protocol));
        let all = ServiceEndpoints::of(&slices, ports.len(), family, at);
        check(&ports, &all)?;
        let policies = ServicePolicies::of(service, family);
        for port in ports {
            let viewed = view_port(service, port, policies.of_port(port), &all, at);
            self.reasons.extend(viewed.reasons(at));
            self.ports.push(viewed);
        }
        Ok(())
    }
}

/// Slices in the order of the input, each name once: the last one counts.
fn last_of_each_name(mut slices: Vec<&EndpointSlice>) -> Vec<&EndpointSlice> {
    let mut seen = BTreeSet::new();
    slices.reverse();
    slices.retain(|slice| seen.insert(slice.meta.name.as_str()));
    slices.reverse();
    slices
}

/// Whether kube-proxy reads a slice: it asks for those without these labels.
fn is_read(slice: &EndpointSlice, service: &Service) -> bool {
    let has = |label| slice.meta.labels.contains_key(label);
    !has(names::HEADLESS) && (!has(names::PROXY_NAME) || other_proxy(service).is_some())
}

impl PortView<'_> {
    /// What a user should know of the port.
    fn reasons(&self, at: Viewpoint<'_>) -> Vec<Finding> {
        let name = if self.port.name.is_empty() { self.port.port.to_smolstr() } else { self.port.name.clone() };
        let mut reasons = Vec::new();
        let mut report = |code, message: String| {
            reasons.push(Finding::new(code, self.service.key(), format!("port {name}: {message}")));
        };
        let has_hints = |e: &ViewedEndpoint<'_>| e.endpoint.endpoint.hints.is_some();
        match self.topology {
            _ if !self.policies.uses_cluster() => {}
            TopologyMode::SameNode => {
                report(Reason::HintsFollowed, format!("endpoints hinted for the node {}", clip_name(at.name)));
            }
            TopologyMode::SameZone => {
                report(Reason::HintsFollowed, format!("endpoints hinted for the zone {}", clip_name(at.zone())));
            }
            TopologyMode::Everywhere(HintsIgnored::NoHints | HintsIgnored::NoneReady) => {}
            TopologyMode::Everywhere(why) if self.endpoints.iter().any(has_hints) => {
                report(Reason::HintsIgnored, why.to_string());
            }
            TopologyMode::Everywhere(_) => {}
        }
        for (traffic, verdict) in [("to the cluster IP", Some(self.internal())), ("from outside", self.external())] {
            match verdict {
                Some(Verdict::Dropped) => {
                    let node = clip_name(at.name);
                    report(Reason::NoLocalEndpoint, format!("traffic {traffic} is dropped on the node {node}"));
                }
                Some(Verdict::Rejected) => {
                    report(Reason::PortUnserved, format!("traffic {traffic} is rejected: no endpoint takes it"));
                }
                Some(Verdict::Forwarded) | None => {}
            }
        }
        reasons
    }
}

impl Serialize for PortView<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("PortView", 11)?;
        let meta = &self.service.meta;
        out.serialize_field("service", &format_smolstr!("{}/{}", meta.namespace, meta.name))?;
        out.serialize_field("port", &self.port.name)?;
        out.serialize_field("protocol", crate::model::protocol_or_tcp(&self.port.protocol))?;
        out.serialize_field("cluster", &self.cluster().map(listed))?;
        out.serialize_field("local", &self.local().map(listed))?;
        out.serialize_field("reachable", &self.reachable().map(listed))?;
        out.serialize_field("hasAny", &self.has_any)?;
        out.serialize_field("internal", self.internal().as_str())?;
        out.serialize_field("external", &self.external().map(Verdict::as_str))?;
        out.serialize_field("topology", topology_word(self.topology))?;
        out.serialize_field("endpoints", &self.endpoints)?;
        out.end()
    }
}

fn listed<'e>(endpoints: impl Iterator<Item = &'e ProxyEndpoint<'e>>) -> Vec<SmolStr> {
    endpoints.map(ToSmolStr::to_smolstr).collect()
}

fn topology_word(mode: TopologyMode) -> &'static str {
    match mode {
        TopologyMode::SameNode => "same-node",
        TopologyMode::SameZone => "same-zone",
        TopologyMode::Everywhere(_) => "everywhere",
    }
}

impl Serialize for ViewedEndpoint<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let ProxyEndpoint { endpoint, slice, .. } = &self.endpoint;
        let mut out = s.serialize_struct("ViewedEndpoint", 8)?;
        out.serialize_field("address", &self.endpoint.to_smolstr())?;
        out.serialize_field("slice", &slice.meta.name)?;
        if let Some(target) = &endpoint.target_ref {
            out.serialize_field("target", &format_smolstr!("{}/{}", target.kind, target.name))?;
        }
        if let Some(node) = &endpoint.node_name {
            out.serialize_field("node", node)?;
        }
        if let Some(zone) = &endpoint.zone {
            out.serialize_field("zone", zone)?;
        }
        out.serialize_field("cluster", &self.uses.cluster)?;
        out.serialize_field("local", &self.uses.local)?;
        if let Some(reason) = &self.reason {
            out.serialize_field("reason", reason)?;
        }
        out.end()
    }
}
