//! A `PodDisruptionBudget` that protects no pod.

use roster_engine::reason::Severity;

use super::monitor_selects_nothing::nothing;
use crate::{
    referring::{ReferringObjects, SelectingKind},
    rule::{LintRule, RuleFault},
};

pub(super) static RULE: LintRule = LintRule {
    code: "budget-selects-nothing",
    severity: Severity::Warning,
    meaning: "The PodDisruptionBudget's selector fits no workload and no pod in its namespace. It does not \
              protect anything while nodes are drained.",
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
    check,
};

fn check(objects: &ReferringObjects<'_>, faults: &mut Vec<RuleFault>) {
    for (budget, found) in objects.selecting.iter().filter(|(of, _)| of.kind == SelectingKind::Budget) {
        let without = || RuleFault {
            document: budget.document,
            pointer: "/spec".to_owned(),
            severity: Some(Severity::Info),
            message: "the selector is missing: it selects no pod".to_owned(),
        };
        faults.extend(if budget.is_missing { Some(without()) } else { nothing(budget, found) });
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::tests::{DEPLOYMENT, WEB, found};

    fn budget(namespace: &str, selector: &str) -> String {
        format!(
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: web, namespace: {namespace}}}\nspec: {{minAvailable: \
             1{selector}}}\n---\n"
        )
    }

    #[test]
    fn a_budget_of_no_pods_is_found() {
        let nothing =
            |info: &str, what: &str| Some(format!("{info}budget-selects-nothing spec.selector: the selector {what}"));
        let near = "matches no workload and no pod; nearest: Deployment web, which has app=web instead of wbe";
        let selector = |labels: &str| format!(", selector: {{matchLabels: {{{labels}}}}}");
        let custom = "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db, namespace: shop}\n---\n";
        for (name, yaml, want) in [
            ("right", budget("shop", &selector("app: web")) + DEPLOYMENT, None),
            ("wrong", budget("shop", &selector("app: wbe")) + DEPLOYMENT, nothing("", near)),
            (
                "nothing like it",
                budget("shop", &selector("tier: x")) + DEPLOYMENT,
                nothing("info ", "matches no workload and no pod"),
            ),
            ("all pods", budget("shop", ", selector: {}") + DEPLOYMENT, None),
            (
                "no selector",
                budget("shop", "") + DEPLOYMENT,
                Some("info budget-selects-nothing spec: the selector is missing: it selects no pod".to_owned()),
            ),
            ("no workload", budget("shop", &selector("app: wbe")) + WEB, None),
            (
                "another namespace",
                budget("back", &selector("app: web"))
                    + DEPLOYMENT
                    + &DEPLOYMENT.replace("shop", "back").replace("app: web", "app: db"),
                nothing(
                    "",
                    "matches Deployment web of namespace shop; a PodDisruptionBudget selects pods of its own namespace",
                ),
            ),
            ("an operator may make them", budget("shop", &selector("app: db")) + DEPLOYMENT + custom, None),
        ] {
            assert_eq!(found(&yaml), want.into_iter().collect::<Vec<_>>(), "{name}");
        }
    }
}
