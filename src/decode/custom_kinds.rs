//! Custom resources of which no operator makes pods.
//!
//! A Service whose selector matches nothing may be meant for the pods of an operator. That is not so where the only custom
//! resources are certificates, routes or rules of monitoring.

/// API groups without a kind that has pods, and single kinds of other groups.
const WITHOUT_PODS: &[(&str, &[&str])] = &[
    ("roster.dev", &[]),
    // Certificates and secrets.
    ("cert-manager.io", &[]),
    ("acme.cert-manager.io", &[]),
    ("external-secrets.io", &[]),
    ("bitnami.com", &["SealedSecret"]),
    ("secrets-store.csi.x-k8s.io", &[]),
    // Routes.
    ("gateway.envoyproxy.io", &["BackendTrafficPolicy", "ClientTrafficPolicy", "SecurityPolicy"]),
    ("networking.istio.io", &[]),
    ("security.istio.io", &[]),
    ("traefik.io", &[]),
    ("traefik.containo.us", &[]),
    ("projectcontour.io", &["HTTPProxy", "TLSCertificateDelegation"]),
    ("policy.linkerd.io", &[]),
    ("cilium.io", &[]),
    ("metallb.io", &["IPAddressPool", "L2Advertisement", "BGPAdvertisement", "BGPPeer"]),
    ("externaldns.k8s.io", &[]),
    // Monitoring and scaling.
    (
        "monitoring.coreos.com",
        &["ServiceMonitor", "PodMonitor", "Probe", "PrometheusRule", "ScrapeConfig", "AlertmanagerConfig"],
    ),
    ("keda.sh", &["ScaledObject", "TriggerAuthentication", "ClusterTriggerAuthentication"]),
    // Policies, and what delivers manifests that are elsewhere.
    ("kyverno.io", &[]),
    ("constraints.gatekeeper.sh", &[]),
    ("templates.gatekeeper.sh", &[]),
    ("argoproj.io", &["Application", "ApplicationSet", "AppProject", "AnalysisTemplate", "ClusterAnalysisTemplate"]),
    ("source.toolkit.fluxcd.io", &[]),
    ("notification.toolkit.fluxcd.io", &[]),
    ("image.toolkit.fluxcd.io", &[]),
];

/// Whether an operator may make pods of a custom resource.
pub(super) fn may_have_pods(group: &str, kind: &str) -> bool {
    !WITHOUT_PODS.iter().any(|(of, kinds)| *of == group && (kinds.is_empty() || kinds.contains(&kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_without_pods_are_known_by_group_or_name() {
        for (group, kind, want) in [
            ("cert-manager.io", "Certificate", false),
            ("monitoring.coreos.com", "ServiceMonitor", false),
            ("monitoring.coreos.com", "Prometheus", true),
            ("argoproj.io", "Rollout", true),
            ("postgresql.cnpg.io", "Cluster", true),
        ] {
            assert_eq!(may_have_pods(group, kind), want, "{kind}.{group}");
        }
    }
}
