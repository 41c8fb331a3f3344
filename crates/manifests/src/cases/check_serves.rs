//! `serves`: the ready endpoints of a Service, after the plan.

use roster_engine::{
    compare::{ChangedObject, changes},
    explain::{PodState, PodVerdict, PortName},
    model::{Endpoint, EndpointSlice, Service, Text},
    reason::{Reason, Severity},
    state::State,
};

use super::{
    test_answer::{Answer, Explained, Found, Question, ServingQuestion, first_names},
    test_file::{PortChoice, ServesExpectation},
    test_input::TestInput,
    test_result::{Difference, Differences},
};

pub(super) fn check(wanted: &ServesExpectation, input: &TestInput<'_>) -> Differences {
    let question = ServingQuestion::from(wanted);
    let answer = input.answer(Question::Serves(question.clone()), || find(wanted, input))?;
    let names = &answer.all.texts;
    let too_few = wanted.at_least.filter(|least| names.len() < *least);
    let differences = [
        wanted.pods.and_then(|pods| Difference::of_values("pods", &pods, &names.len())),
        too_few.map(|least| Difference {
            field: "atLeast",
            expected: vec![least.to_string()],
            found: vec![names.len().to_string()],
            why: Vec::new(),
        }),
        wanted.names.as_ref().and_then(|wanted| Difference::of_lists("names", wanted.sorted(), names)),
    ];
    let mut differences: Vec<Difference> = differences.into_iter().flatten().collect();
    if let Some(first) = differences.first_mut() {
        let why = input.answer(Question::NotServing(question), || why(wanted, names, input))?;
        first.why = why.all.why.lines();
    }
    Ok(differences)
}

/// The names of the endpoints that are wanted.
fn find(wanted: &ServesExpectation, input: &TestInput<'_>) -> Result<Answer, String> {
    let entry = input.entry(&wanted.service)?;
    let state = input.state(entry);
    if let Some(port) = &wanted.port {
        has_port(&state, port)?;
    }
    wanted.zone.iter().chain(&wanted.clients_in_zone).try_for_each(|zone| input.has_zone(zone))?;
    input.is_checked(&[entry])?;
    let plan = input.plan(entry, &input.options);
    let after = changes(&state, &plan, true);
    let slices = after.iter().filter_map(|change| match change.after {
        Some(ChangedObject::Slice(slice)) => Some(slice),
        _ => None,
    });
    let mut texts: Vec<String> = Vec::new();
    for slice in slices.filter(|slice| publishes(slice, wanted.port.as_ref(), &state)) {
        texts.extend(slice.endpoints.iter().filter(|e| is_wanted(e, wanted)).map(|e| name(e).to_string()));
    }
    texts.sort_unstable();
    texts.dedup();
    Ok(Answer { all: Found { texts, ..Found::default() }, ..Answer::default() })
}

fn has_port(state: &State<'_>, port: &PortChoice) -> Result<(), String> {
    let ports = state.service.map(|s| s.ports.as_slice()).unwrap_or_default();
    if ports.iter().any(|p| port.is(p)) {
        return Ok(());
    }
    let all: Vec<String> = ports.iter().map(|p| format!("{} {}", p.name, p.port).trim().to_owned()).collect();
    Err(format!("the Service has no such port; it has: {}", all.join(", ")))
}

/// Whether a slice has the port of the Service.
fn publishes(slice: &EndpointSlice, port: Option<&PortChoice>, state: &State<'_>) -> bool {
    let Some(port) = port else { return true };
    let ports = state.service.map(|s| s.ports.as_slice()).unwrap_or_default();
    let names = slice.port_names();
    ports.iter().filter(|p| port.is(p)).any(|p| names.contains(&p.name))
}

fn is_wanted(endpoint: &Endpoint, wanted: &ServesExpectation) -> bool {
    let in_zone = wanted.zone.as_ref().is_none_or(|zone| endpoint.zone.as_ref() == Some(zone));
    let for_clients = wanted.clients_in_zone.as_ref().is_none_or(|zone| {
        let zones = endpoint.hints.as_ref().map(|h| h.for_zones.as_slice()).unwrap_or_default();
        zones.is_empty() || zones.iter().any(|z| z.name == *zone)
    });
    endpoint.ready() && in_zone && for_clients
}

/// The name of the pod, or the address.
fn name(endpoint: &Endpoint) -> Text {
    let pod = endpoint.target_ref.as_ref().map(|t| t.name.clone());
    pod.or_else(|| endpoint.addresses.first().cloned()).unwrap_or_default()
}

/// Who is there, and why the others are not.
fn why(wanted: &ServesExpectation, names: &[String], input: &TestInput<'_>) -> Result<Answer, String> {
    const NAMED: usize = 10;
    let entry = input.entry(&wanted.service)?;
    let of_service = input.explain(entry);
    let explanation = &of_service.explanation;
    let mut why = Explained::default();
    if !names.is_empty() {
        why.add(|| format!("found: {}", first_names(&names[..names.len().min(NAMED)], names.len())));
    }
    let key = entry.service.map(Service::key);
    let of_input =
        input.index.problems().iter().filter(|f| Some(&f.object) == key.as_ref() && f.severity > Severity::Info);
    // The nearest workload says more than that there is no pod.
    let mut is_known = false;
    for finding in of_input {
        is_known |= finding.code == Reason::SelectorMatchesNoTemplate;
        why.add(|| format!("{}: {}", finding.code, finding.message));
    }
    let causes = explanation.reasons.iter().filter(|c| !c.detail.is_empty());
    for cause in causes.filter(|c| !(is_known && c.code == Reason::SelectorMatchesNothing)) {
        why.add(|| format!("{}: {}", cause.code, cause.detail));
    }
    let has = |p: &PortName| wanted.port.as_ref().is_none_or(|wanted| wanted.has(&p.name, p.port));
    let is_port = |row: &PodVerdict| row.ports.each().any(|port| port.is_none_or(has));
    let rows = explanation.rows.iter().filter(|row| row.state != PodState::Ready && is_port(row));
    for (row, cause) in rows.filter_map(|row| Some((row, row.reasons.first()?))) {
        why.add(|| {
            let detail = if cause.detail.is_empty() { cause.code.meaning() } else { &cause.detail };
            format!("{} in {}: {}: {detail}", row.pod, row.scope, cause.code)
        });
    }
    Ok(Answer { all: Found { why, ..Found::default() }, ..Answer::default() })
}
