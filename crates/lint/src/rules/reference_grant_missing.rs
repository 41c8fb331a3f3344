//! A route that refers to a Service of another namespace, which does not allow it.

use roster_engine::reason::Severity;
use roster_manifests::inventory::workloads::NamedService;

use crate::{
    referring::ReferringObjects,
    rule::{LintRule, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "reference-grant-missing",
    severity: Severity::Warning,
    meaning: "The route's backend is a Service in another namespace, and no ReferenceGrant there allows it. \
              Gateways answer with 500.",
    fix: "Add a ReferenceGrant to the Service's namespace: the route's kind and namespace in `from`, and \
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
    check,
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

#[cfg(test)]
mod tests {
    use crate::rules::tests::{WEB, found, found_in, route};

    const TO_SHOP: &str = "{name: web, namespace: shop, port: 80}";

    fn grant(namespace: &str, from: &str, to: &str) -> String {
        format!(
            "
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {{name: x, namespace: {namespace}}}
spec: {{from: [{{group: gateway.networking.k8s.io, {from}}}], to: [{{group: '', {to}}}]}}
---
"
        )
    }

    #[test]
    fn a_reference_to_another_namespace_needs_a_grant() {
        let (edge, services) = ("kind: HTTPRoute, namespace: edge", "kind: Service");
        let crossing = || route("edge", TO_SHOP) + WEB;
        for (name, yaml, want) in [
            ("none", crossing(), 1),
            ("of all Services", crossing() + &grant("shop", edge, services), 0),
            ("of this one", crossing() + &grant("shop", edge, "kind: Service, name: web"), 0),
            ("of another one", crossing() + &grant("shop", edge, "kind: Service, name: db"), 1),
            ("of Secrets", crossing() + &grant("shop", edge, "kind: Secret"), 1),
            ("to another kind", crossing() + &grant("shop", "kind: GRPCRoute, namespace: edge", services), 1),
            ("to another namespace", crossing() + &grant("shop", "kind: HTTPRoute, namespace: dmz", services), 1),
            ("in another namespace", crossing() + &grant("edge", edge, services), 1),
            (
                "to a route of another group",
                crossing()
                    + &grant("shop", edge, services).replace("group: gateway.networking.k8s.io", "group: example.com"),
                1,
            ),
            ("in a namespace that is not written", crossing() + &grant("''", edge, services), 0),
            ("its own namespace", route("shop", TO_SHOP) + WEB, 0),
            ("no Service there", route("edge", TO_SHOP), 0),
            (
                "a grant that cannot be read",
                crossing() + &grant("shop", edge, services).replace("from: [", "from: [7, "),
                0,
            ),
        ] {
            assert_eq!(found(&yaml).len(), want, "{name}");
        }
        let listed = [("a.yaml", crossing()), ("listed/b.yaml", grant("any", edge, services))];
        assert_eq!(found_in(&listed.each_ref().map(|(name, yaml)| (*name, yaml.as_str()))), Vec::<String>::new());
        assert_eq!(
            found(&crossing()),
            [
                "reference-grant-missing spec.rules[0].backendRefs[0].namespace: no ReferenceGrant of namespace shop allows a \
              HTTPRoute of namespace edge to refer to its Services"
            ]
        );
    }
}
