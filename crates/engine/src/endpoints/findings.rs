//! Findings about Endpoints, most of them behaviour of upstream that a user would not expect.

use std::collections::BTreeMap;

use crate::{
    canonical_ips::UncanonicalAddresses,
    model::{EndpointSubset, Endpoints, Pod, Service, ServiceType, TargetPort, names},
    phrase::{counted, port_numbers},
    reason::{Finding, Reason},
    state::{SyncContext, SyncReport},
};

/// What this controller writes, as part of a sentence.
pub(super) const OUTPUT: &str = "Endpoints";

/// Findings about the Service itself.
pub(super) fn of_service(
    service: &Service,
    subsets: &[EndpointSubset],
    context: &SyncContext,
    report: &mut SyncReport,
) {
    let mut add = |code, message: String| report.problems.push(Finding::new(code, service.key(), message));
    let labels = &service.meta.labels;
    if labels.contains_key(names::HEADLESS) {
        add(
            Reason::ServiceCarriesHeadlessLabel,
            format!("the Service carries the label {}: its Endpoints are updated at every sync", names::HEADLESS),
        );
    }
    if context.profile.managed_by_label && labels.contains_key(names::ENDPOINTS_MANAGED_BY) {
        add(
            Reason::ServiceCarriesManagedByLabel,
            format!(
                "the Service carries the label {}: its Endpoints are updated at every sync",
                names::ENDPOINTS_MANAGED_BY
            ),
        );
    }
    if service.families.is_empty() && !subsets.is_empty() && context.profile.some_patch_panics {
        add(
            Reason::EmptyIpFamiliesPanic,
            format!("spec.ipFamilies is empty: early patches of {} crash here", context.minor),
        );
    }
    if context.profile.target_resource_version && subsets.len() > 1 {
        add(
            Reason::PodUpdateReordersSubsets,
            format!("{} subsets, whose order depends on the resource versions of the pods", subsets.len()),
        );
    }
    if service.kind == ServiceType::ExternalName {
        add(
            Reason::ExternalNamePublishes,
            format!("{} publishes endpoints for this ExternalName Service", context.minor),
        );
    }
    if !context.profile.tolerate_unready_annotation
        && let Some(meant) = service.tolerates_unready().filter(|meant| *meant != service.publish_not_ready)
    {
        add(
            Reason::TolerateUnreadyDropped,
            format!(
                "the annotation {} says {meant}, and has no effect since 1.24: spec.publishNotReadyAddresses is {}",
                names::TOLERATE_UNREADY,
                service.publish_not_ready
            ),
        );
    }
    named_ports(service, subsets, report);
}

/// Named ports that stand for several numbers.
fn named_ports(service: &Service, subsets: &[EndpointSubset], report: &mut SyncReport) {
    if subsets.len() < 2 {
        return;
    }
    // One pass over the subsets: there can be as many as pods, each with all ports of the Service.
    let mut numbers: BTreeMap<(&str, &str), BTreeMap<i32, usize>> = BTreeMap::new();
    for subset in subsets {
        let pods = subset.addresses.len() + subset.not_ready_addresses.len();
        for port in &subset.ports {
            *numbers.entry((&port.name, &port.protocol)).or_default().entry(port.port).or_default() += pods;
        }
    }
    for port in &service.ports {
        let TargetPort::Name(target) = &port.target_port else { continue };
        let Some(numbers) = numbers.get(&(port.name.as_str(), port.protocol.as_str())) else { continue };
        if numbers.len() > 1 {
            let message = format!("targetPort {target:?} is {}", port_numbers(numbers, 5));
            report.problems.push(Finding::new(Reason::NamedPortDiffers, service.key(), message));
        }
    }
}

/// Pods that are listed with an empty node name.
pub(super) fn without_node(service: &Service, pods: &[&Pod], report: &mut SyncReport) {
    let message = match pods {
        [] => return,
        [pod] => format!("pod {} has no node: the Endpoints list it", pod.name()),
        [first, ..] => {
            format!("{} have no node, such as {}: the Endpoints list them", counted(pods.len(), "pod"), first.name())
        }
    };
    let message = message + " with nodeName \"\", which API servers refuse";
    report.problems.push(Finding::new(Reason::NodeUnknown, service.key(), message));
}

/// Addresses of stored Endpoints that are not canonical, where the Endpoints are replaced.
pub(super) fn replaced(stored: &Endpoints, context: &SyncContext, report: &mut SyncReport) {
    let mut uncanonical = UncanonicalAddresses::new(OUTPUT, context.profile.canonical_ips);
    for address in stored.subsets.iter().flat_map(|s| s.addresses.iter().chain(&s.not_ready_addresses)) {
        uncanonical.of_object(|| stored.key(), &address.ip);
    }
    uncanonical.report(|| stored.key(), report);
}

