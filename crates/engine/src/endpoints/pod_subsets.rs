//! The subsets that the pods of a Service make.

use super::{
    findings::{self, OUTPUT},
    pod_address::{self, endpoint_address, publishes_not_ready},
    port_blocks::{PodEntry, PodSubsets, PortBlocks},
    records,
};
use crate::{
    budget::TooLarge,
    canonical_ips::UncanonicalAddresses,
    model::{Pod, Service},
    record::Recorder,
    state::{SyncContext, SyncReport},
    subsets::{PackedSubsets, Repack},
};

/// The canonical subsets of a Service: addresses grouped by the ports they serve.
pub(super) fn pod_subsets<'a>(
    service: &'a Service,
    pods: &[&'a Pod],
    context: &SyncContext,
    report: &mut SyncReport,
    recorder: &mut impl Recorder,
) -> Result<PodSubsets<'a>, TooLarge> {
    let mut found = Repack::with_capacity(pods.len());
    let mut blocks = PortBlocks::new(service, context.profile.sidecar_ports_endpoints);
    let mut entries = Vec::new();
    let publish = publishes_not_ready(service, context);
    let mut uncanonical = UncanonicalAddresses::new(OUTPUT, context.profile.canonical_ips);
    let mut without_node = Vec::new();
    let recorded = recorder.open();
    if recorded {
        found.record_places();
    }
    let mut addresses = 0..;
    for (index, &pod) in pods.iter().enumerate() {
        if recorder.interrupt().is_requested() {
            break;
        }
        let ip = match pod_address::of_pod(service, pod, publish, context, report) {
            Ok(ip) => ip,
            Err(reason) => {
                records::left_out(service, index, pod, reason, recorder);
                continue;
            }
        };
        uncanonical.of_pod(pod, ip);
        let ready = publish || pod.ready();
        let (row, block) = blocks.of_pod(pod, &mut found);
        if let Some(block) = block {
            found.address(endpoint_address(service, pod, ip, context), block, ready);
            if pod.node_name.is_empty() {
                without_node.push(pod);
            }
        }
        if recorded {
            let address = block.and_then(|_| addresses.next());
            entries.push(PodEntry { pod: index, row, ready, address });
        }
    }
    uncanonical.report(|| service.key(), report);
    findings::without_node(service, &without_node, report);
    blocks.serve(&mut found)?;
    let PackedSubsets { subsets, places } = found.pack(context.profile.hash)?;
    Ok(PodSubsets { subsets, blocks, entries, places })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        explain::explain,
        model::builders::{node, pod, service},
        plan::PlanRequest,
    };

    /// Endpoints and slices agree on a pod without an address, and count it once.
    #[test]
    fn a_pod_without_addresses_has_one_reason() {
        let empty = "status.podIPs is empty";
        for (status, code, details) in [
            (json!({}), "no-pod-ip", ["", ""]),
            (json!({"podIP": "10.0.0.1"}), "no-pod-ip", [empty, empty]),
            (json!({"podIP": "10.0.0.1", "podIPs": []}), "no-pod-ip", [empty, empty]),
            (
                json!({"podIP": "fd00::1", "podIPs": [{"ip": "fd00::1"}]}),
                "family-mismatch",
                ["Endpoints list IPv4 addresses only", "IPv4 is asked for, the pod has fd00::1"],
            ),
        ] {
            let request: PlanRequest = serde_json::from_value(json!({
                "service": service("web").selector(json!({"app": "web"})).port("http", 80, 8080),
                "pods": [pod("a").labels(json!({"app": "web"})).node("n").with("/status", status.clone())],
                "nodes": [node("n")],
            }))
            .unwrap();
            let explanation = request.with_state(|state, _| explain(state, &request.options));
            let rows: Vec<_> =
                explanation.rows.iter().map(|r| (r.reasons[0].code.code(), r.reasons[0].detail.as_str())).collect();
            assert_eq!(rows, details.map(|d| (code, d)), "{status}");
            let unserved: Vec<_> = explanation.reasons.iter().map(|r| r.detail.as_str()).collect();
            assert_eq!(unserved, [format!("port 80 (http): {code} in 1 pod")], "{status}");
        }
    }
}
