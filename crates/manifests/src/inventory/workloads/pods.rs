//! The pods of one workload.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use roster_engine::model::{
    HashSeed, Labels, Node, NotReadyDetail, ObjectRef, Pod, PodPhase, PodReadiness, Text,
    defaults::{Assumptions, Defaults},
    names,
};
use smol_str::format_smolstr;

use super::{
    ASSUMED,
    addresses::Addresses,
    identity::{PodIdentity, PodName},
    template::LostProbe,
    workload::Workload,
};

/// A pod that a controller would make.
#[derive(Clone, Debug)]
pub struct AssumedPod {
    /// The pod: ready and with addresses, if it has a node.
    pub pod: Pod,
    /// The annotations that the controller adds. They do not matter to endpoints.
    pub annotations: Labels,
}

/// Where a pod runs.
#[derive(Clone, Debug)]
pub(super) enum Place<'a> {
    /// On this node.
    Node(&'a Node),
    /// On the node of this name, of which nothing else is known.
    Named(&'a Text),
    /// Nowhere: it waits for a node that fits.
    Unscheduled,
}

/// What makes pods of templates: the names and the addresses of earlier pods.
#[derive(Debug)]
pub(super) struct PodMaker {
    pub(super) addresses: Addresses,
    /// Namespaces and names of all pods.
    pub(super) names: BTreeSet<(Text, Text)>,
    /// The last number of each namespace and prefix of generated names: those before it are taken.
    pub(super) numbers: HashMap<(Text, Text), u32, HashSeed>,
}

impl PodMaker {
    /// Makes a pod of `workload` for each place.
    pub(super) fn make<'p>(
        &mut self,
        workload: &Workload,
        places: impl Iterator<Item = Place<'p>>,
        into: &mut Vec<AssumedPod>,
    ) {
        let prototype = prototype(workload);
        for (number, place) in (0..).zip(places) {
            let identity = workload.identity(number);
            let annotations = identity.annotations.clone();
            let mut pod = self.pod(&prototype, identity, &place);
            if let Some(lost) = workload.template.lost_probe.as_deref().filter(|_| !pod.node_name.is_empty()) {
                pod.readiness = never_ready(lost);
            }
            into.push(AssumedPod { pod, annotations });
        }
    }

    fn pod(&mut self, prototype: &Pod, identity: PodIdentity, place: &Place<'_>) -> Pod {
        let mut pod = prototype.clone();
        let mut labels = Labels::clone(&pod.labels);
        identity.labels.iter().for_each(|(key, value)| labels.insert(key.clone(), value.clone()));
        if let Place::Node(node) = place {
            // The API server copies them when a pod is bound, over what the template has.
            for key in [names::ZONE, names::REGION] {
                node.labels.get(key).into_iter().for_each(|value| labels.insert(key, value.clone()));
            }
        }
        pod.labels = Arc::new(labels);
        let name = self.name(&prototype.reference.namespace, identity.name);
        // Two pods with one address, such as two of the host network of a node, are one only if their uids are equal.
        let uid = format_smolstr!("{ASSUMED}-{name}");
        pod.reference = Arc::new(ObjectRef { name, uid, ..(*prototype.reference).clone() });
        pod.hostname = identity.hostname.unwrap_or(pod.hostname);
        pod.subdomain = identity.subdomain.unwrap_or(pod.subdomain);
        match place {
            Place::Node(node) => self.run(&mut pod, &node.name),
            Place::Named(name) => self.run(&mut pod, name),
            Place::Unscheduled => {}
        }
        pod
    }

    fn run(&mut self, pod: &mut Pod, node: &Text) {
        run(pod, node, &mut self.addresses);
    }

    /// A name, and for generated ones a number that makes it unique.
    fn name(&mut self, namespace: &Text, name: PodName) -> Text {
        let prefix = match name {
            PodName::Exact(name) => {
                self.names.insert((namespace.clone(), name.clone()));
                return name;
            }
            PodName::Generated(prefix) => prefix,
        };
        let marker = if prefix.ends_with(&format!("{ASSUMED}-")) { "" } else { "assumed-" };
        let number = self.numbers.entry((namespace.clone(), prefix.clone())).or_default();
        loop {
            *number += 1;
            let name = format_smolstr!("{prefix}{marker}{number}");
            if self.names.insert((namespace.clone(), name.clone())) {
                return name;
            }
        }
    }
}

/// The readiness of a pod with a probe that can never succeed.
fn never_ready(lost: &LostProbe) -> PodReadiness {
    PodReadiness::NotReady(Box::new(NotReadyDetail {
        status: Text::new_static("False"),
        reason: Text::new_static("ContainersNotReady"),
        containers: vec![(lost.container.clone(), format_smolstr!("no port {} for its {}", lost.port, lost.probe))],
        ..NotReadyDetail::default()
    }))
}

/// Lets a pod run on a node, ready.
pub(super) fn run(pod: &mut Pod, node: &Text, addresses: &mut Addresses) {
    pod.node_name = node.clone();
    pod.ips = addresses.of_pod(node, pod.host_network).collect();
    pod.has_pod_ip = true;
    pod.pod_ip_family = addresses.first_family();
    pod.readiness = PodReadiness::Ready;
}

/// What all pods of a workload have in common; not running yet.
fn prototype(workload: &Workload) -> Pod {
    let template = &workload.template;
    let reference =
        ObjectRef { kind: Text::new_static("Pod"), namespace: workload.namespace.clone(), ..ObjectRef::default() };
    let mut pod = Pod {
        reference: Arc::new(reference),
        resource_version: Text::default(),
        owner: Some(Arc::new(workload.pod_owner())),
        labels: Arc::new(template.labels.clone()),
        deleting: false,
        node_name: Text::default(),
        host_network: template.host_network,
        hostname: template.hostname.clone(),
        subdomain: template.subdomain.clone(),
        ports: Arc::clone(&template.ports),
        phase: PodPhase::Live,
        has_pod_ip: false,
        pod_ip_family: roster_engine::model::Family::V4,
        ips: smallvec::SmallVec::new(),
        readiness: PodReadiness::NotReady(Box::new(NotReadyDetail {
            unscheduled: true,
            scheduling_gated: !template.scheduling.gates.is_empty(),
            scheduling_gates: template.scheduling.gates.clone(),
            ..NotReadyDetail::default()
        })),
        readiness_since: None,
        has_status: true,
        is_hook: false,
    };
    Defaults::default().fill_pod(&mut pod, &mut Assumptions::default());
    pod
}
