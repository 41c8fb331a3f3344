//! Whether the containers of workloads have the ports that a Service sends to.

use super::matching::letters;
use crate::{
    engine::reason::{Finding, Reason, Severity},
    inventory::workloads::workload::Workload,
    model::{ContainerPort, Service, ServicePort, TargetPort, Text, protocol_or_tcp},
};

/// The findings about the ports of a Service that selects these workloads.
pub(super) fn findings<'a>(service: &'a Service, selected: &'a [&'a Workload]) -> impl Iterator<Item = Finding> + 'a {
    service.ports.iter().enumerate().flat_map(move |(i, port)| {
        let found = match &port.target_port {
            TargetPort::Name(name) if !name.is_empty() => match named(name, port, selected) {
                Some((code, message)) => vec![(code, code.severity(), message)],
                None => missing_in_some(name, port, selected),
            },
            TargetPort::Number(number) if *number != 0 => numbered(*number, port, selected).into_iter().collect(),
            _ => numbered(port.port, port, selected).into_iter().collect(),
        };
        let pointer = Some(format!("/spec/ports/{i}/targetPort"));
        found.into_iter().map(move |(code, severity, message)| Finding {
            pointer: pointer.clone(),
            severity,
            ..Finding::new(code, service.key(), message)
        })
    })
}

/// The workloads that lack a named port which others have. A Service may be meant for some of its pods, so that only what
/// looks like a mistake of typing is a warning.
fn missing_in_some(name: &Text, port: &ServicePort, selected: &[&Workload]) -> Vec<(Reason, Severity, String)> {
    let without = selected.iter().filter_map(|workload| {
        let (code, message) = named(name, port, &[*workload])?;
        let is_typo = ports(&[*workload]).any(|p| !p.name.is_empty() && p.name != *name && letters(&p.name, name) <= 2);
        let severity = if is_typo { Severity::Warning } else { Severity::Info };
        Some((code, severity, format!("{message}; other workloads behind the Service have it")))
    });
    without.collect()
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

fn numbered(number: i32, port: &ServicePort, selected: &[&Workload]) -> Option<(Reason, Severity, String)> {
    let protocol = protocol_or_tcp(&port.protocol);
    if ports(selected).any(|p| p.number == number && protocol_or_tcp(&p.protocol) == protocol) {
        return None;
    }
    let of = list(selected.iter().map(|w| format!("{} {}", w.kind, w.name)));
    let numbers = list(ports(selected).map(|p| match protocol_or_tcp(&p.protocol) {
        "TCP" => p.number.to_string(),
        other => format!("{}/{other}", p.number),
    }));
    let has = if numbers.is_empty() { "they declare none".to_owned() } else { format!("they declare {numbers}") };
    let message = format!("no container of {of} declares the port {number} ({protocol}); {has}");
    Some((Reason::TargetPortUndeclared, Reason::TargetPortUndeclared.severity(), message))
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
