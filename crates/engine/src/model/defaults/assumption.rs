//! What may be filled in, and how often it was.

use super::ClusterFamilies;
use crate::{
    code_table,
    model::{ObjectKey, Text},
};

code_table! {
    /// A kind of default.
    pub enum Assumption {
        /// The kind of the objects; empty if it may be any.
        kind: &'static str,
        /// What lacks something: one, and several.
        subject: (&'static str, &'static str),
        /// What it has instead.
        has: &'static str,
        /// What an API server stores.
        value: &'static str,
    }

    /// `metadata.namespace`; the value is the namespace.
    Namespace("", ("object", "objects"), "no namespace", "");
    /// `spec.ports[].protocol` of a Service.
    ServiceProtocol("Service", ("port", "ports"), "no protocol", "TCP");
    /// `spec.ports[].targetPort`.
    TargetPort("Service", ("port", "ports"), "no targetPort", "the value of port");
    /// `spec.ipFamilies`; the value begins with the families of the cluster.
    Families("Service", ("Service", "Services"), "no ipFamilies, or too few for ipFamilyPolicy", "");
    /// `spec.clusterIP`.
    ClusterIp("Service", ("Service", "Services"), "no clusterIP", "an address that the cluster allocates");
    /// `spec.selector: {}`.
    EmptySelector("Service", ("Service", "Services"), "an empty selector", "no selector");
    /// `spec.containers[].ports[].protocol`.
    ContainerProtocol("Pod", ("port", "ports"), "no protocol", "TCP");
    /// The labels for zone and region.
    NodeLabels("Pod", ("pod", "pods"), "not the zone and region of its node as labels", "these labels");
    /// `subsets[].ports[].protocol`.
    EndpointsProtocol("Endpoints", ("port", "ports"), "no protocol", "TCP");
    /// `ports[].protocol` of a slice.
    SliceProtocol("EndpointSlice", ("port", "ports"), "no protocol", "TCP");
    /// `ports[].name` of a slice.
    SlicePortName("EndpointSlice", ("port", "ports"), "no name", "the empty name");
}

/// How often each default was filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumptions {
    counts: [u64; Assumption::COUNT],
    /// The namespace that was filled in.
    namespace: Text,
    /// The families of the cluster.
    families: ClusterFamilies,
    /// Whether something else was brought into the form in which it is stored.
    normalized: bool,
}

impl Assumptions {
    /// Counts a default.
    pub(super) fn count(&mut self, assumption: Assumption) {
        self.counts[assumption as usize] += 1;
    }

    /// Counts a namespace.
    pub(super) fn count_namespace(&mut self, namespace: &Text) {
        self.namespace.clone_from(namespace);
        self.count(Assumption::Namespace);
    }

    /// Counts the families of a Service.
    pub(super) fn count_families(&mut self, cluster: ClusterFamilies) {
        if !self.families.is_dual() {
            self.families = cluster;
        }
        self.count(Assumption::Families);
    }

    /// Notes a change on which no answer depends, such as an empty list that is stored as none.
    pub(super) fn normalize(&mut self) {
        self.normalized = true;
    }

    /// Whether all objects are as they were written.
    pub fn is_empty(&self) -> bool {
        !self.normalized && self.counts.iter().all(|n| *n == 0)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.normalized |= other.normalized;
        if self.namespace.is_empty() {
            self.namespace.clone_from(&other.namespace);
        }
        if other.counts[Assumption::Families as usize] > 0 && !self.families.is_dual() {
            self.families = other.families;
        }
    }

    /// What was filled in: each kind of default once, with the kind of the objects and a sentence.
    pub fn sentences(&self) -> impl Iterator<Item = (ObjectKey, String)> + '_ {
        let counted = Assumption::ALL.iter().zip(self.counts).filter(|(_, count)| *count > 0);
        counted.map(|(assumption, count)| {
            let (subject, verb) =
                if count == 1 { (assumption.subject().0, "has") } else { (assumption.subject().1, "have") };
            let value = match assumption {
                Assumption::Namespace => &self.namespace,
                Assumption::Families => self.families.as_str(),
                _ => assumption.value(),
            };
            let key = ObjectKey { kind: assumption.kind().into(), ..ObjectKey::default() };
            (key, format!("{count} {subject} {verb} {}; assumed: {value}", assumption.has()))
        })
    }
}
