//! What is found to be stale.

use crate::reason::Finding;

/// What is stored for one Service and does not hold any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaleReport {
    /// The findings.
    pub findings: Vec<Finding>,
    /// The number of addresses in stored slices whose pod or node is gone. kube-proxy sends traffic to those that are
    /// ready.
    pub addresses: usize,
}
