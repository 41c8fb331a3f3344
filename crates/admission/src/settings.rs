//! The settings for one object: the modes of the rules, and their limits.

use std::sync::Arc;

use roster_engine::model::Text;

use super::{
    ranges::Ranges,
    request::Stage,
    rule::{Mode, Remedy, Rule},
};

/// The modes and limits of all rules for one object. They come from the policies; without one, every rule has its
/// default mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    modes: [Mode; Rule::COUNT],
    /// The policy that sets the mode of a rule; `None` for the default mode.
    policies: [Option<Text>; Rule::COUNT],
    /// Ranges that are allowed for addresses that do not belong to a pod, for external IPs and for load balancer IPs; and
    /// those whose addresses are refused even if they are allowed or belong to a pod.
    pub ranges: Ranges,
    /// Whether the addresses of pods of the host network count as addresses of pods.
    pub host_network: HostNetwork,
    /// What the webhook does with Endpoints that have more than 1000 addresses.
    pub capacity: Capacity,
    /// The policy that sets `capacity`; `None` for the default.
    pub capacity_policy: Option<Text>,
    /// The settings for the stored object, if they differ: policies select objects by their labels. A fault that these
    /// settings tolerate does not excuse the new object.
    pub before: Option<Arc<Self>>,
}

/// What the webhook does with too many addresses where the rule is enforced; the stricter action last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Capacity {
    /// It keeps 1000 of them, as the controllers do.
    #[default]
    Truncate,
    /// It refuses the object.
    Deny,
}

/// Whether the addresses of pods of the host network, which are those of nodes, count as addresses of pods; the stricter
/// answer last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum HostNetwork {
    /// They count.
    Allow,
    /// They do not: everything on the node has them, too.
    #[default]
    Deny,
}

impl Default for Settings {
    fn default() -> Self {
        let mut modes = [Mode::Off; Rule::COUNT];
        for rule in Rule::ALL {
            modes[*rule as usize] = rule.default_mode();
        }
        Self {
            modes,
            policies: [const { None }; Rule::COUNT],
            ranges: Ranges::default(),
            host_network: HostNetwork::default(),
            capacity: Capacity::default(),
            capacity_policy: None,
            before: None,
        }
    }
}

impl Settings {
    /// The mode of a rule.
    pub fn mode(&self, rule: Rule) -> Mode {
        self.modes[rule as usize]
    }

    /// Whether a webhook checks a rule. The mutating one checks only the enforced rules that change objects.
    pub(super) fn checks(&self, rule: Rule, stage: Stage) -> bool {
        match stage {
            Stage::Mutate => self.mode(rule) == Mode::Enforce && rule.remedy() == Remedy::Change,
            Stage::Validate => self.mode(rule) != Mode::Off,
        }
    }

    /// The name of the policy that sets the mode of a rule; `None` for the default mode.
    pub fn policy(&self, rule: Rule) -> Option<&Text> {
        self.policies[rule as usize].as_ref()
    }

    /// Sets the mode of a rule.
    pub fn set(&mut self, rule: Rule, mode: Mode) {
        self.modes[rule as usize] = mode;
    }

    /// Sets the mode of a rule, for the policy of this name.
    pub fn set_by(&mut self, rule: Rule, mode: Mode, policy: &Text) {
        self.set(rule, mode);
        self.policies[rule as usize] = Some(policy.clone());
    }
}
