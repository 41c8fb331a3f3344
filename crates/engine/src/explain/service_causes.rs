//! The causes that concern a Service as a whole.

use std::collections::BTreeSet;

use super::{
    Focus,
    explanation::Cause,
    selector_misses::{LabelGroups, misses, other_namespaces},
    verdicts::VerdictTable,
};
use crate::{
    membership,
    model::{
        EndpointSlice, ObjectKey, Pod, Service, ServicePort, TargetPort, Text,
        installed::{MANAGER, SELECTOR},
        names,
    },
    phrase::{absent_of, counted},
    ports::PortMisses,
    reason::Reason,
    state::{Options, State},
};

/// The Service; if it was deleted, its name as its Endpoints or slices give it.
pub(super) fn key(state: &State<'_>) -> Option<ObjectKey> {
    let service = state.service.map(Service::key);
    let endpoints = || state.endpoints.map(|e| ObjectKey { kind: "Service".into(), ..e.key() });
    let slices = || {
        let named =
            |s: &&EndpointSlice| s.service_name().map(|name| ObjectKey::new("Service", &s.meta.namespace, name));
        state.slices.iter().find_map(named)
    };
    service.or_else(endpoints).or_else(slices)
}

/// The causes in the Service itself and in its selector.
pub(super) fn of_service(state: &State<'_>, options: &Options, selected: &[&Pod], focus: Focus<'_>) -> Vec<Cause> {
    let Some(service) = state.service else { return vec![Cause::new(Reason::ServiceMissing, "")] };
    let mut out = Vec::new();
    if service.meta.deleting() {
        out.push(Cause::new(Reason::ServiceDeleting, ""));
    }
    let idle = membership::only_a_name(service, options.compat.profile());
    if idle {
        out.push(Cause::new(Reason::ExternalName, ""));
    }
    match &service.selector {
        None => out.push(Cause::new(Reason::NoSelector, who_writes(state, service))),
        Some(_) if idle => {}
        Some(selector) if focus.unknown.hides_pods_of(state) => {
            // The Service may be in the wrong namespace: that says more than what is missing.
            out.extend(focus.pods.and_then(|groups| other_namespaces(selector, groups)));
            out.push(Cause::new(Reason::NotChecked, absent_of("Pods", "its namespace")));
        }
        Some(selector) if selected.is_empty() && (focus.is_narrowed || !selector.is_empty()) => {
            let misses = |groups: &LabelGroups<'_>| misses(service, selector, groups, focus.namespace_pods);
            out.extend(match focus.pods {
                Some(groups) => misses(groups),
                None => misses(&state.pods.iter().copied().collect()),
            });
        }
        Some(selector) if selector.is_empty() && !focus.is_narrowed => {
            let detail = format!("{} of namespace {}", counted(selected.len(), "pod"), service.meta.namespace);
            out.push(Cause::new(Reason::SelectsEverything, detail));
        }
        Some(_) => {}
    }
    out
}

/// The ports with a name in `targetPort` that no selected pod has, where no verdict says so: nothing looks for the ports
/// of pods without an address, but a typo can be seen in their manifest.
pub(super) fn missing_targets(state: &State<'_>, selected: &[&Pod], table: &VerdictTable) -> Vec<Cause> {
    let (Some(service), Some(first)) = (state.service, selected.first()) else { return Vec::new() };
    let is_open = |index: usize| {
        let tally = table.ports.get(index);
        tally.is_some_and(|t| !t.served && t.reasons.keys().all(|reason| *reason == Reason::NoPodIp))
    };
    let named = |port: &&ServicePort| matches!(port.target_port, TargetPort::Name(_));
    let open: Vec<&ServicePort> =
        service.ports.iter().enumerate().filter(|(i, _)| is_open(*i)).map(|(_, port)| port).filter(named).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let ports = selected.iter().flat_map(|pod| pod.ports.iter());
    let present: BTreeSet<(&str, &str)> = ports.map(|p| (p.name.as_str(), p.protocol.as_str())).collect();
    let is_missing = |port: &&&ServicePort| match &port.target_port {
        TargetPort::Name(name) => !present.contains(&(name.as_str(), port.protocol.as_str())),
        TargetPort::Number(_) => false,
    };
    let mut misses = PortMisses::of(first);
    let cause = |port: &&ServicePort| {
        let name = if let TargetPort::Name(name) = &port.target_port { name } else { &port.name };
        let (reason, detail) = misses.miss(&[(name, &port.protocol)]);
        let detail = format!("{}: {detail} (in {})", port_text(port), counted(selected.len(), "pod"));
        Cause::of_pods(service, reason, detail)
    };
    open.iter().filter(is_missing).map(cause).collect()
}

/// `port 80 (http)`.
fn port_text(port: &ServicePort) -> String {
    if port.name.is_empty() { format!("port {}", port.port) } else { format!("port {} ({})", port.port, port.name) }
}

