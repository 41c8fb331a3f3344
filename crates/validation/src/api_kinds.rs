//! The kinds of Kubernetes itself, and what was probably meant where there is none of the name.

use roster_engine::model::spelling::{mistyped, typo};

/// The API versions that kube-apiserver 1.37 serves with all of them enabled, and the kinds of each.
const KINDS: &[(&str, &[&str])] = &[
    (
        "v1",
        &[
            "Binding",
            "ComponentStatus",
            "Config",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "List",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    (
        "admissionregistration.k8s.io/v1",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("admissionregistration.k8s.io/v1alpha1", &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"]),
    ("admissionregistration.k8s.io/v1beta1", &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"]),
    ("apiextensions.k8s.io/v1", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io/v1", &["APIService"]),
    ("apps/v1", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("authentication.k8s.io/v1", &["SelfSubjectReview", "TokenReview"]),
    (
        "authorization.k8s.io/v1",
        &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"],
    ),
    ("autoscaling/v1", &["HorizontalPodAutoscaler"]),
    ("autoscaling/v2", &["HorizontalPodAutoscaler"]),
    ("batch/v1", &["CronJob", "Job"]),
    ("certificates.k8s.io/v1", &["CertificateSigningRequest", "ClusterTrustBundle", "PodCertificateRequest"]),
    ("certificates.k8s.io/v1beta1", &["ClusterTrustBundle", "PodCertificateRequest"]),
    ("coordination.k8s.io/v1", &["Lease"]),
    ("coordination.k8s.io/v1alpha2", &["LeaseCandidate"]),
    ("coordination.k8s.io/v1beta1", &["LeaseCandidate"]),
    ("discovery.k8s.io/v1", &["EndpointSlice"]),
    ("events.k8s.io/v1", &["Event"]),
    ("flowcontrol.apiserver.k8s.io/v1", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("internal.apiserver.k8s.io/v1alpha1", &["StorageVersion"]),
    ("networking.k8s.io/v1", &["IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR"]),
    ("node.k8s.io/v1", &["RuntimeClass"]),
    ("policy/v1", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io/v1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    (
        "resource.k8s.io/v1",
        &["DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"],
    ),
    ("resource.k8s.io/v1alpha3", &["DeviceTaintRule", "ResourcePoolStatusRequest"]),
    ("resource.k8s.io/v1beta1", &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"]),
    (
        "resource.k8s.io/v1beta2",
        &["DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"],
    ),
    ("scheduling.k8s.io/v1", &["PriorityClass"]),
    (
        "storage.k8s.io/v1",
        &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
    ("storagemigration.k8s.io/v1", &["StorageVersionMigration"]),
    ("storagemigration.k8s.io/v1beta1", &["StorageVersionMigration"]),
];

/// Kinds that no API server serves: lists, and the file of a kubectl configuration.
const LOCAL: [&str; 2] = ["Config", "List"];

/// Kinds of other programs in `v1`: those that `OpenShift` served before its groups had names, and the file of a scheduler's policy.
const FOREIGN_IN_V1: [&str; 18] = [
    "Build",
    "BuildConfig",
    "ClusterPolicy",
    "ClusterPolicyBinding",
    "DeploymentConfig",
    "Group",
    "Identity",
    "Image",
    "ImageStream",
    "ImageStreamTag",
    "Policy",
    "PolicyBinding",
    "Project",
    "ProjectRequest",
    "Route",
    "SecurityContextConstraints",
    "Template",
    "User",
];

/// Kinds of requests for a part of an object, which are sent but not stored.
const REQUESTS: [(&str, &str); 10] = [
    ("authentication.k8s.io/v1", "TokenRequest"),
    ("autoscaling/v1", "Scale"),
    ("policy/v1", "Eviction"),
    ("policy/v1beta1", "Eviction"),
    ("v1", "NodeProxyOptions"),
    ("v1", "PodAttachOptions"),
    ("v1", "PodExecOptions"),
    ("v1", "PodPortForwardOptions"),
    ("v1", "PodProxyOptions"),
    ("v1", "ServiceProxyOptions"),
];

/// What an API server has to do with a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ApiKind {
    /// Kubernetes has it.
    Known,
    /// Kubernetes has neither this group nor a kind of this name: it may come from a CRD.
    Foreign,
    /// Kubernetes has the group or the kind, but not both. The `apiVersion` and the kind that were probably meant.
    Unknown(Option<(&'static str, &'static str)>),
}

/// Looks up a type.
pub(super) fn find(api_version: &str, kind: &str) -> ApiKind {
    if REQUESTS.contains(&(api_version, kind)) {
        return ApiKind::Known;
    }
    if let Some((version, kinds)) = KINDS.iter().find(|(version, _)| *version == api_version) {
        if kinds.contains(&kind) || kind.strip_suffix("List").is_some_and(|item| kinds.contains(&item)) {
            return ApiKind::Known;
        }
        if api_version == "v1" && FOREIGN_IN_V1.contains(&kind) {
            return ApiKind::Foreign;
        }
        let of_version = all().filter(|(v, _)| v == version);
        return ApiKind::Unknown(exactly(kind).or_else(|| nearest(kind, of_version)).or_else(|| nearest(kind, all())));
    }
    let group = group(api_version);
    // Kubernetes' versions are named v1, v1beta2 and so on.
    if group.is_empty() && !is_version(api_version) && exactly(kind).is_none() {
        return ApiKind::Foreign;
    }
    if KINDS.iter().any(|(version, _)| self::group(version) == group) {
        let of_group = || all().filter(|(version, _)| self::group(version) == group);
        let same = of_group()
            .find(|(_, k)| *k == kind)
            .map(|(version, kind)| (newest(version, kind), kind))
            .or_else(|| exactly(kind));
        return ApiKind::Unknown(same.or_else(|| nearest(kind, of_group())));
    }
    // The group of a custom resource is a domain. Other programs than Kubernetes have files with an apiVersion as well.
    match exactly(kind).filter(|(version, _)| !group.contains('.') || is_misspelt(group, self::group(version))) {
        Some(meant) => ApiKind::Unknown(Some(meant)),
        None => ApiKind::Foreign,
    }
}

/// The `apiVersion` of a kind of this name: of several the first, which is that of the core group or the stable one.
pub(super) fn exactly(kind: &str) -> Option<(&'static str, &'static str)> {
    all().find(|(_, k)| *k == kind).map(|(version, kind)| (newest(version, kind), kind))
}

/// The type of which a kind that Kubernetes does not have is probably a misspelt one.
pub(super) fn like(kind: &str) -> Option<(&'static str, &'static str)> {
    nearest(kind, all())
}

/// Whether a group is probably a misspelt one of Kubernetes' own.
fn is_misspelt(group: &str, own: &str) -> bool {
    typo(group, own).is_some()
}

/// All types that manifests have.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().flat_map(|(version, kinds)| kinds.iter().filter(|k| !LOCAL.contains(k)).map(move |k| (*version, *k)))
}

/// The last version of the group that has the kind, without those that are not stable.
fn newest(version: &'static str, kind: &str) -> &'static str {
    let same = |(v, k): &(&str, &str)| group(v) == group(version) && *k == kind && is_stable(v);
    all().filter(same).last().map_or(version, |(v, _)| v)
}

fn is_stable(version: &str) -> bool {
    !version.contains("alpha") && !version.contains("beta")
}

/// Whether a text begins as a version does.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

/// The kind that differs in case only, or in a letter or two.
fn nearest(
    kind: &str,
    among: impl Iterator<Item = (&'static str, &'static str)>,
) -> Option<(&'static str, &'static str)> {
    mistyped(kind, among, |(_, kind)| kind)
}

/// The group of an `apiVersion`: empty for `v1`.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_and_others_are_guessed() {
        let meant = |version, kind| ApiKind::Unknown(Some((version, kind)));
        for (api_version, kind, want) in [
            ("v1", "Service", ApiKind::Known),
            ("v1", "ConfigMap", ApiKind::Known),
            ("v1", "List", ApiKind::Known),
            ("policy/v1", "Eviction", ApiKind::Known),
            ("v1", "PodList", ApiKind::Known),
            ("v1", "Config", ApiKind::Known),
            ("apps/v1", "Deployment", ApiKind::Known),
            ("autoscaling/v1", "HorizontalPodAutoscaler", ApiKind::Known),
            ("storagemigration.k8s.io/v1beta1", "StorageVersionMigration", ApiKind::Known),
            // The kind is of another group.
            ("apps/v1", "Service", meant("v1", "Service")),
            ("v1", "Deployment", meant("apps/v1", "Deployment")),
            ("v1", "HorizontalPodAutoscaler", meant("autoscaling/v2", "HorizontalPodAutoscaler")),
            ("app/v1", "Deployment", meant("apps/v1", "Deployment")),
            // It has another name.
            ("v1", "service", meant("v1", "Service")),
            ("v1", "Servise", meant("v1", "Service")),
            ("apps/v1", "Deploymnet", meant("apps/v1", "Deployment")),
            ("v1", "deployment", meant("apps/v1", "Deployment")),
            ("v1", "Recipe", ApiKind::Unknown(None)),
            // The version was removed, or never was.
            ("apps/v1beta1", "Deployment", meant("apps/v1", "Deployment")),
            ("extensions/v1beta1", "Deployment", meant("apps/v1", "Deployment")),
            ("extensions/v1beta1", "Ingress", meant("networking.k8s.io/v1", "Ingress")),
            ("autoscaling/v2beta2", "HorizontalPodAutoscaler", meant("autoscaling/v2", "HorizontalPodAutoscaler")),
            ("policy/v1beta1", "PodSecurityPolicy", ApiKind::Unknown(None)),
            ("v2", "Service", meant("v1", "Service")),
            // A misspelt group with a dot, and a misspelt kind of another group than the core one.
            ("networkin.k8s.io/v1", "Ingress", meant("networking.k8s.io/v1", "Ingress")),
            ("networking.k8s.io/v1", "Ingres", meant("networking.k8s.io/v1", "Ingress")),
            ("networking.k8s.io/v7", "Ingres", meant("networking.k8s.io/v1", "Ingress")),
            ("batch/v1", "Foo", ApiKind::Unknown(None)),
            // CRDs and files of other programs.
            ("audit.k8s.io/v1", "Event", ApiKind::Foreign),
            ("serving.knative.dev/v1", "Service", ApiKind::Foreign),
            ("gateway.networking.k8s.io/v1", "HTTPRoute", ApiKind::Foreign),
            ("skaffold/v4beta1", "Config", ApiKind::Foreign),
            ("0.1.0", "example.com/app", ApiKind::Foreign),
            ("v1alpha1", "Recipe", ApiKind::Unknown(None)),
            ("v1", "Route", ApiKind::Foreign),
            ("v1", "DeploymentConfig", ApiKind::Foreign),
        ] {
            assert_eq!(find(api_version, kind), want, "{api_version} {kind}");
        }
    }
}
