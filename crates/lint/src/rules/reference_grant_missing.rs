//! A route that refers to a Service of another namespace, which does not allow it.

use roster_engine::reason::Severity;
use roster_manifests::inventory::workloads::NamedService;

use crate::{
    referring::ReferringObjects,
    rule::{LintRule, RuleCheck, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "reference-grant-missing",
    severity: Severity::Warning,
    meaning: "A route of the Gateway API refers to a Service of another namespace, and no ReferenceGrant of that namespace \
              allows it: gateways answer with 500.",
    fix: "Add a ReferenceGrant to the namespace of the Service, with the kind and the namespace of the route in `from`, and \
          `{group: \"\", kind: Service}` in `to`.",
    example: "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: web, namespace: edge }
spec:
  rules:
  - backendRefs:
    - { name: web, namespace: shop, port: 80 }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  ports:
  - port: 80
",
    check: RuleCheck::All(check),
};

fn check(objects: &ReferringObjects<'_>, faults: &mut Vec<RuleFault>) {
    for (backend, found) in &objects.backends {
        let Some(from) = &backend.granted_to else { continue };
        // If the Service is not there, the grant is not either.
        if !matches!(found, NamedService::Found(_)) || objects.grants.may_allow(backend) {
            continue;
        }
        let (namespace, kind) = (&backend.service.namespace, &backend.kind);
        let message = format!(
            "no ReferenceGrant of namespace {namespace} allows a {kind} of namespace {from} to refer to its Services"
        );
        let pointer = format!("{}/namespace", backend.pointer);
        faults.push(RuleFault { document: backend.service.document, pointer, severity: None, message });
    }
}
