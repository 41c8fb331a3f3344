//! What holds for one object: the modes of the rules, and their bounds.

use super::rule::{Mode, Rule};
use crate::model::{Cidr, Text};

/// What holds for one object. An `EndpointPolicy` makes it; without one, every rule has its default mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    modes: [Mode; Rule::COUNT],
    /// The policy that gives a rule its mode; none where it is the rule's own.
    policies: [Option<Text>; Rule::COUNT],
    /// Addresses that need not be those of pods, external IPs, load balancer IPs.
    pub allowed: Vec<Cidr>,
    /// Addresses that are refused even where they are allowed or belong to a pod.
    pub denied: Vec<Denied>,
    /// What is done about Endpoints with more than 1000 addresses.
    pub capacity: Capacity,
    /// The policy that says so; none where no policy does.
    pub capacity_policy: Option<Text>,
    /// What holds for the stored object, where that is something else: policies choose objects by their labels. What
    /// is fine there is no excuse here.
    pub before: Option<Box<Self>>,
}

/// A range that a policy denies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denied {
    /// Its addresses.
    pub range: Cidr,
    /// The name of the policy.
    pub policy: Text,
}

/// What is done about too many addresses, where the rule is enforced; the stricter one last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Capacity {
    /// They are cut to 1000, as the controllers do.
    #[default]
    Truncate,
    /// The object is refused.
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
            allowed: Vec::new(),
            denied: Vec::new(),
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

    /// The name of the policy that gives a rule its mode; `None` where it is the rule's own.
    pub fn policy(&self, rule: Rule) -> Option<&Text> {
        self.policies[rule as usize].as_ref()
    }

    /// Sets the mode of a rule.
    pub fn set(&mut self, rule: Rule, mode: Mode) {
        self.modes[rule as usize] = mode;
    }

    /// Sets the mode of a rule, as a policy of this name says.
    pub fn set_by(&mut self, rule: Rule, mode: Mode, policy: &Text) {
        self.set(rule, mode);
        self.policies[rule as usize] = Some(policy.clone());
    }
}
