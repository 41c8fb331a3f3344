//! A Service that an Ingress, a route or a webhook names, and that does not exist.

use roster_engine::{
    model::{json::message::shortened, spelling::did_you_mean},
    reason::Severity,
};
use roster_manifests::inventory::workloads::NamedService;

use crate::{
    referring::ReferringObjects,
    rule::{LintRule, RuleFault},
};

pub(crate) static RULE: LintRule = LintRule {
    code: "backend-service-missing",
    severity: Severity::Warning,
    meaning: "No manifest has the named Service, though you have other Services from its namespace: requests \
              fail. The reference comes from an Ingress, a Gateway API route, a webhook configuration, an \
              APIService or a conversion webhook.",
    fix: "Name an existing Service, or add it to the input.",
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
    check,
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

#[cfg(test)]
mod tests {
    use crate::rules::tests::{DEPLOYMENT, WEB, found, found_in, ingress, route};

    const NAME: &str = "backend-service-missing spec.defaultBackend.service.name: the Service";
    const WBE: &str = "{service: {name: wbe, port: {number: 80}}}";

    fn webhook(kind: &str) -> String {
        let service = "{name: hook, namespace: shop}";
        let (group, spec) = match kind {
            "APIService" => ("apiregistration.k8s.io", format!("spec: {{service: {service}}}")),
            "CustomResourceDefinition" => (
                "apiextensions.k8s.io",
                format!("spec: {{conversion: {{webhook: {{clientConfig: {{service: {service}}}}}}}}}"),
            ),
            _ => ("admissionregistration.k8s.io", format!("webhooks: [{{clientConfig: {{service: {service}}}}}]")),
        };
        format!("\napiVersion: {group}/v1\nkind: {kind}\nmetadata: {{name: x}}\n{spec}\n---\n")
    }

    #[test]
    fn a_service_that_the_namespace_lacks_is_found() {
        let service = |namespace: &str, name: &str| WEB.replace("shop", namespace).replace("name: web", name);
        let certain = |kind: &str| format!("apiVersion: {kind}\nmetadata: {{name: db, namespace: shop}}\n---\n");
        let missing = format!("{NAME} wbe is not among the manifests of namespace shop");
        let meant = format!("{missing}; did you mean web?");
        for (name, yaml, want) in [
            ("mistyped", ingress("shop", WBE) + WEB, vec![meant.clone()]),
            ("there", ingress("shop", WBE) + WEB + &service("shop", "name: wbe"), vec![]),
            ("no Services of the namespace", ingress("shop", WBE) + DEPLOYMENT, vec![]),
            ("another name", ingress("shop", WBE) + &service("shop", "name: database"), vec![missing.clone()]),
            (
                "in another namespace",
                ingress("shop", WBE) + WEB + &service("back", "name: wbe"),
                vec![format!("{NAME} wbe is in namespace back, and not in shop")],
            ),
            ("in a namespace that is not written", ingress("shop", WBE) + WEB + &service("default", "name: wbe"), vec![]),
            ("of kube-system", ingress("kube-system", WBE) + &WEB.replace("shop", "kube-system"), vec![]),
            (
                "the API server",
                ingress("default", "{service: {name: kubernetes, port: {number: 443}}}") + &WEB.replace("shop", "default"),
                vec![],
            ),
            ("a typo all the same", ingress("shop", WBE) + WEB + &certain("postgresql.cnpg.io/v1\nkind: Cluster"), vec![meant.clone()]),
            (
                "an operator may make it",
                ingress("shop", WBE) + &service("shop", "name: database") + &certain("postgresql.cnpg.io/v1\nkind: Cluster"),
                vec![],
            ),
            ("no operator makes it", ingress("shop", WBE) + WEB + &certain("cert-manager.io/v1\nkind: Issuer"), vec![meant]),
            ("unreadable", ingress("shop", WBE) + WEB + "apiVersion: v1\nkind: Service\nmetadata: {name: wbe, namespace: shop}\nspec: 7", vec![]),
            ("no Service", ingress("shop", "{resource: {kind: Bucket, name: wbe}}") + WEB, vec![]),
            ("an action of AWS", ingress("shop", "{service: {name: wbe, port: {name: use-annotation}}}") + WEB, vec![]),
            (
                "a route",
                route("shop", "{name: wbe, port: 80}") + WEB,
                vec!["backend-service-missing spec.rules[0].backendRefs[0].name: the Service wbe is not among the manifests of \
                      namespace shop; did you mean web?".to_owned()],
            ),
            ("a backend of another kind", route("shop", "{group: x.y, kind: ServiceImport, name: wbe, port: 80}") + WEB, vec![]),
        ] {
            assert_eq!(found(&yaml), want, "{name}");
        }
        for (kind, field) in [
            ("ValidatingWebhookConfiguration", "webhooks[0].clientConfig.service.name"),
            ("MutatingWebhookConfiguration", "webhooks[0].clientConfig.service.name"),
            ("APIService", "spec.service.name"),
            ("CustomResourceDefinition", "spec.conversion.webhook.clientConfig.service.name"),
        ] {
            let want = format!("{field}: the Service hook is not among the manifests of namespace shop");
            assert_eq!(found(&(webhook(kind) + WEB)), [format!("backend-service-missing {want}")], "{kind}");
        }
    }

    #[test]
    fn files_say_what_may_exist() {
        let wbe = WEB.replace("name: web", "name: wbe");
        let ingress = &ingress("shop", WBE);
        for (name, files, want) in [
            ("in another folder", [("a/i.yaml", ingress), ("a/s.yaml", &WEB.to_owned()), ("b/s.yaml", &wbe)], 0),
            (
                "a test may make it",
                [("testdata/i.yaml", ingress), ("a/s.yaml", &WEB.to_owned()), ("b.yaml", &String::new())],
                0,
            ),
            (
                "a kustomization may rename it",
                [
                    ("i.yaml", &ingress.replace("wbe", "prod-wbe-1")),
                    ("s.yaml", &WEB.to_owned()),
                    ("listed/s.yaml", &wbe),
                ],
                0,
            ),
            (
                "a kustomization changes the Ingress",
                [("listed/i.yaml", ingress), ("s.yaml", &WEB.to_owned()), ("t.yaml", &String::new())],
                0,
            ),
            (
                "another one is renamed",
                [("i.yaml", &ingress.replace("wbe", "wbes")), ("s.yaml", &WEB.to_owned()), ("listed/s.yaml", &wbe)],
                1,
            ),
        ] {
            let files = files.map(|(file, yaml)| (file, yaml.as_str()));
            assert_eq!(found_in(&files).len(), want, "{name}");
        }
    }
}
