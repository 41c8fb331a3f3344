//! `docs/rules.md`: made from the table of rules, and from examples that were decided.

use std::fmt::Write;

use super::{Decision, Mode, Refusal, Remedy, Rule};

/// An object that a rule has something against, and what was said of it.
#[derive(Clone, Debug)]
pub struct Example {
    /// The object, as YAML.
    pub object: String,
    /// The decision of both webhooks with the rule enforced, and no other rule.
    pub enforced: Decision,
    /// The same with the rule in mode `warn`.
    pub warned: Decision,
}

/// Most operations of a patch that are shown.
const MAX_OPERATIONS: usize = 3;

const HEAD: &str = "# Rules\n\n\
<!-- Made by `cargo xtask docs` from src/admission/rule.rs and tests/data/rules: do not edit. -->\n\n\
What the admission webhook, `roster review` and `POST /v1/review` look at. Codes never change.\n\n\
Each rule has a mode, which an `EndpointPolicy` sets: `off`; `audit` writes an annotation into the audit log; `warn` \
tells the writer as well; `enforce` mends the object, or else refuses it. Where the mutating webhook was not reached, \
what it would have mended is a warning.\n\n\
What holds for all of them:\n\n\
- An update is not refused for what the stored object has already: that is a warning. So faults can be mended one by \
one, and finalizers removed.\n\
- Writes of kube-controller-manager and of the API server itself are not looked at, and what their controllers own is \
never mended: they would write it again, for ever.\n\
- Fields that Roster does not know survive its patches, and a second patch is empty.\n\
- A rule that needs the cluster does nothing without it, and says so in the audit log.\n\n\
The examples are real: their answers were given by the rules. They are in the namespace `shop`, whose pods, Services \
and nodes are in [cluster.yaml](../tests/data/rules/cluster.yaml).\n\n\
| rule | looks at | default | enforced |\n|---|---|---|---|\n";

/// The text of `docs/rules.md`. `example` is asked for an example of each rule.
pub fn rules_markdown(mut example: impl FnMut(Rule) -> Example) -> String {
    let mut out = String::from(HEAD);
    for &rule in Rule::ALL {
        let kinds = rule.kinds().join(", ");
        let _ = writeln!(out, "| [`{rule}`](#{rule}) | {kinds} | {} | {} |", mode(rule.default_mode()), remedy(rule));
    }
    let mut kinds: &[&str] = &[];
    for &rule in Rule::ALL {
        if rule.kinds() != kinds {
            kinds = rule.kinds();
            let _ = write!(out, "\n## {}\n", kinds.join(" and "));
        }
        let _ = write!(out, "\n### {rule}\n\n{}\n\n{}\n", rule.meaning(), rule.fix());
        let Example { object, enforced, warned } = example(rule);
        let _ = write!(out, "\n```yaml\n{}\n```\n", object.trim());
        answers(&mut out, &enforced, &warned);
    }
    out
}

fn answers(out: &mut String, enforced: &Decision, warned: &Decision) {
    let mut said = String::new();
    if let Some(denied) = &enforced.denied {
        let _ = writeln!(said, "enforce: {} {}: {}", denied.code, denied.reason, denied.message);
    }
    if !enforced.patch.is_empty() {
        // Truncation has many operations of one kind.
        let hidden = enforced.patch.len().saturating_sub(MAX_OPERATIONS);
        let shown = enforced.patch.iter().enumerate().filter(|(i, _)| *i == 0 || *i > hidden);
        let shown: Vec<String> = shown.filter_map(|(_, op)| serde_json::to_string(op).ok()).collect();
        let more = if hidden > 0 { format!(" (… {hidden} like the first are not shown)") } else { String::new() };
        let _ = writeln!(said, "enforce: patch [{}]{more}", shown.join(","));
    }
    for (mode, decision) in [("enforce", enforced), ("warn", warned)] {
        for warning in &decision.warnings {
            let _ = writeln!(said, "{mode}: Warning: {warning}");
        }
    }
    let _ = write!(out, "\n```text\n{said}```\n");
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Off => "off",
        Mode::Audit => "audit",
        Mode::Warn => "warn",
        Mode::Enforce => "enforce",
    }
}

fn remedy(rule: Rule) -> &'static str {
    match (rule.remedy(), rule.refusal()) {
        (Remedy::Mend, _) => "mended",
        (Remedy::Refuse, Refusal::Forbidden) => "refused, 403 Forbidden",
        (Remedy::Refuse, Refusal::Invalid) => "refused, 422 Invalid",
    }
}
