//! The findings of the checks on one object, before the decision.

use std::{collections::BTreeMap, fmt};

use roster_engine::model::Text;
use serde::Serialize;

use super::{
    fault::{Fault, ObjectTraffic, StoredFaults},
    request::Stage,
    rule::{Mode, Rule},
    settings::Settings,
};
use crate::patch::PatchOp;

/// Most findings of one rule that are listed; further ones are only counted.
const MAX_LISTED: usize = 10;

/// What a rule found in an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleFinding {
    /// The rule.
    pub rule: Rule,
    /// The mode of the finding. A fault that the stored object already has is a warning at most.
    pub mode: Mode,
    /// The name of the policy that sets the mode of the rule; `None` for the default mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Text>,
    /// The field, as Kubernetes writes paths: `spec.externalIPs[0]`.
    pub field: String,
    /// What is wrong, and what was changed.
    pub message: String,
    /// Whether it is a reason to refuse the object.
    pub refused: bool,
    /// The operations that change the object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patch: Vec<PatchOp>,
}

/// Findings of a rule that are counted and not listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingCount {
    /// The rule.
    pub rule: Rule,
    /// Whether they are reasons to refuse the object.
    pub refused: bool,
    /// How many.
    pub count: usize,
}

impl fmt::Display for FindingCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "and {} more of {}", self.count, self.rule)
    }
}

/// A fault that a rule corrects: where it is, what is wrong, and what the patch does about it.
pub(super) struct Correction<'a, P> {
    /// The field.
    pub(super) field: fmt::Arguments<'a>,
    /// What is wrong.
    pub(super) message: fmt::Arguments<'a>,
    /// What the patch does; it completes the message of an object that was changed.
    pub(super) change: fmt::Arguments<'a>,
    /// Makes the patch.
    pub(super) patch: P,
}

/// Collects the findings of one object. It drops findings of rules that are off.
#[derive(Debug)]
pub(super) struct RuleFindings<'a> {
    settings: &'a Settings,
    stage: Stage,
    list: Vec<RuleFinding>,
    /// For each rule the number of findings that do not refuse the object, and of those that do.
    counts: [[usize; 2]; Rule::COUNT],
    /// Rules that could not be checked, and why.
    unchecked: BTreeMap<Rule, &'static str>,
    /// The strictest mode of the rules whose budget ended.
    over_budget: Option<Mode>,
    stored: StoredFaults,
    /// Whether the checked object is the stored one, for which only [`StoredFaults`] matter.
    is_stored: bool,
}

/// The findings of an object, complete.
#[derive(Debug)]
pub(super) struct FindingList {
    pub(super) listed: Vec<RuleFinding>,
    pub(super) more: Vec<FindingCount>,
    /// Rules that could not be checked, and why.
    pub(super) unchecked: BTreeMap<Rule, &'static str>,
    /// The strictest mode of the rules whose budget ended.
    pub(super) over_budget: Option<Mode>,
}

impl<'a> RuleFindings<'a> {
    /// An empty collection.
    pub(super) fn new(settings: &'a Settings, stage: Stage) -> Self {
        Self {
            settings,
            stage,
            list: Vec::new(),
            counts: [[0; 2]; Rule::COUNT],
            unchecked: BTreeMap::new(),
            over_budget: None,
            stored: StoredFaults::default(),
            is_stored: false,
        }
    }

    /// An empty collection for the stored object, which has this traffic.
    pub(super) fn of_stored(settings: &'a Settings, traffic: ObjectTraffic) -> Self {
        Self { stored: StoredFaults::with(traffic), is_stored: true, ..Self::new(settings, Stage::Validate) }
    }

    /// An empty collection for the object that replaces the stored one, and has this traffic.
    pub(super) fn of_successor(self, settings: &'a Settings, traffic: &ObjectTraffic) -> Self {
        Self { stored: self.stored.compared_with(traffic), ..Self::new(settings, self.stage) }
    }

