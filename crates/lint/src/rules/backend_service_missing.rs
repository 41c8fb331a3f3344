//! A Service that an Ingress, a route or a webhook names, and that does not exist.

use roster_engine::{
    model::{json::message::shortened, spelling::did_you_mean},
    reason::Severity,
};
use roster_manifests::inventory::workloads::NamedService;

use crate::{
    referring::ReferringObjects,
    rule::{LintRule, RuleCheck, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "backend-service-missing",
    severity: Severity::Warning,
    meaning: "No manifest has the Service that an Ingress, a route of the Gateway API, a webhook configuration, an APIService \
              or a conversion webhook names, though its namespace has others: requests fail.",
    fix: "Name a Service of the namespace, or add it to what is read.",
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
          service: { name: wbe, port: { number: 80 } }
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
        let NamedService::Missing { meant, elsewhere } = found else { continue };
        let (name, namespace) = (shortened(&backend.service.name), shortened(&backend.service.namespace));
        let message = match elsewhere {
            Some(other) => format!("the Service {name} is in namespace {other}, and not in {namespace}"),
            None => format!(
                "the Service {name} is not among the manifests of namespace {namespace}{}",
                did_you_mean(meant.as_slice())
            ),
        };
        let pointer = format!("{}/name", backend.pointer);
        faults.push(RuleFault { document: backend.service.document, pointer, severity: None, message });
    }
}
