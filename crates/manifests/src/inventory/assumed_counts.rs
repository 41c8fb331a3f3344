//! How many pods are assumed, for the finding that says so.

use roster_engine::model::ObjectKey;

use super::workloads;

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
    /// Pods and workloads of Helm's hooks, which have no pods most of the time.
    pub hooks: usize,
}

impl AssumedPodCounts {
    /// What is assumed, in a sentence with the object that it is about; `None` if nothing is.
    pub(super) fn sentence(&self) -> Option<(ObjectKey, String)> {
        let hooks = match self.hooks {
            0 => None,
            1 => Some("1 Helm hook has no pods, except while Helm runs it".to_owned()),
            n => Some(format!("{n} Helm hooks have no pods, except while Helm runs them")),
        };
        let sentences: Vec<String> = self.of_pods().into_iter().chain(hooks).collect();
        let key = ObjectKey { kind: "Pod".into(), ..ObjectKey::default() };
        (!sentences.is_empty()).then(|| (key, sentences.join("; ")))
    }

    /// What is assumed of pods that run.
    fn of_pods(&self) -> Option<String> {
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
        Some(format!("{what}; assumed: {ready}{nodes}{names}"))
    }
}
