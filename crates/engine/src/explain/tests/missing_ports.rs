//! Pods that lack the port of the Service.

use super::*;
use crate::reason::Severity;

#[test]
fn dns_leads_to_pods_of_a_headless_service_that_lack_its_port() {
    let found = |cluster_ip: &str, has_address: bool| {
        let request = mistyped("htpp", cluster_ip, has_address);
        let explanation = request.with_state(|state, _| explain(state, &request.options));
        let of_pods = explanation.rows.iter().flat_map(|row| &row.reasons);
        let mut all = explanation.reasons.iter().chain(of_pods).filter(|cause| cause.code == Reason::NamedPortMissing);
        let first = all.next().unwrap();
        (first.severity, first.detail.ends_with("; a headless Service needs it for its SRV record only"))
    };
    for has_address in [true, false] {
        assert_eq!(found("10.1.0.1", has_address), (Severity::Error, false));
        assert_eq!(found("None", has_address), (Severity::Warning, true));
    }
}

/// A Service with this `targetPort` for a pod whose only port is called http.
fn mistyped(target: &str, cluster_ip: &str, has_address: bool) -> PlanRequest {
    let status = if has_address { json!({"podIPs": [{"ip": "10.0.0.1"}]}) } else { json!({}) };
    serde_json::from_value(json!({
        "service": {"metadata": {"name": "web", "namespace": "n"}, "spec": {
            "selector": {"app": "web"}, "ipFamilies": ["IPv4"], "clusterIP": cluster_ip,
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": target}],
        }},
        "pods": [{"metadata": {"name": "a", "namespace": "n", "labels": {"app": "web"}}, "status": status,
            "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]}]}}],
    }))
    .unwrap()
}

#[test]
fn a_typo_in_target_port_shows_before_the_pod_has_an_address() {
    for (target, ready, want) in [
        ("htpp", false, &["port 80 (http): no container port is named \"htpp\"; there is http (in 1 pod)"][..]),
        ("http", false, &[]),
        // The verdict of the pod says it.
        ("htpp", true, &[]),
    ] {
        let request = mistyped(target, "", ready);
        let explanation = request.with_state(|state, _| explain(state, &request.options));
        let found = explanation.reasons.iter().filter(|r| r.code == Reason::NamedPortMissing);
        let details: Vec<&str> = found.map(|r| r.detail.as_str()).collect();
        assert_eq!(details, want, "{target} {ready}");
    }
}
