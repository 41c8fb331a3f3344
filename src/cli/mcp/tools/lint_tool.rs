//! `lint`: what is wrong with manifests, the worst first.

use std::cmp::Reverse;

use roster_engine::{phrase::counted, reason::Severity};
use roster_lint::{FileFinding, LintRun, is_code};

use crate::cli::mcp::{
    answer::{Answer, Fold},
    arguments::ToolArguments,
    known_objects,
    tool::{Tool, ToolError},
};

pub(super) static TOOL: Tool = Tool {
    name: "lint",
    title: "Lint manifests",
    description: "Finds mistakes in Kubernetes manifests before they are applied: what an API server would refuse (unknown fields, \
                  types, values), what does not fit together (selectors, ports, references of Ingresses and webhooks, probes), \
                  and what rules warn about. The worst first, each with its line. As `roster lint`.",
    arguments: &[("objects", true), ("namespace", false), ("only", false), ("skip", false)],
    call,
};

/// Most findings of an answer.
const LISTED: usize = 40;

fn call(arguments: &ToolArguments<'_>) -> Result<Answer, ToolError> {
    let text = arguments.required_objects("objects")?;
    let namespace = arguments.text("namespace")?;
    let (only, skip) = (arguments.text("only")?, arguments.number("skip")?);
    if let Some(code) = only.as_deref().filter(|code| !is_code(code)) {
        return Err(ToolError::at("only", format!("there is no code {code:?}")));
    }
    known_objects::lint(&text, namespace.as_deref().unwrap_or("default"), |run| answer(run, only.as_deref(), skip))
}

fn answer(run: &LintRun<'_>, only: Option<&str>, skip: usize) -> Answer {
    let mut answer = Answer::default();
    answer.line(run.summary().text());
    let mut found: Vec<&FileFinding<'_>> =
        run.findings().filter(|finding| only.is_none_or(|code| finding.code.as_str() == code)).collect();
    // Stable: findings of one severity stay in the order of their lines.
    found.sort_by_key(|finding| Reverse(finding.severity));
    let infos = found.iter().filter(|finding| finding.severity == Severity::Info).count();
    if only.is_none() && infos > 0 && infos < found.len() {
        found.truncate(found.len() - infos);
        answer.line(format!("{} of severity info left out: `only` lists those of a code", counted(infos, "finding")));
    }
    answer.list("findings:", found.iter().skip(skip), Fold::after(LISTED, "finding").skipped(skip), |finding| {
        let place = finding.shown_place();
        let line = place.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{} ({}) in {}: {}", finding.code.as_str(), finding.severity, finding.object, finding.text())
    });
    let mut fixes: Vec<(&str, &str)> =
        found.iter().skip(skip).take(LISTED).map(|f| (f.code.as_str(), f.code.fix())).collect();
    fixes.sort_unstable();
    fixes.dedup();
    fixes.retain(|(_, fix)| !fix.is_empty());
    let fold = Fold::after(LISTED, "code").others("call `explain_code`");
    answer.list("what to do:", &fixes, fold, |(code, fix)| format!("{code}: {fix}"));
    answer
}
