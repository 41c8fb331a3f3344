//! A `PodDisruptionBudget` that protects no pod.

use roster_engine::reason::Severity;
use roster_manifests::inventory::workloads::SelectedObjects;

use crate::{
    referring::{ReferringObjects, SelectingKind},
    rule::{LintRule, RuleCheck, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "budget-selects-nothing",
    severity: Severity::Warning,
    meaning: "No workload and no pod of the namespace has the labels that a PodDisruptionBudget selects: it protects nothing \
              while nodes are drained.",
    fix: "Compare the selector with the labels of the pod template.",
    example: "\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: web, namespace: shop }
spec:
  minAvailable: 1
  selector: { matchLabels: { app: shop-web } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: web }] }
",
    check: RuleCheck::All(check),
};

fn check(objects: &ReferringObjects<'_>, faults: &mut Vec<RuleFault>) {
    for (budget, found) in objects.selecting.iter().filter(|(of, _)| of.kind == SelectingKind::Budget) {
        let (severity, message) = match found {
            SelectedObjects::Nothing { severity, message } => (*severity, message.clone()),
            _ if budget.is_missing => (Severity::Info, "the selector is missing: it selects no pod".to_owned()),
            _ => continue,
        };
        let (document, pointer) = (budget.document, "/spec/selector".to_owned());
        faults.push(RuleFault { document, pointer, severity: Some(severity), message });
    }
}