/// Where the endpoints of a Service without selector come from, and who reads its annotation.
fn who_writes(state: &State<'_>, service: &Service) -> String {
    let writers = writers(state, service);
    if service.meta.annotations.contains_key(SELECTOR) {
        return format!("{writers}; only `roster controller --beside` reads the annotation {SELECTOR}");
    }
    writers
}

fn writers(state: &State<'_>, service: &Service) -> String {
    let meta = &service.meta;
    let is_of_service =
        |s: &&&EndpointSlice| s.meta.namespace == meta.namespace && s.service_name() == Some(&meta.name);
    let managers = state.slices.iter().filter(is_of_service).map(|slice| slice.managed_by().map_or("", Text::as_str));
    let (own, others): (Vec<&str>, Vec<&str>) =
        managers.filter(|by| *by != names::MIRROR_CONTROLLER).partition(|by| *by == MANAGER);
    let by = [(own.len(), "`roster controller --beside`"), (others.len(), "others")];
    let by = by.into_iter().filter(|(slices, _)| *slices > 0);
    let by: Vec<String> = by.map(|(slices, by)| format!("{} by {by}", counted(slices, "slice"))).collect();
    let slices = by.join(" and ");
    let Some(endpoints) = state.endpoints else {
        return match slices.as_str() {
            "" => "there are no Endpoints of its name".to_owned(),
            slices => format!("{slices}, and no Endpoints of its name"),
        };
    };
    let addresses = endpoints.subsets.iter().map(|s| s.addresses.len() + s.not_ready_addresses.len()).sum();
    let is_own = endpoints.meta.labels.get(names::ENDPOINTS_MANAGED_BY).is_some_and(|by| by == MANAGER);
    let endpoints = match counted(addresses, "address") {
        addresses if is_own => format!("there are Endpoints by `roster controller --beside` with {addresses}"),
        addresses => format!("there are hand-made Endpoints with {addresses}"),
    };
    if slices.is_empty() { endpoints } else { format!("{endpoints}, and {slices}") }
}

/// The ports that no selected pod serves.
pub(super) fn unserved_ports<'a>(state: &State<'a>, table: &'a VerdictTable) -> impl Iterator<Item = Cause> + 'a {
    let ports = state.service.map_or(&[][..], |s| &s.ports);
    let unserved = table.ports.iter().enumerate().filter(|(_, t)| !t.served && !t.reasons.is_empty());
    unserved.map(|(index, tally)| {
        let port = ports.get(index).map_or_else(|| "the Service".to_owned(), port_text);
        let mut why: Vec<(usize, Reason)> = tally.reasons.iter().map(|(r, pods)| (*pods, *r)).collect();
        why.sort_unstable_by_key(|(pods, reason)| (std::cmp::Reverse(*pods), *reason));
        let why: Vec<String> =
            why.iter().take(4).map(|(pods, r)| format!("{r} in {}", counted(*pods, "pod"))).collect();
        Cause::new(Reason::PortUnserved, format!("{port}: {}", why.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Nodes;

    /// The state has only the pods that are selected, as that of a controller.
    #[test]
    fn a_selector_without_matches_knows_that_there_are_other_pods() {
        let focus = |namespace_pods, is_narrowed| Focus { namespace_pods, is_narrowed, ..Focus::default() };
        let pod: Pod = serde_json::from_value(json!({"metadata": {"namespace": "ns", "name": "a"}})).unwrap();
        let (web, empty) = (json!({"app": "web"}), json!({}));
        for (selector, matching, focus, want) in [
            (&web, 0, Focus::default(), "selector-matches-nothing: no pod of namespace ns is known"),
            (&web, 0, focus(Some(0), false), "selector-matches-nothing: no pod of namespace ns is known"),
            (&web, 0, focus(Some(1), false), "selector-matches-nothing: the only pod in namespace ns does not match"),
            (&web, 0, focus(Some(3), false), "selector-matches-nothing: none of 3 pods in namespace ns"),
            (&empty, 1, focus(Some(1), false), "selects-everything: 1 pod of namespace ns"),
            (&empty, 1, focus(Some(3), true), ""),
            (&empty, 0, focus(Some(3), true), "selector-matches-nothing: none of 3 pods in namespace ns"),
        ] {
            let meta = json!({"namespace": "ns", "name": "web"});
            let service = json!({"metadata": meta, "spec": {"selector": selector}});
            let service: Service = serde_json::from_value(service).unwrap();
            let pods = &[&pod][..matching];
            let state = State { service: Some(&service), pods, nodes: &Nodes::default(), endpoints: None, slices: &[] };
            let causes = of_service(&state, &Options::default(), pods, focus);
            let causes: Vec<String> = causes.iter().map(|cause| format!("{}: {}", cause.code, cause.detail)).collect();
            assert_eq!(causes.join(" "), want, "{selector} {focus:?}");
        }
    }
}
