//! Adds to an inventory the pods that the controllers of its workloads would make.

use super::{
    assumed_counts::AssumedPodCounts,
    objects::Inventory,
    workloads::{self, AssumedObjects, ComparedObjects, KnownObjects, WorkloadPods},
};
use crate::{
    engine::reason::Finding,
    model::{Text, defaults::Defaults},
};

impl Inventory {
    /// What is wrong between the Services and the workloads; see [`workloads::findings`].
    pub fn workload_findings(&self, defaults: &Defaults<'_>) -> Vec<Finding> {
        self.findings_of(&self.assumed_objects(defaults, &[], workloads::MAX_PODS), defaults)
    }

    /// Adds the pods that the controllers of the workloads would make, the nodes that they need, and the findings about
    /// Services and workloads. To be called once, when everything is read. `zones` are those of the cluster, if the input
    /// has no nodes. A workload with which there would be more than `max_pods` gets none.
    pub fn assume_pods(&mut self, defaults: &Defaults<'_>, zones: &[Text], max_pods: usize) {
        if self.workloads.is_empty() {
            return;
        }
        let assumed = self.assumed_objects(defaults, zones, max_pods);
        let findings = self.findings_of(&assumed, defaults);
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

    fn findings_of(&self, assumed: &AssumedObjects, defaults: &Defaults<'_>) -> Vec<Finding> {
        workloads::findings(&ComparedObjects {
            services: &self.services,
            pods: &self.pods,
            workloads: &self.workloads,
            outcomes: &assumed.workloads,
            custom_resources: &self.custom_resources,
            assumed_namespace: defaults.namespace().unwrap_or_default(),
        })
    }
}
