//! A monitor whose selector selects nothing.

use roster_engine::reason::Severity;
use roster_manifests::inventory::workloads::SelectedObjects;

use crate::{
    referring::{ReferringObjects, SelectingKind},
    rule::{LintRule, RuleCheck, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "monitor-selects-nothing",
    severity: Severity::Warning,
    meaning: "No Service has the labels that a ServiceMonitor selects, or no workload and no pod those of a PodMonitor, in the \
              namespaces in which it looks: nothing is scraped. A ServiceMonitor selects Services by their own labels, and not \
              by their selectors.",
    fix: "Compare the selector with `metadata.labels` of the Service or of the pod template, and namespaceSelector with their namespaces.",
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
    check: RuleCheck::All(check),
};

fn check(objects: &ReferringObjects<'_>, faults: &mut Vec<RuleFault>) {
    for (monitor, found) in &objects.selecting {
        let SelectedObjects::Nothing { severity, message } = found else { continue };
        if monitor.kind != SelectingKind::Budget {
            let pointer = "/spec/selector".to_owned();
            faults.push(RuleFault {
                document: monitor.document,
                pointer,
                severity: Some(*severity),
                message: message.clone(),
            });
        }
    }
}
