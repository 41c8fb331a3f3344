//! Objects of unknown kinds, and whether a controller may make pods of them.
//!
//! A Service whose selector matches nothing may be meant for the pods of an operator. That is not so where the only custom
//! resources of its namespace are certificates, routes or rules of monitoring.

use roster_engine::model::{Resource, Text};
use serde::Deserialize;

/// API groups without a kind that has pods, and single kinds of other groups.
const WITHOUT_PODS: &[(&str, &[&str])] = &[
    ("roster.dev", &[]),
    // Files of programs that are not in the cluster.
    ("kind.x-k8s.io", &[]),
    ("ctlptl.dev", &[]),
    ("k3d.io", &[]),
    ("eksctl.io", &[]),
    ("backstage.io", &[]),
    // Parts of pipelines: only their runs have pods.
    ("tekton.dev", &["ClusterTask", "Pipeline", "StepAction", "Task"]),
    ("triggers.tekton.dev", &["ClusterTriggerBinding", "TriggerBinding", "TriggerTemplate"]),
    // Certificates and secrets.
    ("cert-manager.io", &[]),
    ("acme.cert-manager.io", &[]),
    ("policy.cert-manager.io", &[]),
    ("trust.cert-manager.io", &[]),
    ("external-secrets.io", &[]),
    ("generators.external-secrets.io", &[]),
    ("bitnami.com", &["SealedSecret"]),
    ("secrets-store.csi.x-k8s.io", &[]),
    ("spire.spiffe.io", &["ClusterSPIFFEID", "ClusterFederatedTrustDomain", "ClusterStaticEntry"]),
    ("talos.dev", &["ServiceAccount"]),
    // Routes, and policies of gateways and meshes.
    ("route.openshift.io", &[]),
    ("gateway.networking.x-k8s.io", &[]),
    (
        "gateway.envoyproxy.io",
        &[
            "Backend",
            "BackendTrafficPolicy",
            "ClientTrafficPolicy",
            "EnvoyExtensionPolicy",
            "EnvoyPatchPolicy",
            "HTTPRouteFilter",
            "SecurityPolicy",
        ],
    ),
    ("gateway.solo.io", &["RouteOption", "RouteTable", "VirtualHostOption", "VirtualService"]),
    ("gloo.solo.io", &["Settings", "Upstream", "UpstreamGroup"]),
    ("enterprise.gloo.solo.io", &["AuthConfig"]),
    ("networking.istio.io", &[]),
    ("security.istio.io", &[]),
    ("telemetry.istio.io", &[]),
    ("extensions.istio.io", &[]),
    ("access.smi-spec.io", &[]),
    ("specs.smi-spec.io", &[]),
    ("split.smi-spec.io", &[]),
    ("networking.internal.knative.dev", &[]),
    ("k8s.nginx.org", &["GlobalConfiguration", "Policy", "TransportServer", "VirtualServer", "VirtualServerRoute"]),
    ("traefik.io", &[]),
    ("traefik.containo.us", &[]),
    ("projectcontour.io", &["ExtensionService", "HTTPProxy", "TLSCertificateDelegation"]),
    ("policy.linkerd.io", &[]),
    ("linkerd.io", &["ServiceProfile"]),
    ("cilium.io", &[]),
    ("projectcalico.org", &[]),
    ("crd.projectcalico.org", &[]),
    ("k8s.cni.cncf.io", &[]),
    ("elbv2.k8s.aws", &[]),
    ("gateway.k8s.aws", &[]),
    ("vpcresources.k8s.aws", &[]),
    ("networking.gke.io", &[]),
    ("cloud.google.com", &["BackendConfig", "ComputeClass", "FrontendConfig"]),
    ("configuration.konghq.com", &[]),
    ("getambassador.io", &["Host", "Listener", "Mapping", "TCPMapping", "TLSContext"]),
    ("metallb.io", &["BFDProfile", "BGPAdvertisement", "BGPPeer", "Community", "IPAddressPool", "L2Advertisement"]),
    ("externaldns.k8s.io", &[]),
    // Monitoring and scaling.
    (
        "monitoring.coreos.com",
        &["ServiceMonitor", "PodMonitor", "Probe", "PrometheusRule", "ScrapeConfig", "AlertmanagerConfig"],
    ),
    ("azmonitoring.coreos.com", &["PodMonitor", "ServiceMonitor"]),
    ("monitoring.giantswarm.io", &["Silence"]),
    ("observability.giantswarm.io", &["Silence"]),
    ("keda.sh", &["ScaledObject", "TriggerAuthentication", "ClusterTriggerAuthentication"]),
    ("eventing.keda.sh", &[]),
    ("autoscaling.k8s.elastic.co", &["ElasticsearchAutoscaler"]),
    ("rollout-operator.grafana.com", &["ZoneAwarePodDisruptionBudget"]),
    ("karpenter.sh", &[]),
    ("karpenter.k8s.aws", &[]),
    ("nfd.k8s-sigs.io", &["NodeFeature", "NodeFeatureGroup", "NodeFeatureRule"]),
    (
        "grafana.integreatly.org",
        &[
            "GrafanaAlertRuleGroup",
            "GrafanaContactPoint",
            "GrafanaDashboard",
            "GrafanaDatasource",
            "GrafanaFolder",
            "GrafanaNotificationPolicy",
        ],
    ),
    // Backups, storage, topics and users.
    ("velero.io", &[]),
    ("objectbucket.io", &[]),
    ("replication.storage.openshift.io", &[]),
    (
        "ceph.rook.io",
        &[
            "CephBlockPool",
            "CephBlockPoolRadosNamespace",
            "CephBucketNotification",
            "CephBucketTopic",
            "CephClient",
            "CephFilesystemSubVolumeGroup",
            "CephObjectRealm",
            "CephObjectStoreUser",
            "CephObjectZone",
            "CephObjectZoneGroup",
        ],
    ),
    ("sts.min.io", &["PolicyBinding"]),
    ("kafka.strimzi.io", &["KafkaConnector", "KafkaRebalance", "KafkaTopic", "KafkaUser"]),
    ("access.strimzi.io", &["KafkaAccess"]),
    // Settings of OpenShift, its projects and users.
    ("authorization.openshift.io", &[]),
    ("config.openshift.io", &[]),
    ("console.openshift.io", &[]),
    ("image.openshift.io", &[]),
    ("oauth.openshift.io", &[]),
    ("project.openshift.io", &[]),
    ("quota.openshift.io", &[]),
    ("security.openshift.io", &[]),
    ("user.openshift.io", &[]),
    // Policies, and what delivers manifests that are elsewhere.
    ("kubeflow.org", &["PodDefault"]),
    ("kyverno.io", &[]),
    ("policies.kyverno.io", &["ImageValidatingPolicy", "MutatingPolicy", "PolicyException", "ValidatingPolicy"]),
    ("config.gatekeeper.sh", &[]),
    ("mutations.gatekeeper.sh", &[]),
    ("constraints.gatekeeper.sh", &[]),
    ("templates.gatekeeper.sh", &[]),
    ("argoproj.io", &["Application", "ApplicationSet", "AppProject", "AnalysisTemplate", "ClusterAnalysisTemplate"]),
    ("source.toolkit.fluxcd.io", &[]),
    ("source.extensions.fluxcd.io", &[]),
    ("notification.toolkit.fluxcd.io", &[]),
    ("image.toolkit.fluxcd.io", &[]),
];

