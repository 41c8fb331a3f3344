//! What kube-proxy of a node uses for all Services, as a value and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer, ser::SerializeStruct};
use smol_str::{SmolStr, ToSmolStr, format_smolstr};

use super::{
    merged_endpoints::{ProxyEndpoint, ViewedEndpoint},
    port_view::{PortView, Verdict, view_port},
    proxied_service::{not_proxied, other_proxy},
    topology_mode::TopologyMode,
    viewpoint::Viewpoint,
};
use crate::{
    engine::{
        reason::{Finding, Reason},
        view::hints::HintsIgnored,
    },
    model::{EndpointSlice, Family, Service, names},
};

/// The ports of all Services as kube-proxy of a node serves them, for one address family.
#[derive(Debug)]
pub struct ProxyView<'a> {
    /// Sorted by namespace, name, port and protocol.
    pub ports: Vec<PortView<'a>>,
    /// What a user should know: Services that kube-proxy does not serve, hints that are not followed, traffic that is
    /// dropped.
    pub reasons: Vec<Finding>,
}

/// A view lists more endpoints than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the endpoints of all ports are more than {most}")]
pub struct ViewTooLarge {
    most: usize,
}

impl<'a> ProxyView<'a> {
    /// Views all Services from a node; of several objects with one name the last one counts. An endpoint is listed for
    /// each port of its Service: more than `most` of these lines are an error.
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
        let mut view = Self { ports: Vec::new(), reasons: Vec::new() };
        for place in places.into_values() {
            view.add(&services[place], std::mem::take(&mut of_service[place]), family, at);
            if view.lines() > most {
                return Err(ViewTooLarge { most });
            }
        }
        Ok(view)
    }

    /// Views one Service from a node; `slices` are its own, in the order in which they count.
    pub fn of_service(
        service: &'a Service,
        slices: impl IntoIterator<Item = &'a EndpointSlice>,
        family: Family,
        at: Viewpoint<'_>,
    ) -> Self {
        let mut view = Self { ports: Vec::new(), reasons: Vec::new() };
        view.add(service, slices.into_iter().collect(), family, at);
        view
    }

    /// The number of endpoints of all ports.
    pub fn lines(&self) -> usize {
        self.ports.iter().map(|port| port.endpoints.len()).sum()
    }

    fn add(&mut self, service: &'a Service, mut slices: Vec<&'a EndpointSlice>, family: Family, at: Viewpoint<'_>) {
        let mut report = |code, message: String| self.reasons.push(Finding::new(code, service.key(), message));
        if let Some(why) = not_proxied(service, family) {
            return report(Reason::NotProxied, why.to_string());
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
        for port in ports {
            let viewed = view_port(service, port, &slices, family, at);
            self.reasons.extend(viewed.reasons(at));
            self.ports.push(viewed);
        }
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
                report(Reason::HintsFollowed, format!("endpoints hinted for the node {}", at.name));
            }
            TopologyMode::SameZone => {
                report(Reason::HintsFollowed, format!("endpoints hinted for the zone {}", at.zone()));
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
                    report(Reason::NoLocalEndpoint, format!("traffic {traffic} is dropped on the node {}", at.name));
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
