//! What upstream does to Endpoints that a user would not expect (`docs/versions.md`, oddities).

use std::collections::BTreeMap;

use super::desired::LISTS;
use crate::{
    model::{EndpointSubset, Endpoints, Service, ServiceType, TargetPort, names},
    plan::{Context, Report},
    reason::{Problem, Reason},
    uncanonical::Uncanonical,
};

/// Problems that the Service itself brings about.
pub(super) fn of_service(service: &Service, subsets: &[EndpointSubset], context: &Context, report: &mut Report) {
    let mut say = |code, message: String| report.problems.push(Problem::new(code, service.key(), message));
    let labels = &service.meta.labels;
    if labels.contains_key(names::HEADLESS) {
        say(
            Reason::ServiceCarriesHeadlessLabel,
            format!("the Service carries the label {}: its Endpoints are updated at every sync", names::HEADLESS),
        );
    }
    if context.profile.managed_by_label && labels.contains_key(names::ENDPOINTS_MANAGED_BY) {
        say(
            Reason::ServiceCarriesManagedByLabel,
            format!(
                "the Service carries the label {}: its Endpoints are updated at every sync",
                names::ENDPOINTS_MANAGED_BY
            ),
        );
    }
    if service.families.is_empty() && !subsets.is_empty() && context.profile.some_patch_panics {
        say(
            Reason::EmptyIpFamiliesPanic,
            format!("spec.ipFamilies is empty: early patches of {} crash here", context.minor),
        );
    }
    if context.profile.target_resource_version && subsets.len() > 1 {
        say(
            Reason::PodUpdateReordersSubsets,
            format!("{} subsets, whose order depends on the resource versions of the pods", subsets.len()),
        );
    }
    if service.kind == ServiceType::ExternalName {
        say(
            Reason::ExternalNamePublishes,
            format!("{} publishes endpoints for this ExternalName Service", context.minor),
        );
    }
    if !context.profile.tolerate_unready_annotation && service.meta.annotations.contains_key(names::TOLERATE_UNREADY) {
        say(
            Reason::SettingIgnored,
            format!(
                "the annotation {} has no effect since 1.24: set spec.publishNotReadyAddresses",
                names::TOLERATE_UNREADY
            ),
        );
    }
    named_ports(service, subsets, report);
}

/// A named port that stands for several numbers.
fn named_ports(service: &Service, subsets: &[EndpointSubset], report: &mut Report) {
    if subsets.len() < 2 {
        return;
    }
    // One pass over the subsets: there can be as many of them as pods, and as many ports in each as the Service has.
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
            let shown: Vec<String> = numbers.iter().take(5).map(|(n, pods)| format!("{n} in {pods}")).collect();
            let more = if numbers.len() > shown.len() { ", …" } else { "" };
            let message = format!("targetPort {target:?} is {}{more} pods", shown.join(", "));
            report.problems.push(Problem::new(Reason::NamedPortDiffers, service.key(), message));
        }
    }
}

/// Addresses of stored Endpoints that do not look like those that take their place.
pub(super) fn replaced(stored: &Endpoints, context: &Context, report: &mut Report) {
    let mut uncanonical = Uncanonical::new(LISTS, context.profile.canonical_ips);
    for address in stored.subsets.iter().flat_map(|s| s.addresses.iter().chain(&s.not_ready_addresses)) {
        uncanonical.of_object(|| stored.key(), &address.ip);
    }
    uncanonical.tell(|| stored.key(), report);
}

/// Truncated Endpoints are never current (A.7), so upstream writes them at every sync.
pub(super) fn over_capacity(service: &Service, kept: usize, total: usize, report: &mut Report) {
    report.problems.push(Problem::new(
        Reason::OverCapacityRewrite,
        service.key(),
        format!("{kept} of {total} addresses are listed, and the Endpoints are updated at every sync"),
    ));
}
