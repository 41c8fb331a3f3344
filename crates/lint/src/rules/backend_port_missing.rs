//! A port that an Ingress, a route or a webhook names, and that its Service does not have.

use roster_engine::{
    model::{Service, ServiceType, TargetPort, json::message::shortened},
    reason::Severity,
};
use roster_manifests::inventory::workloads::NamedService;

use crate::{
    referring::{Backend, BackendPort, ReferringObjects},
    rule::{LintRule, RuleCheck, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "backend-port-missing",
    severity: Severity::Warning,
    meaning: "The Service that an Ingress, a route of the Gateway API, a webhook configuration, an APIService or a conversion \
              webhook names does not have the port: requests fail. The port is one of the Service, and not the targetPort of \
              its pods; without one, an API server uses 443.",
    fix: "Use the number or the name of a port of the Service.",
    example: "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web, namespace: shop }
spec:
  rules:
  - http:
      paths:
      - path: /
        pathType: Prefix
        backend:
          service: { name: web, port: { number: 8080 } }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  ports:
  - port: 80
    targetPort: 8080
",
    check: RuleCheck::All(check),
};

/// How many ports of a Service are named.
const SHOWN: usize = 5;

fn check(objects: &ReferringObjects<'_>, faults: &mut Vec<RuleFault>) {
    for (backend, found) in &objects.backends {
        let (NamedService::Found(versions), Some(port)) = (found, &backend.port) else { continue };
        // Of several versions, one that fits is enough.
        if let Some(service) =
            versions.first().filter(|_| !versions.iter().any(|service| has_port(service, &port.port)))
        {
            faults.push(fault(backend, port, service));
        }
    }
}

fn has_port(service: &Service, port: &TargetPort) -> bool {
    // An ExternalName is another server; and what lacks its ports has a finding of its own.
    service.kind == ServiceType::ExternalName
        || (service.ports.is_empty() && !service.declared_headless())
        || service.ports.iter().any(|of| match port {
            TargetPort::Number(number) => of.port == *number,
            TargetPort::Name(name) => of.name == *name,
        })
}

fn fault(backend: &Backend, BackendPort { port, field }: &BackendPort, service: &Service) -> RuleFault {
    let name = &backend.service.name;
    let wanted = match port {
        TargetPort::Number(number) if field.is_empty() => format!("port {number}, which is used if none is written"),
        TargetPort::Number(number) => format!("port {number}"),
        TargetPort::Name(name) => format!("port named {}", shortened(name)),
    };
    let message = format!("the Service {name} has no {wanted}; {}{}", ports_of(service), hint(service, port));
    let pointer = format!("{}{field}", backend.pointer);
    RuleFault { document: backend.service.document, pointer, severity: None, message }
}

/// The ports of a Service, in words.
fn ports_of(service: &Service) -> String {
    let text = |port: &roster_engine::model::ServicePort| match port.name.as_str() {
        "" => port.port.to_string(),
        name => format!("{} ({})", port.port, shortened(name)),
    };
    let shown: Vec<String> = service.ports.iter().take(SHOWN).map(text).collect();
    match service.ports.len() {
        0 => "it has no ports".to_owned(),
        1 => format!("its port is {}", shown.join("")),
        all if all > SHOWN => format!("its ports are {} and {} more", shown.join(", "), all - SHOWN),
        _ => format!("its ports are {}", shown.join(", ")),
    }
}

/// What was probably meant.
fn hint(service: &Service, port: &TargetPort) -> String {
    let is_target = |of: &&roster_engine::model::ServicePort| of.target_port == *port;
    let number = match port {
        TargetPort::Name(name) => name.parse().ok().filter(|number| service.ports.iter().any(|of| of.port == *number)),
        TargetPort::Number(_) => None::<i32>,
    };
    match (service.ports.iter().find(is_target), number) {
        (_, Some(number)) => format!("; write the number as number: {number}"),
        (Some(of), None) => format!(", whose targetPort is {}", target_text(&of.target_port)),
        (None, None) => String::new(),
    }
}

fn target_text(port: &TargetPort) -> String {
    match port {
        TargetPort::Number(number) => number.to_string(),
        TargetPort::Name(name) => shortened(name).into_owned(),
    }
}
