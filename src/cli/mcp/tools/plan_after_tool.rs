//! `plan_after`: what would be served after a change, or why not.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use roster_engine::{
    compare::changes,
    reason::Severity,
    state::{Controller, Options},
};
use roster_lint::{FileFinding, LintRun};
use roster_manifests::inventory::{Index, whole};

use crate::cli::{
    explain::{Explainer, verdict_lines},
    mcp::{
        answer::{Answer, Fold},
        arguments::ToolArguments,
        explained_service::ExplainedService,
        known_objects::{self, KnownObjects, ServiceName},
        object_changes::ChangedObjects,
        suspects::{Bearing, Suspect},
        tool::{Tool, ToolError},
        undecided::Undecided,
    },
};

pub(super) static TOOL: Tool = Tool {
    name: "plan_after",
    title: "Plan a change before it is made",
    description: "What would be served after a change of objects, or why not: how much each Service serves before and after, what the \
                  controllers would write, whether an API server would refuse the change, and which findings come and go. \
                  Nothing is written.",
    arguments: &[("objects", true), ("changes", true), ("service", false), ("release", false), ("complete", false)],
    call,
};

/// Most lines of each list.
const LISTED: usize = 10;

/// A warning or an error of the linter: its code, and what it says of which object.
type LintLine = (Reverse<Severity>, &'static str, String);

/// The Services before and after, and what the linter says.
struct Outcome {
    services: BTreeMap<ServiceName, ExplainedService>,
    findings: BTreeSet<LintLine>,
}

fn call(arguments: &ToolArguments<'_>) -> Result<Answer, ToolError> {
    let text = arguments.required_objects("objects")?;
    let changes = arguments.required_objects("changes")?;
    let wanted = arguments.text("service")?;
    let options = Options { compat: arguments.release()?, ..Options::default() };
    let is_complete = arguments.flag("complete")?;
    let changed = ChangedObjects::of(&text, &changes)?;
    let before = explained(&text, is_complete, options)?;
    let after = KnownObjects::read(&changed.text, is_complete)?;
    let index = after.index();
    let explainer = Explainer::new(&index, &after.inventory.pods, options);
    let after = outcome(&after, &explainer, &changed.text)?;
    let shown = shown(&before, &after, wanted.as_deref())?;
    let mut answer = Answer::default();
    write_lead(&mut answer, &shown, &before, &after);
    answer.list("the change:", &changed.done, Fold::after(LISTED, "object"), |line| (*line).clone());
    write_findings(&mut answer, &before, &after);
    for name in shown.iter().take(LISTED) {
        write_plan(&mut answer, &explainer, name);
    }
    let others = shown.iter().skip(1);
    answer.list(
        "other Services that change:",
        others,
        Fold::after(LISTED, "Service").others("name one in `service`"),
        |name| compared(name, &before, &after),
    );
    let mut undecided = Undecided::new(&index, false);
    for service in shown.iter().filter_map(|name| after.services.get(name)) {
        undecided.add(&service.namespace, service.gaps);
    }
    undecided.write(&mut answer);
    Ok(answer)
}

fn explained(text: &str, is_complete: bool, options: Options) -> Result<Outcome, ToolError> {
    let known = KnownObjects::read(text, is_complete)?;
    let index: Index<'_> = known.index();
    let explainer = Explainer::new(&index, &known.inventory.pods, options);
    outcome(&known, &explainer, text)
}

fn outcome(known: &KnownObjects, explainer: &Explainer<'_>, text: &str) -> Result<Outcome, ToolError> {
    let services = ExplainedService::all(known, explainer)?;
    let services = services.into_iter().map(|service| ((service.namespace.clone(), service.name.clone()), service));
    let findings = known_objects::lint(text, "default", |run: &LintRun<'_>| {
        let line = |f: &FileFinding<'_>| (Reverse(f.severity), f.code.as_str(), format!("{}: {}", f.object, f.text()));
        run.findings().filter(|finding| finding.severity > Severity::Info).map(line).collect()
    })?;
    Ok(Outcome { services: services.collect(), findings })
}

/// The Services to write about: the one that is named, else those that change, else all.
fn shown(before: &Outcome, after: &Outcome, wanted: Option<&str>) -> Result<Vec<ServiceName>, ToolError> {
    let all: BTreeSet<&ServiceName> = before.services.keys().chain(after.services.keys()).collect();
    if let Some(wanted) = wanted {
        return Ok(vec![known_objects::service_named(wanted, all)?.clone()]);
    }
    let said = |outcome: &Outcome, name: &ServiceName| {
        outcome.services.get(name).map(|service| (service.served.clone(), service.suspects.clone()))
    };
    let changed = all.into_iter().filter(|name| said(before, name) != said(after, name));
    Ok(changed.cloned().collect())
}

/// `Service shop/web: 2 of 2 pods served, before: no pods`.
fn compared(name: &ServiceName, before: &Outcome, after: &Outcome) -> String {
    let line = |outcome: &Outcome| match outcome.services.get(name) {
        Some(service) => service.served.clone(),
        None => "it does not exist".to_owned(),
    };
    format!("Service {}/{}: {} (before: {})", name.0, name.1, line(after), line(before))
}

/// Writes what the change means for the first Service, and why that is not all.
fn write_lead(answer: &mut Answer, shown: &[ServiceName], before: &Outcome, after: &Outcome) {
    let Some(first) = shown.first() else {
        answer.line("after the change: no Service is served differently");
        return;
    };
    answer.line(format!("after the change: {}", compared(first, before, after)));
    let suspects = after.services.get(first).map(|service| service.suspects.as_slice()).unwrap_or_default();
    let cause = suspects.iter().filter(|suspect| suspect.bearing < Bearing::Harmless).min_by_key(|s| s.bearing);
    if let Some(cause) = cause {
        answer.line(format!("why not all: {}", Suspect::line(cause)));
        answer.line(format!("what to do: {}", cause.fix));
    }
}

/// Writes the findings that come and go.
fn write_findings(answer: &mut Answer, before: &Outcome, after: &Outcome) {
    let text = |(Reverse(severity), code, line): &&LintLine| format!("{code} ({severity}) in {line}");
    let fold = Fold::after(LISTED, "finding").others("call `lint`");
    let new: Vec<&LintLine> = after.findings.difference(&before.findings).collect();
    answer.list("the change adds:", new, fold, text);
    let gone: Vec<&LintLine> = before.findings.difference(&after.findings).collect();
    answer.list("the change removes:", gone, fold, text);
}

/// Writes the verdicts on the pods of a Service, and what the controllers would write for it.
fn write_plan(answer: &mut Answer, explainer: &Explainer<'_>, (namespace, name): &ServiceName) {
    let Some(entry) = explainer.index.get(namespace, name) else { return };
    let heading = format!("pods of {namespace}/{name} after the change:");
    answer.list(&heading, verdict_lines(&explainer.explain(entry)), Fold::after(LISTED, "line"), Clone::clone);
    let state = explainer.index.state(entry);
    let plan = whole::plan_of(explainer.index, entry, &Controller::ALL, &explainer.options);
    let changes: Vec<_> = changes(&state, &plan, false).into_iter().filter(|c| c.action.is_change()).collect();
    answer.list("the controllers would then write:", &changes, Fold::after(LISTED, "object"), |change| {
        format!("{} {} {}: {}", change.action.word(), change.kind, change.name, change.detail)
    });
}
