//! Where the spec of a pod stands.

/// Where a spec stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PodPlace {
    /// In a Pod. An API server fills in host ports, and checks a little more.
    Pod,
    /// In the template of a workload.
    Template,
    /// In the template of a StatefulSet, which sets hostname and subdomain of its pods, and replaces volumes.
    StatefulSet,
}
