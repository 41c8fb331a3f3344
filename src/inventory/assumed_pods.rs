//! Adds to an inventory the pods that the controllers of its workloads would make.

use super::objects::Inventory;
use crate::{
    engine::reason::Finding,
    model::{ObjectKey, Text, defaults::Defaults},
    workloads::{self, AssumedObjects, ComparedObjects, KnownObjects, WorkloadPods},
};

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

impl Inventory {
    /// What is wrong between the Services and the workloads; see [`workloads::findings`].
    pub fn workload_findings(&self, defaults: &Defaults<'_>) -> Vec<Finding> {
        self.findings_of(&self.assumed_objects(defaults, &[], workloads::MAX_PODS))
    }

    /// Adds the pods that the controllers of the workloads would make, the nodes that they need, and the findings about
    /// Services and workloads. To be called once, when everything is read. `zones` are those of the cluster, if the input
    /// has no nodes. A workload with which there would be more than `max_pods` gets none.
    pub fn assume_pods(&mut self, defaults: &Defaults<'_>, zones: &[Text], max_pods: usize) {
        if self.workloads.is_empty() {
            return;
        }
        let assumed = self.assumed_objects(defaults, zones, max_pods);
        let findings = self.findings_of(&assumed);
        let has_pods = |outcome: &&WorkloadPods| matches!(outcome, WorkloadPods::Assumed(_));
        self.assumed_pods = AssumedPodCounts {
            pods: assumed.pods.len(),
            workloads: assumed.workloads.iter().map(|(_, outcome)| outcome).filter(has_pods).count(),
            nodes: assumed.nodes.len(),
        };
        self.problems.extend(findings);
        self.pods.extend(assumed.pods.into_iter().map(|a| a.pod));
        self.nodes.extend(assumed.nodes);
    }

    fn assumed_objects(&self, defaults: &Defaults<'_>, zones: &[Text], max_pods: usize) -> AssumedObjects {
        workloads::assume(&KnownObjects {
            workloads: &self.workloads,
            autoscalers: &self.autoscalers,
            pods: &self.pods,
            nodes: &self.nodes,
            zones,
            families: defaults.families(),
            due: false,
            max_pods,
        })
    }

    fn findings_of(&self, assumed: &AssumedObjects) -> Vec<Finding> {
        workloads::findings(&ComparedObjects {
            services: &self.services,
            pods: &self.pods,
            workloads: &self.workloads,
            outcomes: &assumed.workloads,
            has_custom_resources: self.has_custom_resources,
        })
    }
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
