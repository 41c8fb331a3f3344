//! How many pods are assumed, for the finding that says so.

use super::workloads;
use crate::model::ObjectKey;

/// How many pods and nodes are assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssumedPodCounts {
    /// Pods.
    pub pods: usize,
    /// Their workloads.
    pub workloads: usize,
    /// Nodes, where the input has none.
    pub nodes: usize,
}

impl AssumedPodCounts {
    /// What is assumed, in a sentence with the object that it is about; `None` if nothing is.
    pub(super) fn sentence(&self) -> Option<(ObjectKey, String)> {
        if self.pods == 0 {
            return None;
        }
        let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let nodes = match self.nodes {
            0 => String::new(),
            n => format!(", on {}", counted(n, "assumed node")),
        };
        let (pods, workloads) = (counted(self.pods, "pod"), counted(self.workloads, "workload"));
        let are = if self.pods == 1 { "is" } else { "are" };
        let key = ObjectKey { kind: "Pod".into(), ..ObjectKey::default() };
        Some((
            key,
            format!(
                "{pods} of {workloads} {are} not in the input; assumed: ready, at addresses for documentation{nodes}; \
                 names contain \"{}\" for what is generated",
                workloads::ASSUMED
            ),
        ))
    }
}
