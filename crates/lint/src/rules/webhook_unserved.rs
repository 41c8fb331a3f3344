//! A webhook that fails closed, and whose Service serves nothing.

use roster_engine::{model::json::message::shortened, reason::Severity};

use crate::{
    referring::{ClosedWebhook, ReferringObjects},
    rule::{LintRule, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "webhook-unserved",
    severity: Severity::Warning,
    meaning: "The called port of the webhook's Service has no endpoint, and the webhook fails closed (failurePolicy: Fail, the \
              default). API servers refuse every request for it. If it reviews pods, no pod starts any more, \
              and the webhook's own pods do not start, either.",
    fix: "Run the webhook's pods, and exclude their namespace with a namespaceSelector. In an outage, set \
          failurePolicy to Ignore, or delete the configuration.",
    example: "\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: { name: inject }
webhooks:
- name: pods.inject.example.com
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig:
    service: { name: inject, namespace: hooks }
  rules:
  - { apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods] }
---
apiVersion: v1
kind: Service
metadata: { name: inject, namespace: hooks }
spec:
  selector: { app: inject }
  ports:
  - { port: 443, targetPort: 8443 }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: inject, namespace: hooks }
spec:
  replicas: 0
  selector: { matchLabels: { app: inject } }
  template:
    metadata: { labels: { app: inject } }
    spec:
      containers:
      - name: hook
        image: hook
        ports:
        - containerPort: 8443
        readinessProbe: { tcpSocket: { port: 8443 } }
",
    check,
};

