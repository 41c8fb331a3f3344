//! A monitor whose selector selects nothing.

use roster_engine::reason::Severity;
use roster_manifests::inventory::workloads::SelectedObjects;

use crate::{
    referring::{ReferringObjects, Selecting, SelectingKind},
    rule::{LintRule, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "monitor-selects-nothing",
    severity: Severity::Warning,
    meaning: "The monitor's selector fits no Service (ServiceMonitor), or no workload and no pod (PodMonitor), \
              in its namespaces. Prometheus scrapes nothing. A ServiceMonitor compares the Services' own \
              labels, and not their selectors.",
    fix: "Compare the selector with `metadata.labels` in the Service or in the pod template. Compare \
          namespaceSelector with their namespaces.",
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
metadata: { name: web, namespace: shop, labels: { app: shop-web } }
spec:
  ports:
  - { name: metrics, port: 9090 }
",
    check,
};

fn check(objects: &ReferringObjects<'_>, faults: &mut Vec<RuleFault>) {
    for (monitor, found) in objects.selecting.iter().filter(|(of, _)| of.kind != SelectingKind::Budget) {
        faults.extend(nothing(monitor, found));
    }
}

/// The fault of a selector that selects nothing in any of its namespaces.
pub(super) fn nothing(selecting: &Selecting, found: &[SelectedObjects]) -> Option<RuleFault> {
    let is_nothing = |found: &SelectedObjects| matches!(found, SelectedObjects::Nothing { .. });
    let SelectedObjects::Nothing { severity, message } = found.first().filter(|_| found.iter().all(is_nothing))? else {
        return None;
    };
    let (document, pointer) = (selecting.document, "/spec/selector".to_owned());
    Some(RuleFault { document, pointer, severity: Some(*severity), message: message.clone() })
}

#[cfg(test)]
mod tests {
    use crate::rules::tests::{DEPLOYMENT, WEB, found};

    fn monitor(kind: &str, namespace: &str, spec: &str) -> String {
        format!(
            "apiVersion: monitoring.coreos.com/v1\nkind: {kind}\nmetadata: {{name: x, namespace: {namespace}}}\nspec: {{{spec}}}\n---\n"
        )
    }

    #[test]
    fn a_monitor_that_selects_nothing_is_found() {
        let (service, pod) = ("ServiceMonitor", "PodMonitor");
        let nothing = |info: &str, what: &str| {
            Some(format!("{info}monitor-selects-nothing spec.selector: the selector matches {what}"))
        };
        let labels = |labels: &str| format!("selector: {{matchLabels: {{{labels}}}}}");
        let in_shop = |labels: &str| {
            format!("namespaceSelector: {{matchNames: [shop]}}, selector: {{matchLabels: {{{labels}}}}}")
        };
        let pods = "no Service; Service web selects pods with these labels, but does not have them itself";
        let near = "nearest: Service web, which has app=web instead of wbe";
        let custom = "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db, namespace: shop}\n---\n";
        for (name, yaml, want) in [
            ("right", monitor(service, "shop", &labels("app: web")) + WEB, None),
            ("wrong", monitor(service, "shop", &labels("app: wbe")) + WEB, nothing("", &format!("no Service; {near}"))),
            ("nothing like it", monitor(service, "shop", &labels("tier: x")) + WEB, nothing("info ", "no Service")),
            (
                "by matchExpressions",
                monitor(service, "shop", "selector: {matchExpressions: [{key: app, operator: In, values: [wbe]}]}")
                    + WEB,
                nothing("", &format!("no Service; {near}")),
            ),
            ("everything", monitor(service, "shop", "selector: {}") + WEB, None),
            (
                "of another namespace",
                monitor(service, "monitoring", &in_shop("app: wbe")) + WEB,
                nothing("", &format!("no Service; {near}")),
            ),
            ("of a namespace that is not read", monitor(service, "monitoring", &labels("app: wbe")) + WEB, None),
            (
                "in another namespace",
                monitor(service, "shop", &labels("app: db"))
                    + WEB
                    + &WEB.replace("shop", "back").replace("app: web", "app: db"),
                nothing(
                    "",
                    "Service web of namespace back; a ServiceMonitor selects Services of its own namespace, or of those in namespaceSelector",
                ),
            ),
            (
                "the labels of the pods",
                monitor(service, "shop", &labels("app: pods"))
                    + &WEB.replace("selector: {app: web}", "selector: {app: pods}"),
                nothing("", pods),
            ),
            (
                "the labels of the pods, in a namespace that is not written",
                monitor(service, "monitoring", &in_shop("app: pods"))
                    + &WEB.replace("selector: {app: web}", "selector: {app: pods}").replace(" namespace: shop,", ""),
                nothing("", pods),
            ),
            (
                "any namespace",
                monitor(service, "shop", &format!("namespaceSelector: {{any: true}}, {}", labels("app: wbe"))) + WEB,
                None,
            ),
            ("an operator may make it", monitor(service, "shop", &labels("app: wbe")) + WEB + custom, None),
            ("pods", monitor(pod, "shop", &labels("app: web")) + DEPLOYMENT, None),
            (
                "no pods",
                monitor(pod, "shop", &labels("app: wbe")) + DEPLOYMENT,
                nothing("", "no workload and no pod; nearest: Deployment web, which has app=web instead of wbe"),
            ),
        ] {
            assert_eq!(found(&yaml), want.into_iter().collect::<Vec<_>>(), "{name}");
        }
    }
}