/// Truncated Endpoints, which are never current: upstream writes them at every sync.
pub(super) fn over_capacity(service: &Service, kept: usize, total: usize, report: &mut SyncReport) {
    report.problems.push(Finding::new(
        Reason::OverCapacityRewrite,
        service.key(),
        format!(
            "{kept} of {total} addresses are listed, {} dropped, and the Endpoints are updated at every sync",
            match total - kept {
                1 => "1 is".to_owned(),
                dropped => format!("{dropped} are"),
            }
        ),
    ));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        model::{builders, names},
        plan::{PlanRequest, plan},
        state::Controller,
    };

    fn pod(name: &str, node: &str) -> Value {
        json!(builders::pod(name).labels(json!({"app": "web"})).node(node).ip("10.0.0.1").ready())
    }

    /// The findings for the Endpoints of a Service with one ready pod, after `edits` to that state.
    fn findings(edits: &[(&str, Value)], compat: &str) -> Vec<String> {
        let mut state = json!({
            "service": builders::service("web")
                .selector(json!({"app": "web"}))
                .port("http", 80, 8080)
                .with("/metadata/annotations", json!({}))
                .with("/spec/publishNotReadyAddresses", json!(false)),
            "pods": [pod("a", "n")],
            "options": {"compat": compat},
        });
        for (pointer, value) in edits {
            *state.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value.clone();
        }
        let request: PlanRequest = serde_json::from_value(state).unwrap();
        let plan = request.with_state(|s, _| plan(s, &[Controller::Endpoints], &request.options));
        plan.problems.iter().map(|p| format!("{} {}", p.code, p.message)).collect()
    }

    #[test]
    fn an_annotation_without_effect_is_a_finding_if_it_contradicts_the_field() {
        let annotation = |value: &str| ("/service/metadata/annotations", json!({names::TOLERATE_UNREADY: value}));
        let publish = || ("/service/spec/publishNotReadyAddresses", json!(true));
        let says = |annotation: bool, field: bool| {
            format!(
                "tolerate-unready-dropped the annotation {} says {annotation}, and has no effect since 1.24: \
                 spec.publishNotReadyAddresses is {field}",
                names::TOLERATE_UNREADY
            )
        };
        for (edits, compat, want) in [
            (vec![annotation("true")], "1.37", vec![says(true, false)]),
            (vec![annotation("f"), publish()], "1.24", vec![says(false, true)]),
            (vec![annotation("true")], "1.23", vec![]),
            (vec![annotation("true"), publish()], "1.37", vec![]),
            // Not a boolean: no release reads it.
            (vec![annotation("yes")], "1.37", vec![]),
        ] {
            assert_eq!(findings(&edits, compat), want, "{compat}: {edits:?}");
        }
    }

    #[test]
    fn a_listed_pod_without_a_node_is_a_finding() {
        let refused = "with nodeName \"\", which API servers refuse";
        let mut ended = pod("a", "");
        ended["status"]["phase"] = json!("Failed");
        for (pods, want) in [
            (json!([pod("a", "n")]), vec![]),
            (json!([ended]), vec![]),
            (json!([pod("a", "")]), vec![format!("node-unknown pod a has no node: the Endpoints list it {refused}")]),
            (
                json!([pod("a", "n"), pod("b", ""), pod("c", "")]),
                vec![format!("node-unknown 2 pods have no node, such as b: the Endpoints list them {refused}")],
            ),
        ] {
            assert_eq!(findings(&[("/pods", pods.clone())], "1.37"), want, "{pods}");
        }
    }

    #[test]
    fn truncation_names_how_many_addresses_are_dropped() {
        let pods = |count: usize| -> Value {
            let pod = |i: usize| {
                let ip = format!("10.0.{}.{}", i / 250, i % 250 + 1);
                json!(builders::pod(&format!("p{i:04}")).labels(json!({"app": "web"})).node("n").ip(&ip).ready())
            };
            (0..count).map(pod).collect()
        };
        for (count, want) in [
            (1000, vec![]),
            (
                1001,
                vec!["1000 of 1001 addresses are listed, 1 is dropped, and the Endpoints are updated at every sync"],
            ),
            (
                1200,
                vec!["1000 of 1200 addresses are listed, 200 are dropped, and the Endpoints are updated at every sync"],
            ),
        ] {
            let want: Vec<String> = want.iter().map(|w| format!("over-capacity-rewrite {w}")).collect();
            assert_eq!(findings(&[("/pods", pods(count))], "1.37"), want, "{count}");
        }
    }
}