fn check(objects: &ReferringObjects<'_>, faults: &mut Vec<RuleFault>) {
    for webhook in &objects.webhooks {
        let ClosedWebhook { document, place, name, service: (namespace, service), port, requests, unserved } = webhook;
        let Some(why) = unserved else { continue };
        let (name, namespace, service) = (shortened(name), shortened(namespace), shortened(service));
        let message = format!(
            "webhook {name} fails closed and calls port {port} of Service {namespace}/{service}, which serves nothing ({why}): an API server \
             refuses {requests}"
        );
        let pointer = format!("/webhooks/{place}/clientConfig/service");
        faults.push(RuleFault { document: *document, pointer, severity: None, message });
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::tests::found;

    fn configuration(version: &str, webhooks: &[(&str, &str)]) -> String {
        let webhook = |(name, policy): &(&str, &str)| {
            format!(
                "- {{name: {name}.x.y, {policy}sideEffects: None, admissionReviewVersions: [v1], clientConfig: {{service: \
                 {{name: {name}, namespace: shop}}}}, rules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE, \
                 UPDATE], resources: [\"*\"]}}]}}\n"
            )
        };
        let webhooks: String = webhooks.iter().map(webhook).collect();
        format!(
            "\napiVersion: admissionregistration.k8s.io/{version}\nkind: MutatingWebhookConfiguration\nmetadata: {{name: \
             hooks}}\nwebhooks:\n{webhooks}---\n"
        )
    }

    fn service(name: &str) -> String {
        format!(
            "\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{selector: {{app: {name}}}, \
             ports: [{{port: 443, targetPort: 8443}}]}}\n---\n"
        )
    }

    fn deployment(name: &str, replicas: u32) -> String {
        format!(
            "\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{replicas: {replicas}, \
             selector: {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: \
             [{{name: c, image: c, ports: [{{containerPort: 8443}}]}}]}}}}}}\n---\n"
        )
    }

    fn slice(name: &str, ready: bool) -> String {
        format!(
            "\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\nmetadata: {{name: {name}-1, namespace: \
             shop, labels: {{kubernetes.io/service-name: {name}}}}}\nendpoints: [{{addresses: [192.0.2.7], conditions: {{ready: \
             {ready}}}}}]\nports: [{{port: 8443, protocol: TCP}}]\n---\n"
        )
    }

    #[test]
    fn only_a_webhook_that_fails_closed_blocks() {
        let at = |place: u32, name: &str, rest: &str| {
            format!(
                "webhook-unserved webhooks[{place}].clientConfig.service: webhook {name}.x.y fails closed and calls port 443 of \
                 Service shop/{name}{rest}: an API server refuses CREATE, UPDATE of all"
            )
        };
        let scaled = |name: &str| {
            format!(
                ", which serves nothing (no-replicas: Deployment {name} is the only workload behind the Service and makes no \
                 pods: it is scaled to 0 (at /spec/selector))"
            )
        };
        let both = |first: &str, second: &str| configuration("v1", &[("a", first), ("b", second)]);
        let (closed, open) = ("failurePolicy: Fail, ", "failurePolicy: Ignore, ");
        let none = service("a") + &service("b") + &deployment("a", 0) + &deployment("b", 0);
        for (name, yaml, want) in [
            ("both", both(closed, "") + &none, vec![at(0, "a", &scaled("a")), at(1, "b", &scaled("b"))]),
            ("one ignores", both(open, closed) + &none, vec![at(1, "b", &scaled("b"))]),
            ("both ignore", both(open, open) + &none, vec![]),
            (
                "one is served",
                both(closed, closed) + &service("a") + &service("b") + &deployment("a", 1) + &deployment("b", 0),
                vec![at(1, "b", &scaled("b"))],
            ),
            ("the default of v1beta1", configuration("v1beta1", &[("a", "")]) + &none, vec![]),
            ("no pods are known", configuration("v1", &[("a", "")]) + &service("a"), vec![]),
            (
                "stored endpoints are not ready",
                configuration("v1", &[("a", "")]) + &service("a") + &slice("a", false),
                vec![at(0, "a", ", which serves nothing (its slices have no ready endpoint)")],
            ),
            (
                "a stored endpoint is ready",
                configuration("v1", &[("a", "")]) + &service("a") + &slice("a", true),
                vec![],
            ),
            ("another Service", configuration("v1", &[("c", "")]) + &deployment("a", 0), vec![]),
        ] {
            let found: Vec<String> =
                found(&yaml).into_iter().filter(|text| text.contains("webhook-unserved")).collect();
            assert_eq!(found, want, "{name}");
        }
    }

    /// A webhook that calls Service `a`; `called` are more fields of `service`.
    fn calls(called: &str) -> String {
        configuration("v1", &[("a", "")])
            .replace("name: a, namespace: shop", &format!("name: a, namespace: shop{called}"))
    }

    #[test]
    fn only_the_called_port_counts() {
        let ports = |ports: &str| service("a").replace("{port: 443, targetPort: 8443}", ports);
        let two = ports("{name: h, port: 443, targetPort: nope}, {name: m, port: 8080, targetPort: 8443}");
        let of_slice = |name: &str| slice("a", true).replace("{port: 8443,", &format!("{{name: {name}, port: 8443,"));
        for (name, yaml, want) in [
            ("the default is broken", calls("") + &two + &deployment("a", 1), Some("443 (named-port-missing")),
            (
                "null is the default",
                calls(", port: null") + &two + &deployment("a", 1),
                Some("443 (named-port-missing"),
            ),
            ("another port is called", calls(", port: 8080") + &two + &deployment("a", 1), None),
            ("none of them is served", calls(", port: 8080") + &two + &deployment("a", 0), Some("8080 (no-replicas")),
            ("the Service has no such port", calls(", port: 1") + &two + &deployment("a", 0), None),
            ("stored endpoints of the other port", calls("") + &two + &of_slice("m"), Some("443 (its slices")),
            ("stored endpoints of the port", calls("") + &two + &of_slice("h"), None),
            (
                "another protocol has the number as well",
                calls("")
                    + &ports(
                        "{name: u, port: 443, protocol: UDP, targetPort: nope}, {name: h, port: 443, targetPort: 8443}",
                    )
                    + &deployment("a", 1),
                None,
            ),
        ] {
            let found: Vec<String> =
                found(&yaml).into_iter().filter(|text| text.contains("webhook-unserved")).collect();
            let shown: Vec<String> =
                found.iter().map(|text| text.replace(" of Service shop/a, which serves nothing", "")).collect();
            let is_it = match want {
                Some(want) => shown.len() == 1 && shown[0].contains(&format!("calls port {want}")),
                None => shown.is_empty(),
            };
            assert!(is_it, "{name}: {want:?} {found:?}");
        }
    }

    #[test]
    fn a_workload_that_something_else_scales_may_have_pods() {
        let scaler = |version: &str, kind: &str, namespace: &str, spec: &str| {
            format!(
                "\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: s, namespace: {namespace}}}\nspec: {{{spec}}}\n---\n"
            )
        };
        let scaled = |spec: &str| scaler("keda.sh/v1alpha1", "ScaledObject", "shop", spec);
        let autoscaler = |least: u32| {
            scaler(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                "shop",
                &format!(
                    "scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: a}}, minReplicas: {least}, maxReplicas: 3"
                ),
            )
        };
        let rollout = "workloadRef: {apiVersion: apps/v1, kind: Deployment, name: a}, replicas: 2";
        for (name, scalers, is_found) in [
            ("nothing scales it", String::new(), true),
            ("KEDA", scaled("scaleTargetRef: {name: a}, triggers: []"), false),
            ("KEDA, null", scaled("scaleTargetRef: {kind: null, name: a}"), false),
            ("KEDA, of another kind", scaled("scaleTargetRef: {kind: StatefulSet, name: a}"), true),
            ("KEDA, of another name", scaled("scaleTargetRef: {name: b}"), true),
            (
                "KEDA, of another namespace",
                scaler("keda.sh/v1alpha1", "ScaledObject", "front", "scaleTargetRef: {name: a}"),
                true,
            ),
            ("Argo", scaler("argoproj.io/v1alpha1", "Rollout", "shop", rollout), false),
            ("another form", scaled("scaleTargetRef: a"), true),
            // Kubernetes' autoscaler leaves a workload with 0 replicas alone.
            ("an autoscaler from 1", autoscaler(1), true),
            ("an autoscaler from 0", autoscaler(0), false),
        ] {
            let yaml = calls("") + &service("a") + &deployment("a", 0) + &scalers;
            let found: Vec<String> =
                found(&yaml).into_iter().filter(|text| text.contains("webhook-unserved")).collect();
            assert_eq!(found.len(), usize::from(is_found), "{name}: {found:?}");
        }
        let two = service("a") + &deployment("a", 0) + &deployment("a", 0).replacen("name: a", "name: a2", 1);
        assert!(
            !found(&(calls("") + &two + &scaled("scaleTargetRef: {name: a2}"))).concat().contains("webhook-unserved")
        );
    }
}
