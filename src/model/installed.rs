//! What Roster's own objects are called in a cluster: manifests name them, and the program looks for them.

/// The namespace.
pub const NAMESPACE: &str = "roster-system";
/// The Deployment, its `ServiceAccount`, and the webhook configurations.
pub const NAME: &str = "roster";
/// The Service that API servers call.
pub const SERVICE: &str = "roster-webhook";
/// The Secret of the CA and the certificate.
pub const SECRET: &str = "roster-webhook-tls";
/// The Lease of whoever makes certificates.
pub const LEASE: &str = "roster-certificates";
/// The CRD whose versions are converted.
pub const CRD: &str = "endpointpolicies.roster.dev";
/// The field manager that owns every `caBundle`, and nothing else.
pub const CERTS_MANAGER: &str = "roster-certs";
/// The field manager that owns what is said in the status of policies.
pub const POLICIES_MANAGER: &str = "roster-policies";
/// Port of the webhook in a pod: private clusters let API servers reach 10250 without a further firewall rule.
pub const WEBHOOK_PORT: u16 = 10250;
/// Port of health and metrics in a pod.
pub const ADMIN_PORT: u16 = 8081;
