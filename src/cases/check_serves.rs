//! `serves`: the ready endpoints of a Service, after the plan.

use super::{
    test_file::{PortChoice, ServesExpectation},
    test_input::TestInput,
    test_result::{Difference, Differences},
};
use crate::{
    engine::{
        compare::{ChangedObject, changes},
        explain::PodState,
        reason::{Reason, Severity},
        state::State,
    },
    inventory::Entry,
    model::{Endpoint, EndpointSlice, Service, Text},
};

pub(super) fn check(wanted: &ServesExpectation, input: &TestInput<'_>) -> Differences {
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
    let mut names: Vec<String> = Vec::new();
    for slice in slices.filter(|slice| publishes(slice, wanted.port.as_ref(), &state)) {
        names.extend(slice.endpoints.iter().filter(|e| is_wanted(e, wanted)).map(|e| name(e).to_string()));
    }
    names.sort_unstable();
    names.dedup();
    let too_few = wanted.at_least.filter(|least| names.len() < *least);
    let differences = [
        wanted.pods.and_then(|pods| Difference::of_values("pods", &pods, &names.len())),
        too_few.map(|least| Difference {
            field: "atLeast",
            expected: vec![least.to_string()],
            found: vec![names.len().to_string()],
            why: Vec::new(),
        }),
        wanted.names.as_ref().and_then(|wanted| Difference::of_lists("names", wanted.sorted(), &names)),
    ];
    let mut differences: Vec<Difference> = differences.into_iter().flatten().collect();
    if let Some(first) = differences.first_mut() {
        first.why = why(input, entry, wanted, &names);
    }
    Ok(differences)
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
fn why<'a>(input: &TestInput<'a>, entry: &'a Entry<'a>, wanted: &ServesExpectation, names: &[String]) -> Vec<String> {
    const SHOWN: usize = 10;
    let explanation = input.explain(entry);
    let mut why: Vec<String> = Vec::new();
    if !names.is_empty() {
        why.push(format!("found: {}", names.join(", ")));
    }
    let key = entry.service.map(Service::key);
    let of_input =
        input.index.problems().iter().filter(|f| Some(&f.object) == key.as_ref() && f.severity > Severity::Info);
    why.extend(of_input.map(|f| format!("{}: {}", f.code, f.message)));
    // The nearest workload says more than that there is no pod.
    let is_known = why.iter().any(|line| line.starts_with(Reason::SelectorMatchesNoTemplate.code()));
    let causes = explanation.reasons.iter().filter(|c| !c.detail.is_empty());
    let causes = causes.filter(|c| !(is_known && c.code == Reason::SelectorMatchesNothing));
    why.extend(causes.map(|c| format!("{}: {}", c.code, c.detail)));
    let port = |p: &crate::engine::explain::PortName| match &wanted.port {
        Some(PortChoice::Number(number)) => p.port == *number,
        Some(PortChoice::Name(name)) => p.name == *name,
        None => true,
    };
    let rows = explanation.rows.iter().filter(|r| r.state != PodState::Ready && r.port.as_ref().is_none_or(port));
    why.extend(rows.filter_map(|r| {
        let cause = r.reasons.first()?;
        let detail = if cause.detail.is_empty() { cause.code.meaning() } else { &cause.detail };
        Some(format!("{} in {}: {}: {detail}", r.pod, r.scope, cause.code))
    }));
    let more = why.len().saturating_sub(SHOWN);
    why.truncate(SHOWN);
    if more > 0 {
        why.push(format!("and {more} more"));
    }
    why
}
