//! What an API server refuses of the annotations of a Service.

use super::{
    addresses::not_cidr,
    faults::{Faults, quoted},
    field::Field,
};

const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";

pub(super) fn check(service: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (metadata, spec) = (service.key("metadata"), service.key("spec"));
    let annotations = metadata.key("annotations");
    let (mode, hints) = (annotations.key(TOPOLOGY_MODE), annotations.key(TOPOLOGY_HINTS));
    if let (Some(mode_text), Some(hints_text)) = (mode.as_text(), hints.as_text())
        && mode_text != hints_text
    {
        mode.refuse(format!("it differs from the annotation {TOPOLOGY_HINTS}"), faults);
    }
    // The field takes precedence.
    if spec.key("loadBalancerSourceRanges").is_empty() {
        check_source_ranges(&annotations.key(SOURCE_RANGES), spec.key("type").text(), faults);
    }
}

fn check_source_ranges(ranges: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let Some(text) = ranges.as_text() else { return };
    if kind != "LoadBalancer" {
        return ranges.refuse("it is for Services of type LoadBalancer", faults);
    }
    for range in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
        if let Some(why) = not_cidr(range) {
            ranges.refuse(format!("{} {why}", quoted(range)), faults);
        }
    }
}
