//! The names of Roster's own objects in a cluster. The manifests define them, and the program looks for them.

use super::resource::Resource;

/// The namespace.
pub const NAMESPACE: &str = "roster-system";
/// The Deployment, its `ServiceAccount`, and the webhook configurations.
pub const NAME: &str = "roster";
/// The Service that API servers call.
pub const SERVICE: &str = "roster-webhook";
/// The Secret of the CA and the certificate.
pub const SECRET: &str = "roster-webhook-tls";
/// The Lease of the replica that issues certificates.
pub const LEASE: &str = "roster-certificates";
/// The name of the controller: of its Lease, and its field manager.
pub const CONTROLLER: &str = "roster-controller";
/// The name of the controller in shadow: of its account, and of its Lease.
pub const SHADOW: &str = "roster-shadow";
/// The annotation in which a Service without a selector names its pods, for a controller beside the built-in ones.
pub const SELECTOR: &str = "roster.dev/selector";
/// The value of the managed-by labels of what is written for such Services.
pub const MANAGER: &str = "roster.dev";
/// The API group of policies.
pub const POLICY_GROUP: &str = Resource::EndpointPolicy.group();
/// The kind of policies.
pub const POLICY_KIND: &str = Resource::EndpointPolicy.kind();
/// The CRD of policies, whose versions the webhook converts.
pub const CRD: &str = "endpointpolicies.roster.dev";
/// The field manager that owns every `caBundle` and no other field.
pub const CERTS_MANAGER: &str = "roster-certs";
/// The field manager that owns the status of policies.
pub const POLICIES_MANAGER: &str = "roster-policies";
/// Port of the webhook in a pod. In private clusters, API servers reach port 10250 without another firewall rule.
pub const WEBHOOK_PORT: u16 = 10250;
/// Port of health and metrics in a pod.
pub const ADMIN_PORT: u16 = 8081;
