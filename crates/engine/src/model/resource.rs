//! The Kubernetes resources that Roster reads, watches or writes: one table of group, version, kind, plural, scope and
//! origin.

use std::fmt;

use serde::{Serialize, Serializer};

/// Whether the objects of a resource are in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceScope {
    /// Each object is in a namespace.
    Namespaced,
    /// Objects belong to the whole cluster.
    Cluster,
}

/// Who defines a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResourceOrigin {
    /// Kubernetes: every API server has it.
    Builtin,
    /// A `CustomResourceDefinition`.
    Custom,
}

/// A row of the table.
#[derive(Debug)]
struct ResourceRow {
    kind: &'static str,
    group: &'static str,
    version: &'static str,
    api_version: &'static str,
    plural: &'static str,
    scope: ResourceScope,
    origin: ResourceOrigin,
}

/// Makes the enum from the table. The names of the variants are the kinds.
macro_rules! resources {
    ($($kind:ident $group:literal $version:literal $plural:literal $scope:ident $origin:ident;)*) => {
        /// A resource, named as the `kind` of its objects.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the variants are Kubernetes' kinds")]
        pub enum Resource { $($kind),* }

        impl Resource {
            /// All resources, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            const fn row(self) -> &'static ResourceRow {
                match self {
                    $(Self::$kind => const { &ResourceRow {
                        kind: stringify!($kind),
                        group: $group,
                        version: $version,
                        api_version: if $group.is_empty() { $version } else { concat!($group, "/", $version) },
                        plural: $plural,
                        scope: ResourceScope::$scope,
                        origin: ResourceOrigin::$origin,
                    } },)*
                }
            }
        }
    };
}

resources! {
    Service                        ""                             "v1" "services"                        Namespaced Builtin;
    Pod                            ""                             "v1" "pods"                            Namespaced Builtin;
    Node                           ""                             "v1" "nodes"                           Cluster    Builtin;
    Endpoints                      ""                             "v1" "endpoints"                       Namespaced Builtin;
    EndpointSlice                  "discovery.k8s.io"             "v1" "endpointslices"                  Namespaced Builtin;
    Deployment                     "apps"                         "v1" "deployments"                     Namespaced Builtin;
    ReplicaSet                     "apps"                         "v1" "replicasets"                     Namespaced Builtin;
    ReplicationController          ""                             "v1" "replicationcontrollers"          Namespaced Builtin;
    StatefulSet                    "apps"                         "v1" "statefulsets"                    Namespaced Builtin;
    DaemonSet                      "apps"                         "v1" "daemonsets"                      Namespaced Builtin;
    Job                            "batch"                        "v1" "jobs"                            Namespaced Builtin;
    CronJob                        "batch"                        "v1" "cronjobs"                        Namespaced Builtin;
    HorizontalPodAutoscaler        "autoscaling"                  "v2" "horizontalpodautoscalers"        Namespaced Builtin;
    Namespace                      ""                             "v1" "namespaces"                      Cluster    Builtin;
    EndpointPolicy                 "roster.dev"                   "v1" "endpointpolicies"                Cluster    Custom;
    MutatingWebhookConfiguration   "admissionregistration.k8s.io" "v1" "mutatingwebhookconfigurations"   Cluster    Builtin;
    ValidatingWebhookConfiguration "admissionregistration.k8s.io" "v1" "validatingwebhookconfigurations" Cluster    Builtin;
    CustomResourceDefinition       "apiextensions.k8s.io"         "v1" "customresourcedefinitions"       Cluster    Builtin;
    Secret                         ""                             "v1" "secrets"                         Namespaced Builtin;
    NodePool                       "apps.openyurt.io"             "v1beta1" "nodepools"                  Cluster    Custom;
    Lease                          "coordination.k8s.io"          "v1" "leases"                          Namespaced Builtin;
    Event                          ""                             "v1" "events"                          Namespaced Builtin;
    Ingress                        "networking.k8s.io"            "v1" "ingresses"                       Namespaced Builtin;
    HTTPRoute                      "gateway.networking.k8s.io"    "v1" "httproutes"                      Namespaced Custom;
}

impl Resource {
    /// The resource of these two fields of an object. An empty `apiVersion` stands for that of the table.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let is = |r: &&Self| r.kind() == kind && (api_version.is_empty() || r.api_version() == api_version);
        Self::ALL.iter().find(is).copied()
    }

    /// The `kind` of its objects.
    pub const fn kind(self) -> &'static str {
        self.row().kind
    }

    /// The API group; empty for the core group.
    pub const fn group(self) -> &'static str {
        self.row().group
    }

    /// The version that Roster asks for.
    pub const fn version(self) -> &'static str {
        self.row().version
    }

    /// The `apiVersion` of its objects.
    pub const fn api_version(self) -> &'static str {
        self.row().api_version
    }

    /// The name in paths and in RBAC.
    pub const fn plural(self) -> &'static str {
        self.row().plural
    }

    /// Whether its objects are in namespaces.
    pub const fn scope(self) -> ResourceScope {
        self.row().scope
    }

    /// Whether it is a custom resource: an API server has it only if its `CustomResourceDefinition` is installed.
    pub const fn is_custom(self) -> bool {
        matches!(self.row().origin, ResourceOrigin::Custom)
    }

    /// The path of its list: of `namespace`, or of the whole cluster.
    pub fn path(self, namespace: Option<&str>) -> String {
        let api = if self.group().is_empty() { "/api" } else { "/apis" };
        let namespace = namespace.filter(|_| self.scope() == ResourceScope::Namespaced);
        let namespace = namespace.map(|n| format!("/namespaces/{n}")).unwrap_or_default();
        format!("{api}/{}{namespace}/{}", self.api_version(), self.plural())
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

/// As the `kind` of its objects.
impl Serialize for Resource {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_found_by_its_api_version_and_kind() {
        for (api_version, kind, want) in [
            ("v1", "Service", Some(Resource::Service)),
            ("", "Service", Some(Resource::Service)),
            ("serving.knative.dev/v1", "Service", None),
            ("discovery.k8s.io/v1", "EndpointSlice", Some(Resource::EndpointSlice)),
            ("discovery.k8s.io/v1beta1", "EndpointSlice", None),
            ("v1", "Deployment", None),
            ("apps/v1", "Deployment", Some(Resource::Deployment)),
        ] {
            assert_eq!(Resource::of(api_version, kind), want, "{api_version} {kind}");
        }
    }

    #[test]
    fn paths_are_those_of_an_api_server() {
        for (resource, namespace, want) in [
            (Resource::Pod, None, "/api/v1/pods"),
            (Resource::Pod, Some("shop"), "/api/v1/namespaces/shop/pods"),
            (Resource::Node, Some("shop"), "/api/v1/nodes"),
            (Resource::EndpointSlice, Some("shop"), "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"),
        ] {
            assert_eq!(resource.path(namespace), want);
        }
    }
}
