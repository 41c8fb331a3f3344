//! Adds to an inventory the pods that the controllers of its workloads would make.

use std::cmp::Reverse;

use roster_engine::{
    model::{PodReadiness, Text, defaults::Defaults},
    reason::Finding,
};

use super::{
    assumed_counts::AssumedPodCounts,
    findings::Findings,
    objects::{Inventory, UnrenderedCounts},
    workloads::{self, ComparedObjects, KnownObjects, ObjectDocuments, WorkloadPods},
};
use crate::units::Units;

impl Inventory {
    /// What becomes of the workloads, as their units show it: with the nodes, the pods and the autoscalers of each.
    pub fn outcomes_of_units(
        &self,
        defaults: &Defaults<'_>,
        documents: &ObjectDocuments,
        units: &Units,
    ) -> Vec<(usize, WorkloadPods)> {
        let known = self.known_objects(defaults, &[], workloads::MAX_PODS);
        let mut outcomes = Vec::new();
        let mut start = 0;
        while let Some(document) = documents.workloads.get(start) {
            let unit = units.unit(*document);
            let within = |of_kind: &[usize]| {
                let place = |limit: usize| of_kind.partition_point(|document| *document < limit);
                place(unit.start)..place(unit.end)
            };
            let of_unit = within(&documents.workloads);
            let known = KnownObjects {
                workloads: &self.workloads[of_unit.clone()],
                services: &self.services[within(&documents.services)],
                autoscalers: &self.autoscalers[within(&documents.autoscalers)],
                pods: &self.pods[within(&documents.pods)],
                nodes: &self.nodes[within(&documents.nodes)],
                ..known
            };
            let placed = |(place, outcome): (usize, WorkloadPods)| (of_unit.start + place, outcome);
            outcomes.extend(workloads::outcomes(&known).into_iter().map(placed));
            start = of_unit.end.max(start + 1);
        }
        outcomes
    }

    /// Adds the pods that the controllers of the workloads would make, lets pods run that were never in a cluster, and adds
    /// the nodes that all of them need, and the findings about Services and workloads. To be called once, when everything
    /// is read. `zones` are those of the cluster, if the input has no nodes. A workload with which there would be more than
    /// `max_pods` gets none.
    pub fn assume_pods(&mut self, defaults: &Defaults<'_>, zones: &[Text], max_pods: usize) {
        let (of_families, families) = (self.family_findings(defaults), self.cluster_families(defaults));
        self.problems.extend(of_families);
        let has_written = self.pods.iter().any(|pod| workloads::is_written(pod, defaults));
        // Labels of a workload that cannot be read may be known.
        if self.workloads.is_empty() && self.unread.labelled().is_empty() && !has_written {
            return;
        }
        let assumed = workloads::assume(&self.known_objects(defaults, zones, max_pods));
        let mut findings = self.findings_of(&assumed.workloads, defaults);
        if findings.len() > Findings::LIMIT {
            // Those over the limit are only counted: not the warnings.
            findings.sort_by_key(|f| Reverse(f.severity));
        }
        let mut nodes = assumed.nodes;
        let mut written = Vec::new();
        let mut hooks = assumed.workloads.iter().filter(|(_, outcome)| outcome.is_hook()).count();
        if has_written {
            // Like pods of workloads, they stand for pods that the input does not have.
            (written, self.pods) =
                std::mem::take(&mut self.pods).into_iter().partition(|pod| workloads::is_written(pod, defaults));
            let written_and_hooks = written.len();
            written.retain(|pod| !pod.is_hook);
            hooks += written_and_hooks - written.len();
            let known = if self.nodes.is_empty() { &nodes } else { &self.nodes };
            let more = workloads::run_written(&mut written, assumed.pods.len(), known, zones, families);
            nodes.extend(more);
        }
        let all = assumed.pods.iter().map(|a| &a.pod).chain(&written);
        let not_ready = all.filter(|pod| !matches!(pod.readiness, PodReadiness::Ready)).count();
        self.assumed_pods = AssumedPodCounts {
            pods: assumed.pods.len() + written.len(),
            written: written.len(),
            not_ready,
            workloads: assumed.workloads.iter().filter(|(_, outcome)| outcome.is_assumed()).count(),
            nodes: nodes.len(),
            hooks,
        };
        let is_unassumed =
            |(place, outcome): &(usize, WorkloadPods)| matches!(outcome, WorkloadPods::TooMany(_)).then_some(*place);
        self.unassumed = assumed.workloads.iter().filter_map(is_unassumed).collect();
        self.problems.extend(findings);
        self.pods.extend(assumed.pods.into_iter().map(|a| a.pod).chain(written));
        self.nodes.extend(nodes);
    }

