//! `explain`: which pods serve a Service, and why the others do not; the cause first.

use std::collections::{BTreeMap, BTreeSet};

use roster_engine::{
    explain::PodVerdict,
    model::{Pod, PodPhase, Text},
    phrase::counted,
    reason::Reason,
    state::Options,
};
use roster_lint::{LintRun, RequiredService, required_services};

use crate::cli::{
    explain::{Explainer, verdict_lines},
    mcp::{
        answer::{Answer, Fold},
        arguments::ToolArguments,
        cluster_status,
        explained_service::ExplainedService,
        known_objects::{self, KnownObjects},
        local_traffic::{self, LocalTraffic},
        suspects::{self, Bearing, Suspect},
        tool::{Tool, ToolError},
        undecided::Undecided,
    },
};

pub(super) static TOOL: Tool = Tool {
    name: "explain",
    title: "Explain which pods serve a Service",
    description: "Finds why a Kubernetes Service does not work, from objects alone: which pods serve it, why the others do not, and \
                  what is wrong around it (selector, targetPort, readiness, Ingress and webhook references, traffic policies). \
                  Pass all objects of the namespace at once. The first line of the answer is the cause, or says that there is \
                  none; evidence follows, then what the objects cannot say and what to bring.",
    arguments: &[("objects", true), ("service", false), ("release", false), ("complete", false)],
    call,
};

/// Most lines of each list.
const LISTED: usize = 12;

fn call(arguments: &ToolArguments<'_>) -> Result<Answer, ToolError> {
    let text = arguments.required_objects("objects")?;
    let wanted = arguments.text("service")?;
    let options = Options { compat: arguments.release()?, ..Options::default() };
    let known = KnownObjects::read(&text, arguments.flag("complete")?)?;
    let mut index = known.index();
    if let Some(wanted) = &wanted {
        known_objects::retain_service(&mut index, wanted)?;
    }
    let explainer = Explainer::new(&index, &known.inventory.pods, options);
    let services = ExplainedService::all(&known, &explainer)?;
    known_objects::lint(&text, "default", |run| answer(&known, &explainer, &services, run, wanted.is_some()))
}

fn answer(
    known: &KnownObjects,
    explainer: &Explainer<'_>,
    services: &[ExplainedService],
    run: &LintRun<'_>,
    is_one: bool,
) -> Answer {
    let of_traffic = local_traffic::of(&known.inventory, explainer.index, &explainer.options);
    let mut suspects = suspects::ranked(vec![
        services.iter().flat_map(|service| service.suspects.iter().cloned()).collect(),
        of_traffic.into_iter().map(LocalTraffic::suspect).collect(),
        explainer.other_findings().iter().filter_map(Suspect::of_finding).collect(),
        run.findings().filter_map(Suspect::of_lint).collect(),
        of_webhooks(services, run, is_one),
    ]);
    if is_one {
        suspects.retain(|suspect| services.iter().any(|service| service.is_concerned_by(&suspect.object)));
    }
    let (causes, harmless): (Vec<_>, Vec<_>) =
        suspects.into_iter().partition(|suspect| suspect.bearing < Bearing::Harmless);
    let mut answer = Answer::default();
    write_lead(&mut answer, causes.first(), services.len());
    let fold = Fold::after(LISTED, "finding").others("name a Service in `service`");
    answer.list("also:", causes.iter().skip(1), fold, |cause| cause.line());
    write_services(&mut answer, explainer, services, causes.first(), run);
    let statements = cluster_status::statements(&run.report.objects);
    answer.list("the cluster says:", &statements, Fold::after(LISTED / 2, "statement"), |line| (*line).clone());
    if !is_one {
        let unselected = unselected(known, services);
        answer.list("pods that no Service selects:", &unselected, Fold::after(LISTED / 2, "group"), |line| {
            (*line).clone()
        });
    }
    let mut undecided = Undecided::new(explainer.index, causes.is_empty());
    for service in services {
        undecided.add(&service.namespace, service.gaps);
    }
    undecided.write(&mut answer);
    let fold = Fold::after(LISTED / 3, "finding").others("call `lint`");
    answer.list("other findings:", &harmless, fold, |finding| finding.line());
    answer
}

