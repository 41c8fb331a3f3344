//! Which nodes a pod may run on: node selector, required affinity, and tolerated taints.

use roster_engine::model::{LabelRequirement, Labels, Node, Taint, Text, names, wire::nullable};
use serde::Deserialize;

/// What a pod asks of its node. Preferences play no part in whether it may run there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// `spec.nodeName`: that node alone, whatever else is asked.
    pub node_name: Text,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// The terms of the required node affinity, of which one must hold; `None` if there is none.
    pub required: Option<Vec<NodeTerm>>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// The names in `spec.schedulingGates`: it gets a node when they are removed.
    pub gates: Vec<Text>,
}

/// A term of a node affinity: all of its requirements must hold. An empty term holds for no node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct NodeTerm {
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<LabelRequirement>,
    #[serde(deserialize_with = "nullable")]
    pub match_fields: Vec<LabelRequirement>,
}

/// A toleration of taints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct Toleration {
    #[serde(deserialize_with = "nullable")]
    pub key: Text,
    #[serde(deserialize_with = "nullable")]
    pub operator: Text,
    #[serde(deserialize_with = "nullable")]
    pub value: Text,
    #[serde(deserialize_with = "nullable")]
    pub effect: Text,
}

impl Toleration {
    fn tolerates(&self, taint: &Taint) -> bool {
        let is_for_it =
            (self.effect.is_empty() || self.effect == taint.effect) && (self.key.is_empty() || self.key == taint.key);
        is_for_it
            && match self.operator.as_str() {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                _ => false,
            }
    }
}

/// A taint that Kubernetes tolerates by itself: its key and its effect.
type SystemTaint = (&'static str, &'static str);

const NO_SCHEDULE: &str = "NoSchedule";
const NO_EXECUTE: &str = "NoExecute";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
const NETWORK_UNAVAILABLE: SystemTaint = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE);

/// Added to every pod by an admission plugin, for 300 seconds.
const OF_EVERY_POD: &[SystemTaint] =
    &[("node.kubernetes.io/not-ready", NO_EXECUTE), ("node.kubernetes.io/unreachable", NO_EXECUTE)];

/// Added to the pods of a DaemonSet by its controller (upstream's `AddOrUpdateDaemonPodTolerations`), besides
/// [`OF_EVERY_POD`].
const OF_DAEMONS: &[SystemTaint] = &[
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    (UNSCHEDULABLE, NO_SCHEDULE),
];

/// What places the pods of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedBy {
    /// The DaemonSet controller: one pod for each node that fits.
    DaemonSet {
        /// Whether the pods use the host network, and so run before the network of the node does.
        host_network: bool,
    },
    /// The scheduler.
    Scheduler,
}

/// How much is known of the labels of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKnowledge {
    /// The node is in the input: a label that it lacks is not there.
    Complete,
    /// The node is assumed: its name, and a label that it lacks, may have any value.
    Assumed,
}

impl Scheduling {
    /// Whether a pod may run on `node`.
    pub fn fits(&self, node: &Node, known: NodeKnowledge, placed_by: PlacedBy) -> bool {
        if !self.node_name.is_empty() {
            return self.node_name == node.name;
        }
        self.selects(node, known) && self.tolerates(node, placed_by)
    }

    /// How many requirements a node is compared with, at most.
    pub(super) fn requirements(&self) -> usize {
        let values = |r: &LabelRequirement| 1 + r.value_count();
        let of_term =
            |term: &NodeTerm| term.match_expressions.iter().chain(&term.match_fields).map(values).sum::<usize>();
        let required: usize = self.required.iter().flatten().map(of_term).sum();
        1 + self.node_selector.len() + required + self.tolerations.len()
    }

    fn selects(&self, node: &Node, known: NodeKnowledge) -> bool {
        let is_assumed = known == NodeKnowledge::Assumed;
        let is_open = |key: &Text| is_assumed && (key == names::HOSTNAME || !node.labels.contains_key(key));
        let selected = |(key, value): (&Text, &Text)| is_open(key) || node.labels.get(key) == Some(value);
        let expression = |r: &LabelRequirement| is_open(&r.key) || r.holds(node.labels.get(&r.key).map(Text::as_str));
        // `metadata.name` is the only field that an API server accepts.
        let field = |r: &LabelRequirement| r.key == "metadata.name" && (is_assumed || r.holds(Some(&node.name)));
        let term = |term: &NodeTerm| {
            let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
            !is_empty && term.match_expressions.iter().all(expression) && term.match_fields.iter().all(field)
        };
        self.node_selector.iter().all(selected) && self.required.as_ref().is_none_or(|terms| terms.iter().any(term))
    }

    fn tolerates(&self, node: &Node, placed_by: PlacedBy) -> bool {
        let by_system = |taint: &Taint| {
            let is = |system: &SystemTaint| taint.key == system.0 && taint.effect == system.1;
            let of_daemon = match placed_by {
                PlacedBy::Scheduler => false,
                PlacedBy::DaemonSet { host_network } => {
                    OF_DAEMONS.iter().any(is) || (host_network && is(&NETWORK_UNAVAILABLE))
                }
            };
            of_daemon || OF_EVERY_POD.iter().any(is)
        };
        let tolerated = |taint: &Taint| by_system(taint) || self.tolerations.iter().any(|t| t.tolerates(taint));
        // A cordoned node has this taint as well, unless a file leaves it out.
        let cordon = Taint { key: UNSCHEDULABLE.into(), value: Text::default(), effect: Text::new_static(NO_SCHEDULE) };
        let keeps_away = |taint: &&Taint| taint.effect == NO_SCHEDULE || taint.effect == NO_EXECUTE;
        (!node.unschedulable || tolerated(&cordon)) && node.taints.iter().filter(keeps_away).all(tolerated)
    }
}
