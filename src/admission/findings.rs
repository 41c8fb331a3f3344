//! What the checks found, by rule, before anybody decides what to do about it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;

use super::{
    PatchOp, Stage,
    rule::{Mode, Rule},
    settings::Settings,
};
use crate::model::Text;

/// Most findings of one rule that are told; the others are counted.
const MAX_OF_RULE: usize = 10;

/// Something a rule has against an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleFinding {
    /// The rule.
    pub rule: Rule,
    /// What is done about it. What the stored object has already is told, but not refused.
    pub mode: Mode,
    /// The name of the policy that gives the rule its mode; `None` where it is the rule's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Text>,
    /// The field, as Kubernetes writes paths: `spec.externalIPs[0]`.
    pub field: String,
    /// A sentence.
    pub message: String,
    /// Whether an object that has it is refused.
    pub refused: bool,
    /// How the object is mended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mend: Vec<PatchOp>,
}

/// What a finding is about, wherever in the object it stands: by this it is found again in the stored object.
#[derive(Clone, Copy, Debug)]
pub(super) enum About<'a> {
    /// This text, such as an address.
    Text(&'a str),
    /// So much of something; less of it is no worse.
    Count(usize),
}

/// What the stored object has already.
#[derive(Debug, Default)]
pub(super) struct Stored {
    texts: BTreeSet<(Rule, String)>,
    counts: BTreeMap<Rule, usize>,
}

impl Stored {
    fn note(&mut self, rule: Rule, about: About<'_>) {
        match about {
            About::Text(text) => {
                self.texts.insert((rule, text.to_owned()));
            }
            About::Count(n) => {
                let most = self.counts.entry(rule).or_default();
                *most = n.max(*most);
            }
        }
    }

    fn has(&self, rule: Rule, about: About<'_>) -> bool {
        match about {
            About::Text(text) => self.texts.contains(&(rule, text.to_owned())),
            About::Count(n) => self.counts.get(&rule).is_some_and(|most| n <= *most),
        }
    }
}

/// The findings of one object. Rules that are off are not noted.
#[derive(Debug)]
pub(super) struct Findings<'a> {
    settings: &'a Settings,
    stage: Stage,
    list: Vec<RuleFinding>,
    /// Of each rule, how many are not refused, and how many are.
    counts: [[usize; 2]; Rule::COUNT],
    /// Rules that could not be looked at, and why.
    unchecked: BTreeMap<Rule, &'static str>,
    stored: Stored,
    /// Whether this is a look at the stored object, of which nothing but [`Stored`] matters.
    looking_back: bool,
}

/// Findings of a rule that are counted, and not told one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct More {
    /// The rule.
    pub rule: Rule,
    /// Whether they are reasons to refuse the object.
    pub refused: bool,
    /// How many.
    pub count: usize,
}

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "and {} more of {}", self.count, self.rule)
    }
}

/// What was found, and what was not.
#[derive(Debug)]
pub(super) struct All {
    pub(super) list: Vec<RuleFinding>,
    pub(super) more: Vec<More>,
    /// Rules that could not be looked at, and why.
    pub(super) unchecked: BTreeMap<Rule, &'static str>,
}

impl<'a> Findings<'a> {
    /// None yet.
    pub(super) fn new(settings: &'a Settings, stage: Stage) -> Self {
        Self {
            settings,
            stage,
            list: Vec::new(),
            counts: [[0; 2]; Rule::COUNT],
            unchecked: BTreeMap::new(),
            stored: Stored::default(),
            looking_back: false,
        }
    }

    /// For the stored object.
    pub(super) fn looking_back(settings: &'a Settings) -> Self {
        Self { looking_back: true, ..Self::new(settings, Stage::Validate) }
    }

    /// None yet, of an object that replaces the one these are of.
    pub(super) fn of_successor(self, settings: &'a Settings) -> Self {
        Self { stored: self.stored, ..Self::new(settings, self.stage) }
    }

    /// The settings they are noted under.
    pub(super) fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Whether a rule is looked at: a check that costs something asks first.
    pub(super) fn wants(&self, rule: Rule) -> bool {
        self.stage.wants(self.settings, rule)
    }

    /// Whether what a rule finds is mended right now.
    pub(super) fn mends(&self, rule: Rule) -> bool {
        self.stage == Stage::Mutate && self.wants(rule)
    }

    /// Notes that a rule could not be looked at.
    pub(super) fn unchecked(&mut self, rule: Rule, why: &'static str) {
        if self.wants(rule) {
            self.unchecked.insert(rule, why);
        }
    }

    /// Something that cannot be mended: where the rule is enforced, the object is refused.
    pub(super) fn add(&mut self, rule: Rule, about: About<'_>, field: fmt::Arguments<'_>, message: fmt::Arguments<'_>) {
        if !self.wants(rule) {
            return;
        }
        if self.looking_back {
            // What was only told there was never let pass as it is judged here.
            if self.settings.mode(rule) == Mode::Enforce {
                self.stored.note(rule, about);
            }
            return;
        }
        let mut mode = self.settings.mode(rule);
        if mode == Mode::Enforce && self.stored.has(rule, about) {
            mode = Mode::Warn;
        }
        let refused = mode == Mode::Enforce;
        let count = &mut self.counts[rule as usize][usize::from(refused)];
        *count += 1;
        if *count <= MAX_OF_RULE {
            let (field, message) = (field.to_string(), message.to_string());
            let policy = self.settings.policy(rule).cloned();
            self.list.push(RuleFinding { rule, mode, policy, field, message, refused, mend: Vec::new() });
        }
    }

    /// Something that can be mended: where the rule is enforced, the mutating webhook does so.
    pub(super) fn add_mended(
        &mut self,
        rule: Rule,
        field: fmt::Arguments<'_>,
        message: fmt::Arguments<'_>,
        mend: impl FnOnce() -> Vec<PatchOp>,
    ) {
        if !self.wants(rule) || self.looking_back {
            return;
        }
        let mode = self.settings.mode(rule);
        let mend = if self.stage == Stage::Mutate { mend() } else { Vec::new() };
        let (field, message) = (field.to_string(), message.to_string());
        let policy = self.settings.policy(rule).cloned();
        self.list.push(RuleFinding { rule, mode, policy, field, message, refused: false, mend });
    }

    /// Whether some finding is a reason to refuse the object.
    pub(super) fn refuse(&self) -> bool {
        self.list.iter().any(|f| f.refused)
    }

    /// All of them.
    pub(super) fn finish(self) -> All {
        let mut more = Vec::new();
        for &rule in Rule::ALL {
            for refused in [false, true] {
                let n = self.counts[rule as usize][usize::from(refused)];
                if n > MAX_OF_RULE {
                    more.push(More { rule, refused, count: n - MAX_OF_RULE });
                }
            }
        }
        All { list: self.list, more, unchecked: self.unchecked }
    }
}
