//! A port that an Ingress, a route or a webhook names, and that its Service does not have.

use std::collections::BTreeMap;

use roster_engine::{
    model::{Service, json::message::shortened},
    reason::Severity,
};
use roster_manifests::inventory::{BackendPort, ServicePorts, workloads::NamedService};

use crate::{
    referring::{Backend, ReferringObjects},
    rule::{LintRule, RuleFault},
};

pub(crate) static RULE: LintRule = LintRule {
    code: "backend-port-missing",
    severity: Severity::Warning,
    meaning: "The Service exists, but it does not have the named port: requests fail. The reference comes from \
              an Ingress, a Gateway API route, a webhook configuration, an APIService or a conversion webhook. \
              It means a Service port, and not a targetPort. A webhook or an APIService without a port gets \
              443. A route without a port is an error, because the Gateway API's schema refuses it.",
    fix: "Use the number or the name of a Service port.",
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
    check,
};

/// Most comparisons of backends with versions of their Services: those after them are not compared.
const MAX_COMPARISONS: usize = 1 << 24;

fn check(objects: &ReferringObjects<'_>, faults: &mut Vec<RuleFault>) {
    let mut left = MAX_COMPARISONS;
    // Many backends may name one Service. No output depends on the order.
    let mut ports_of: BTreeMap<*const Service, ServicePorts<'_>> = BTreeMap::new();
    for (backend, found) in &objects.backends {
        if backend.port.is_none() && backend.kind.ends_with("Route") {
            faults.push(without_port(backend));
        }
        let (NamedService::Found(versions), Some(port)) = (found, &backend.port) else { continue };
        let Some(rest) = left.checked_sub(versions.len()) else { return };
        left = rest;
        for service in versions {
            ports_of.entry(std::ptr::from_ref(*service)).or_insert_with(|| ServicePorts::of(service));
        }
        let ports = |service: &&Service| ports_of.get(&std::ptr::from_ref(*service));
        // Of several versions, one that fits is enough.
        let is_there = versions.iter().filter_map(ports).any(|ports| ports.have(port));
        if let Some(ports) = versions.first().and_then(ports).filter(|_| !is_there) {
            faults.push(fault(backend, port, ports));
        }
    }
}

/// The schema of the Gateway API asks for a port where a route refers to a Service.
fn without_port(backend: &Backend) -> RuleFault {
    let message = format!("the reference to the Service {} needs a port: a number", shortened(&backend.service.name));
    let severity = Some(Severity::Error);
    RuleFault { document: backend.service.document, pointer: backend.pointer.clone(), severity, message }
}

fn fault(backend: &Backend, port: &BackendPort, ports: &ServicePorts<'_>) -> RuleFault {
    let pointer = format!("{}{}", backend.pointer, port.field);
    RuleFault { document: backend.service.document, pointer, severity: None, message: ports.miss(port) }
}

#[cfg(test)]
mod tests {
    use crate::rules::tests::{WEB, found, found_in, ingress, route};

    fn backend(port: &str) -> String {
        ingress("shop", &format!("{{service: {{name: web, port: {{{port}}}}}}}"))
    }

    #[test]
    fn a_port_that_the_service_lacks_is_found() {
        let field = |field: &str| format!("backend-port-missing {field}: the Service web has no");
        let (number, name) = ("spec.defaultBackend.service.port.number", "spec.defaultBackend.service.port.name");
        let headless = "{clusterIP: None}";
        for (yaml, want) in [
            (backend("number: 80") + WEB, None),
            (backend("name: http") + WEB, None),
            (
                backend("number: 8080") + WEB,
                Some(format!("{} port 8080; its port is 80 (http), whose targetPort is 8080", field(number))),
            ),
            (backend("number: 81") + WEB, Some(format!("{} port 81; its port is 80 (http)", field(number)))),
            (backend("name: web") + WEB, Some(format!("{} port named web; its port is 80 (http)", field(name)))),
            // An API server refuses the name.
            (backend("name: '80'") + WEB, None),
            (backend("number: 8080") + &WEB.replace("selector: {app: web}", "type: ExternalName, externalName: a.b"), None),
            (
                backend("number: 80") + &WEB.replace("{selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}", headless),
                Some(format!("{} port 80; it has no ports", field(number))),
            ),
            (route("shop", "{name: web, port: 80}") + WEB, None),
            (
                route("shop", "{name: web}") + WEB,
                Some("backend-port-missing spec.rules[0].backendRefs[0]: the reference to the Service web needs a port: a number".to_owned()),
            ),
            (
                route("shop", "{name: web, port: '80'}") + WEB,
                Some("backend-port-missing spec.rules[0].backendRefs[0]: the reference to the Service web needs a port: a number".to_owned()),
            ),
            (route("shop", "{group: example.com, kind: Bucket, name: web}") + WEB, None),
            (
                route("shop", "{name: web, port: 8081}") + WEB,
                Some(format!("{} port 8081; its port is 80 (http)", field("spec.rules[0].backendRefs[0].port"))),
            ),
            (
                "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: x}\nspec: {service: {name: web, namespace: \
                 shop}}\n---\n".to_owned() + WEB,
                Some(format!("{} port 443, which is used if none is written; its port is 80 (http)", field("spec.service"))),
            ),
            (
                "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: x}\nspec: {service: {name: web, namespace: \
                 shop, port: 80}}\n---\n".to_owned() + WEB,
                None,
            ),
        ] {
            assert_eq!(found(&yaml), want.into_iter().collect::<Vec<_>>(), "{yaml}");
        }
    }

    #[test]
    fn the_nearest_versions_of_a_service_are_compared() {
        let part = backend("number: 8080").replace("namespace: shop", "namespace: shop, ownerReferences: [{kind: A}]");
        let (ingress, other) = (backend("number: 8080"), WEB.replace("port: 80,", "port: 8080,"));
        for (files, want) in [
            ([("a/i.yaml", &ingress), ("a/s.yaml", &WEB.to_owned()), ("b/s.yaml", &other)], 1),
            ([("a/i.yaml", &ingress), ("a/s.yaml", &other), ("b/s.yaml", &WEB.to_owned())], 0),
            // One version that fits is enough.
            ([("i.yaml", &ingress), ("a/s.yaml", &other), ("b/s.yaml", &WEB.to_owned())], 0),
            ([("i.yaml", &ingress), ("a/s.yaml", &WEB.to_owned()), ("b/s.yaml", &WEB.to_owned())], 1),
            // A kustomization may change its ports.
            ([("i.yaml", &ingress), ("listed/s.yaml", &WEB.to_owned()), ("b.yaml", &String::new())], 0),
            ([("testdata/a/i.yaml", &ingress), ("s.yaml", &WEB.to_owned()), ("b.yaml", &String::new())], 0),
            ([("testdata/a/i.yaml", &ingress), ("testdata/a/s.yaml", &WEB.to_owned()), ("b.yaml", &String::new())], 1),
            // It lacks a field, as parts of objects do.
            ([("testdata/a/i.yaml", &part), ("testdata/a/s.yaml", &WEB.to_owned()), ("b.yaml", &String::new())], 1),
        ] {
            let files = files.map(|(file, yaml)| (file, yaml.as_str()));
            assert_eq!(found_in(&files).len(), want, "{files:?}");
        }
    }
}