    fn known_objects<'a>(&'a self, defaults: &Defaults<'_>, zones: &'a [Text], max_pods: usize) -> KnownObjects<'a> {
        KnownObjects {
            workloads: &self.workloads,
            services: &self.services,
            autoscalers: &self.autoscalers,
            pods: &self.pods,
            nodes: &self.nodes,
            zones,
            families: self.cluster_families(defaults),
            due: false,
            max_pods,
        }
    }

    /// The findings, where everything is one unit. The first document has what a kustomization changes, the second one the rest.
    fn findings_of(&self, outcomes: &[(usize, WorkloadPods)], defaults: &Defaults<'_>) -> Vec<Finding> {
        let documents = |first: usize, all: usize| (0..all).map(|place| usize::from(place >= first)).collect();
        let UnrenderedCounts { services, pods, workloads, autoscalers } = self.unrendered;
        let found = workloads::findings(&ComparedObjects {
            services: &self.services,
            pods: &self.pods,
            workloads: &self.workloads,
            autoscalers: &self.autoscalers,
            outcomes,
            custom_resources: &self.custom_resources,
            unread: &self.unread,
            assumed_namespace: defaults.namespace().unwrap_or_default(),
            documents: &ObjectDocuments {
                services: documents(services, self.services.len()),
                pods: documents(pods, self.pods.len()),
                workloads: documents(workloads, self.workloads.len()),
                autoscalers: documents(autoscalers, self.autoscalers.len()),
                nodes: Vec::new(),
            },
            units: &Units::one(2),
            unrendered: &[true, false],
            in_tests: &[],
        });
        found.into_iter().map(|(_, finding)| finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use roster_engine::model::{Pod, Resource};
    use serde_json::json;

    use super::*;
    use crate::inventory::AnyObject;

    /// Helm runs hooks apart from the release: a test only if somebody asks for it.
    #[test]
    fn hooks_have_no_pods() {
        let metadata = |name: &str| json!({ "metadata": { "name": name, "labels": { "app": "web" } } });
        let pod = |is_hook| Pod { is_hook, ..serde_json::from_value(metadata("p")).unwrap() };
        let job = |is_hook| workloads::Workload {
            is_hook,
            ..workloads::Workload::read(Resource::Job, metadata("j")).unwrap()
        };
        for (is_hook, want) in [(false, (2, 0)), (true, (0, 2))] {
            let mut inventory = Inventory::default();
            inventory.add(AnyObject::Pod(pod(is_hook)));
            inventory.add(AnyObject::Workload(Box::new(job(is_hook))));
            inventory.assume_pods(&Defaults::default(), &[], workloads::MAX_PODS);
            assert_eq!((inventory.pods.len(), inventory.assumed_pods.hooks), want);
        }
    }

    #[test]
    fn assumed_pods_are_ready_unless_their_template_keeps_them_from_it() {
        for (probed_port, gates, not_ready) in
            [("http", json!([]), 0), ("htpp", json!([]), 2), ("http", json!([{ "name": "example.com/a" }]), 2)]
        {
            let container = json!({ "name": "c", "ports": [{ "name": "http", "containerPort": 80 }],
                "readinessProbe": { "httpGet": { "port": probed_port } } });
            let object = json!({ "metadata": { "name": "web" }, "spec": { "replicas": 2, "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "schedulingGates": gates, "containers": [container] } },
                "selector": { "matchLabels": { "app": "web" } } } });
            let workload = workloads::Workload::read(Resource::Deployment, object).unwrap();
            let mut inventory = Inventory::default();
            inventory.add(AnyObject::Workload(Box::new(workload)));
            inventory.assume_pods(&Defaults::default(), &[], workloads::MAX_PODS);
            let AssumedPodCounts { pods, not_ready: counted, workloads, .. } = inventory.assumed_pods;
            assert_eq!((pods, counted, workloads), (2, not_ready, 1), "{probed_port} {gates}");
        }
    }
}
