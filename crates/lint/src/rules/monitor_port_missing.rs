//! A port that a monitor scrapes, and that nothing it selects has.

use roster_engine::{
    model::{Text, json::message::shortened},
    reason::Severity,
};
use roster_manifests::inventory::workloads::SelectedObjects;

use crate::{
    referring::{ReferringObjects, SelectingKind},
    rule::{LintRule, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "monitor-port-missing",
    severity: Severity::Warning,
    meaning: "The ServiceMonitor's Services, or the PodMonitor's pods, have no port with this name. Prometheus \
              scrapes nothing there.",
    fix: "In a ServiceMonitor, use the name of a Service port. In a PodMonitor, use the name of a container \
          port.",
    example: "\
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: { name: web, namespace: shop }
spec:
  selector: { matchLabels: { app: web } }
  endpoints:
  - port: metrics
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop, labels: { app: web } }
spec:
  ports:
  - { name: http, port: 80, targetPort: metrics }
",
    check,
};

fn check(objects: &ReferringObjects<'_>, faults: &mut Vec<RuleFault>) {
    for (monitor, found) in &objects.selecting {
        let of = match monitor.kind {
            SelectingKind::ServiceMonitor => "Service",
            SelectingKind::PodMonitor => "container",
            SelectingKind::Budget => continue,
        };
        let names = found.iter().filter_map(|found| match found {
            SelectedObjects::Found(names) => Some(names),
            _ => None,
        });
        let names: Vec<_> = names.collect();
        let Some(first) = names.first() else { continue };
        let is_missing = |port: &Text| !names.iter().any(|names| names.names.contains(port));
        for (pointer, port) in monitor.ports.iter().filter(|(_, port)| is_missing(port)) {
            let has = match first.text.as_str() {
                "" => "no port has a name".to_owned(),
                names => format!("the names are {names}"),
            };
            let message = format!("no {of} that the selector matches has a port named {}; {has}", shortened(port));
            let (document, pointer) = (monitor.document, pointer.clone());
            faults.push(RuleFault { document, pointer, severity: None, message });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::tests::{DEPLOYMENT, WEB, found};

    fn monitor(kind: &str, endpoints: &str) -> String {
        format!(
            "apiVersion: monitoring.coreos.com/v1\nkind: {kind}\nmetadata: {{name: x, namespace: shop}}\nspec: {{selector: \
             {{matchLabels: {{app: web}}}}, {endpoints}}}\n---\n"
        )
    }

    #[test]
    fn a_port_that_nothing_has_is_found() {
        let (service, pod) = ("ServiceMonitor", "PodMonitor");
        let missing = |text: &str| Some(format!("monitor-port-missing spec.{text}"));
        let metrics = WEB.replace("name: web", "name: metrics").replace("name: http", "name: metrics");
        for (name, yaml, want) in [
            ("there", monitor(service, "endpoints: [{port: http}]") + WEB, None),
            (
                "missing",
                monitor(service, "endpoints: [{port: http}, {port: metrics}]") + WEB,
                missing(
                    "endpoints[1].port: no Service that the selector matches has a port named metrics; the names are http",
                ),
            ),
            ("of another Service", monitor(service, "endpoints: [{port: metrics}]") + WEB + &metrics, None),
            ("by number", monitor(service, "endpoints: [{targetPort: 9090}]") + WEB, None),
            (
                "without names",
                monitor(service, "endpoints: [{port: metrics}]") + &WEB.replace("name: http, ", ""),
                missing(
                    "endpoints[0].port: no Service that the selector matches has a port named metrics; no port has a name",
                ),
            ),
            ("of a container", monitor(pod, "podMetricsEndpoints: [{port: http}]") + DEPLOYMENT, None),
            (
                "of no container",
                monitor(pod, "podMetricsEndpoints: [{port: metrics}]") + DEPLOYMENT,
                missing(
                    "podMetricsEndpoints[0].port: no container that the selector matches has a port named metrics; the names are http",
                ),
            ),
        ] {
            assert_eq!(found(&yaml), want.into_iter().collect::<Vec<_>>(), "{name}");
        }
    }
}