    /// The settings for the object.
    pub(super) fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Whether a rule is checked. Expensive checks ask first.
    pub(super) fn checks(&self, rule: Rule) -> bool {
        self.settings.checks(rule, self.stage)
    }

    /// Whether a rule changes the object in this stage.
    pub(super) fn changes(&self, rule: Rule) -> bool {
        self.stage == Stage::Mutate && self.checks(rule)
    }

    /// Records that a rule could not be checked.
    pub(super) fn unchecked(&mut self, rule: Rule, why: &'static str) {
        if self.checks(rule) {
            self.unchecked.insert(rule, why);
        }
    }

    /// Records that a rule would take too much work, so that it was not checked to the end.
    pub(super) fn over_budget(&mut self, rule: Rule, why: &'static str) {
        if self.is_stored {
            if self.settings.mode(rule) == Mode::Enforce {
                self.stored.cut(rule, why);
            }
            return;
        }
        self.unchecked(rule, why);
        if self.checks(rule) {
            self.over_budget = self.over_budget.max(Some(self.settings.mode(rule)));
        }
    }

    /// Adds a fault that no patch can correct. Where the rule is enforced, the object is refused.
    pub(super) fn add(&mut self, rule: Rule, fault: Fault<'_>, field: fmt::Arguments<'_>, message: fmt::Arguments<'_>) {
        if !self.checks(rule) {
            return;
        }
        if self.is_stored {
            // A fault of a rule that was not enforced before is not an accepted one.
            if self.settings.mode(rule) == Mode::Enforce {
                self.stored.insert(rule, fault);
            }
            return;
        }
        let mut mode = self.settings.mode(rule);
        if mode == Mode::Enforce {
            if self.stored.excuse(rule, fault) {
                mode = Mode::Warn;
            } else if let Some(why) = self.stored.may_excuse(rule, fault) {
                // Whether to refuse the object depends on work that was not done.
                self.over_budget(rule, why);
                mode = Mode::Warn;
            }
        }
        let refused = mode == Mode::Enforce;
        let count = &mut self.counts[rule as usize][usize::from(refused)];
        *count += 1;
        if *count <= MAX_LISTED {
            let field = field.to_string();
            let message = if refused && self.stored.would_grow(rule, fault) {
                format!("{message}; the update sends other traffic to it")
            } else {
                message.to_string()
            };
            let policy = self.settings.policy(rule).cloned();
            self.list.push(RuleFinding { rule, mode, policy, field, message, refused, patch: Vec::new() });
        }
    }

    /// Adds a fault that a patch corrects. Where the rule is enforced, the mutating webhook applies it.
    pub(super) fn correct(&mut self, rule: Rule, correction: Correction<'_, impl FnOnce() -> Vec<PatchOp>>) {
        if !self.checks(rule) || self.is_stored {
            return;
        }
        let Correction { field, message, change, patch } = correction;
        let (message, patch) = match self.stage {
            Stage::Mutate => (format!("{message}; {change}"), patch()),
            Stage::Validate => (message.to_string(), Vec::new()),
        };
        let (field, mode) = (field.to_string(), self.settings.mode(rule));
        let policy = self.settings.policy(rule).cloned();
        self.list.push(RuleFinding { rule, mode, policy, field, message, refused: false, patch });
    }

    /// Whether a finding is a reason to refuse the object.
    pub(super) fn refuse(&self) -> bool {
        self.list.iter().any(|f| f.refused)
    }

    /// Completes the collection.
    pub(super) fn finish(self) -> FindingList {
        let mut more = Vec::new();
        for &rule in Rule::ALL {
            for refused in [false, true] {
                let n = self.counts[rule as usize][usize::from(refused)];
                if n > MAX_LISTED {
                    more.push(FindingCount { rule, refused, count: n - MAX_LISTED });
                }
            }
        }
        FindingList { listed: self.list, more, unchecked: self.unchecked, over_budget: self.over_budget }
    }
}
