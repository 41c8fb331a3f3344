//! How many pods are assumed, for the finding that says so.

use super::workloads;
use crate::model::ObjectKey;

/// How many pods and nodes are assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssumedPodCounts {
    /// Pods, with those that are written by hand.
    pub pods: usize,
    /// Pods that are written by hand: they are in the input, but nothing has run them.
    pub written: usize,
    /// Pods that wait or can never become ready.
    pub not_ready: usize,
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
        let made = self.pods - self.written;
        let has = if self.written == 1 { "has" } else { "have" };
        let written = format!("{} {has} no status", counted(self.written, "pod"));
        let is = if made == 1 { "is" } else { "are" };
        let made_text =
            format!("{} of {} {is} not in the input", counted(made, "pod"), counted(self.workloads, "workload"));
        let what = match (made, self.written) {
            (_, 0) => made_text,
            (0, _) => written,
            _ => format!("{made_text}, and {written}"),
        };
        let names = match made {
            0 => String::new(),
            _ => format!("; names contain \"{}\" for what is generated", workloads::ASSUMED),
        };
        let ready = match self.not_ready {
            0 => "ready, at addresses for documentation".to_owned(),
            n if n == self.pods => "not ready".to_owned(),
            n => format!("ready, except {n}, at addresses for documentation"),
        };
        let key = ObjectKey { kind: "Pod".into(), ..ObjectKey::default() };
        Some((key, format!("{what}; assumed: {ready}{nodes}{names}")))
    }
}