/// The webhooks that fail closed and whose Services may serve nothing; `is_one` says that the other Services are not looked at.
fn of_webhooks(services: &[ExplainedService], run: &LintRun<'_>, is_one: bool) -> Vec<Suspect> {
    let known: BTreeMap<(&Text, &Text), &ExplainedService> =
        services.iter().map(|service| ((&service.namespace, &service.name), service)).collect();
    let suspect = |of: RequiredService| match known.get(&(&of.service.0, &of.service.1)) {
        None => (!is_one).then(|| Suspect::of_webhook(of, false)),
        Some(service) => {
            (service.totals.pod_ports == 0 && service.gaps.lacks_pods()).then(|| Suspect::of_webhook(of, true))
        }
    };
    required_services(&run.report).into_iter().filter_map(suspect).collect()
}

/// Writes the cause, or that there is none.
fn write_lead(answer: &mut Answer, lead: Option<&Suspect>, services: usize) {
    let Some(lead) = lead else {
        let none = if services == 0 { ", and no Service is among the objects" } else { "" };
        answer.line(format!("cause: none found{none}"));
        return;
    };
    let word = if lead.bearing == Bearing::Suspicion { "suspect" } else { "cause" };
    answer.line(format!("{word}: {} ({}) in {}", lead.code, lead.severity, lead.place()));
    answer.line(format!("why: {}", lead.detail));
    if !lead.fix.is_empty() {
        answer.line(format!("what to do: {}", lead.fix));
    }
}

/// Writes how much of each Service is served, and the pods of the one that the lead is about, or of the worst.
fn write_services(
    answer: &mut Answer,
    explainer: &Explainer<'_>,
    services: &[ExplainedService],
    lead: Option<&Suspect>,
    run: &LintRun<'_>,
) {
    let is_lead = |service: &&ExplainedService| lead.is_some_and(|lead| service.is(&lead.object));
    let Some(shown) = services.iter().find(is_lead).or(services.first()) else { return };
    let entry = explainer.index.get(&shown.namespace, &shown.name);
    let explanation = entry.map(|entry| explainer.explain(entry));
    let lines = explanation.as_ref().map(verdict_lines).unwrap_or_default();
    if lines.is_empty() {
        answer.line(shown.line());
    }
    let fold = Fold::after(LISTED, "line").others("`roster explain -o wide` lists every pod");
    answer.list(&shown.line(), &lines, fold, |line| (*line).clone());
    let rows = explanation.iter().flat_map(|explanation| &explanation.rows);
    let unready = |row: &&PodVerdict| row.reasons.iter().any(|cause| cause.code == Reason::NotReady);
    if let Some(row) = rows.into_iter().find(unready) {
        let probes = cluster_status::probes(&run.report.objects, &shown.namespace, &row.pod);
        answer.list(&format!("readinessProbe of {}:", row.pod), &probes, Fold::after(LISTED, "container"), |line| {
            (*line).clone()
        });
    }
    let others = services.iter().filter(|service| !std::ptr::eq(*service, shown));
    let fold = Fold::after(LISTED, "Service").others("name one in `service`");
    answer.list("other Services:", others, fold, |service| service.line());
}

/// The pods with ports that no Service selects, by their owners: one that was deleted may have selected them.
fn unselected(known: &KnownObjects, services: &[ExplainedService]) -> Vec<String> {
    let selected: BTreeSet<(&Text, &Text)> =
        services.iter().flat_map(|service| service.selects.iter().map(|pod| (&service.namespace, pod))).collect();
    let is_open = |pod: &&Pod| {
        let is_live = pod.phase == PodPhase::Live && !pod.ports.is_empty();
        is_live && !selected.contains(&(pod.namespace(), pod.name()))
    };
    let mut groups: BTreeMap<(&Text, &str), usize> = BTreeMap::new();
    for pod in known.inventory.pods.iter().filter(is_open) {
        let owner = pod.owner.as_ref().map_or(pod.name().as_str(), |owner| owner.name.as_str());
        *groups.entry((pod.namespace(), owner)).or_default() += 1;
    }
    let line =
        |((namespace, owner), pods): ((&Text, &str), usize)| format!("{} of {namespace}/{owner}", counted(pods, "pod"));
    groups.into_iter().map(line).collect()
}
