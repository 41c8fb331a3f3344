//! Ports of a Service that kube-proxy does not find in the endpoints that somebody wrote.

use crate::{
    model::{ServiceType, Text, protocol_or_tcp},
    phrase::clip,
    reason::{Finding, Reason},
    state::State,
};

/// Most ports that a message names.
const SHOWN: usize = 5;

/// Adds a finding for each port of a Service without selector that has endpoints, but none with a port of its name and
/// protocol: kube-proxy joins the two by these. It ignores headless Services.
pub(super) fn find(state: &State<'_>, findings: &mut Vec<Finding>) {
    let Some(service) = state.service else { return };
    if service.selector.is_some() || service.kind == ServiceType::ExternalName || service.declared_headless() {
        return;
    }
    let present = endpoint_ports(state);
    if present.is_empty() {
        return;
    }
    let has: Vec<String> = present.iter().take(SHOWN).map(|(name, protocol)| text(name, protocol)).collect();
    let has = has.join(", ");
    for (i, port) in service.ports.iter().enumerate() {
        let wanted = (port.name.clone(), protocol_or_tcp(&port.protocol));
        if present.binary_search(&wanted).is_ok() {
            continue;
        }
        let message = format!(
            "no endpoint has a port {}, and kube-proxy joins ports by name and protocol; the endpoints have {has}",
            text(&wanted.0, wanted.1),
        );
        let pointer = Some(format!("/spec/ports/{i}/name"));
        findings.push(Finding { pointer, ..Finding::new(Reason::EndpointPortMissing, service.key(), message) });
    }
}

fn text(name: &Text, protocol: &str) -> String {
    let (name, protocol) = (clip(name), clip(protocol));
    if name.is_empty() { format!("without a name ({protocol})") } else { format!("named {name} ({protocol})") }
}

/// Names and protocols of the ports with an address, each once.
fn endpoint_ports<'a>(state: &State<'a>) -> Vec<(Text, &'a str)> {
    let subsets = state.endpoints.map_or(&[][..], |e| &e.subsets);
    let subsets = subsets.iter().filter(|s| !s.addresses.is_empty() || !s.not_ready_addresses.is_empty());
    let of_endpoints = subsets.flat_map(|s| &s.ports).map(|p| (p.name.clone(), protocol_or_tcp(&p.protocol)));
    let slices = state.slices.iter().filter(|s| !s.endpoints.is_empty());
    let of_slices = slices
        .flat_map(|s| s.ports.iter().flatten())
        .map(|p| (p.name.clone().unwrap_or_default(), protocol_or_tcp(p.protocol.as_deref().unwrap_or_default())));
    let mut all: Vec<(Text, &str)> = of_endpoints.chain(of_slices).collect();
    all.sort_unstable();
    all.dedup();
    all
}