/// Whether a controller may make pods of an object that Roster does not read. Of the kinds of Kubernetes itself, only
/// workloads of a version that is not read have any.
pub(crate) fn may_have_pods(group: &str, kind: &str) -> bool {
    if group.ends_with(".k8s.io") {
        return false;
    }
    // The group of a custom resource is a domain.
    if !group.contains('.') {
        return WORKLOADS.iter().any(|workload| workload.kind() == kind) || OF_OPENSHIFT.contains(&kind);
    }
    !WITHOUT_PODS.iter().any(|(of, kinds)| *of == group && (kinds.is_empty() || kinds.contains(&kind)))
}

const WORKLOADS: [Resource; 8] = [
    Resource::Pod,
    Resource::Deployment,
    Resource::ReplicaSet,
    Resource::ReplicationController,
    Resource::StatefulSet,
    Resource::DaemonSet,
    Resource::Job,
    Resource::CronJob,
];

/// Kinds of `OpenShift` with pods or with other objects in them, which were in `v1` before its groups had names.
const OF_OPENSHIFT: [&str; 2] = ["DeploymentConfig", "Template"];

/// The namespace for which an object is meant, if it names another one than its own, as Flux' kinds do.
pub(super) fn target_namespace(object: &str) -> Option<Text> {
    #[derive(Deserialize)]
    struct Targeting {
        spec: Target,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Target {
        target_namespace: Text,
    }
    let Targeting { spec } = serde_json::from_str(object).ok()?;
    Some(spec.target_namespace).filter(|namespace| !namespace.is_empty())
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
            ("route.openshift.io", "Route", false),
            ("apps.openshift.io", "DeploymentConfig", true),
            ("kafka.strimzi.io", "KafkaRebalance", false),
            ("kafka.strimzi.io", "KafkaNodePool", true),
            ("gateway.envoyproxy.io", "EnvoyProxy", true),
            ("postgresql.cnpg.io", "Cluster", true),
            ("velero.io", "Schedule", false),
            ("kind.x-k8s.io", "Cluster", false),
            ("tekton.dev", "Task", false),
            ("tekton.dev", "PipelineRun", true),
            ("crd.projectcalico.org", "NetworkPolicy", false),
            ("gateway.networking.k8s.io", "HTTPRoute", false),
            ("extensions", "Deployment", true),
            ("extensions", "Ingress", false),
            ("", "DeploymentConfig", true),
            ("", "ConfigMap", false),
        ] {
            assert_eq!(may_have_pods(group, kind), want, "{kind}.{group}");
        }
    }

    #[test]
    fn an_object_may_be_meant_for_another_namespace() {
        for (object, want) in [
            (r#"{"spec":{"chart":{},"targetNamespace":"shop"}}"#, Some("shop")),
            (r#"{"spec":{"targetNamespace":""}}"#, None),
            (r#"{"spec":{"targetNamespace":5}}"#, None),
            (r#"{"spec":[]}"#, None),
            ("{}", None),
        ] {
            assert_eq!(target_namespace(object).as_deref(), want, "{object}");
        }
    }
}
