//! Whether the containers of workloads have the ports that a Service sends to.

use crate::{
    engine::reason::{Finding, Reason},
    inventory::workloads::workload::Workload,
    model::{ContainerPort, Service, ServicePort, TargetPort, Text, protocol_or_tcp},
};

/// The findings about the ports of a Service that selects these workloads. One container with the port is enough: a
/// Service may be meant for some of its pods.
pub(super) fn findings<'a>(service: &'a Service, selected: &'a [&'a Workload]) -> impl Iterator<Item = Finding> + 'a {
    service.ports.iter().enumerate().filter_map(|(i, port)| {
        let (code, message) = match &port.target_port {
            TargetPort::Name(name) if !name.is_empty() => named(name, port, selected)?,
            TargetPort::Number(number) if *number != 0 => numbered(*number, port, selected)?,
            _ => numbered(port.port, port, selected)?,
        };
        let pointer = Some(format!("/spec/ports/{i}/targetPort"));
        Some(Finding { pointer, ..Finding::new(code, service.key(), message) })
    })
}

fn ports<'a>(selected: &'a [&Workload]) -> impl Iterator<Item = &'a ContainerPort> {
    selected.iter().flat_map(|w| w.template.ports.iter())
}

fn named(name: &Text, port: &ServicePort, selected: &[&Workload]) -> Option<(Reason, String)> {
    let protocol = protocol_or_tcp(&port.protocol);
    let of_name: Vec<&ContainerPort> = ports(selected).filter(|p| p.name == *name).collect();
    if of_name.iter().any(|p| protocol_or_tcp(&p.protocol) == protocol) {
        return None;
    }
    let of = list(selected.iter().map(|w| format!("{} {}", w.kind, w.name)));
    if let Some(other) = of_name.first() {
        let has = protocol_or_tcp(&other.protocol);
        let message = format!("the port {name} of {of} has the protocol {has}, and that of the Service {protocol}");
        return Some((Reason::ProtocolMismatch, message));
    }
    let names = list(ports(selected).filter(|p| !p.name.is_empty()).map(|p| p.name.to_string()));
    let has = if names.is_empty() { "no port has a name".to_owned() } else { format!("the names are {names}") };
    Some((Reason::NamedPortMissing, format!("no container of {of} has a port named {name}; {has}")))
}

fn numbered(number: i32, port: &ServicePort, selected: &[&Workload]) -> Option<(Reason, String)> {
    let protocol = protocol_or_tcp(&port.protocol);
    if ports(selected).any(|p| p.number == number && protocol_or_tcp(&p.protocol) == protocol) {
        return None;
    }
    let of = list(selected.iter().map(|w| format!("{} {}", w.kind, w.name)));
    let numbers = list(ports(selected).map(|p| p.number.to_string()));
    let has = if numbers.is_empty() { "they declare none".to_owned() } else { format!("they declare {numbers}") };
    Some((Reason::TargetPortUndeclared, format!("no container of {of} declares the port {number} ({protocol}); {has}")))
}

/// The first texts, each once, and the number of the others.
pub(super) fn list(texts: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 5;
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) && all.len() < 100 {
            all.push(text);
        }
    }
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    all.join(", ") + &rest
}
