//! What the checks found, by rule, before anybody decides what to do about it.

use serde::Serialize;

use super::{
    PatchOp,
    rule::{Mode, Rule},
    settings::Settings,
};

/// Most findings of one rule that are told; the others are counted.
const MAX_OF_RULE: usize = 10;

/// Something a rule has against an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// What is done about it.
    pub mode: Mode,
    /// The field, as Kubernetes writes paths: `spec.externalIPs[0]`.
    pub field: String,
    /// A sentence.
    pub message: String,
    /// How the object is mended; empty where it cannot be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mend: Vec<PatchOp>,
}

/// The findings of one object. Rules that are off are not noted.
#[derive(Debug)]
pub struct Findings<'a> {
    settings: &'a Settings,
    list: Vec<Finding>,
    counts: [usize; Rule::COUNT],
}

impl<'a> Findings<'a> {
    /// None yet.
    pub fn new(settings: &'a Settings) -> Self {
        Self { settings, list: Vec::new(), counts: [0; Rule::COUNT] }
    }

    /// Whether a rule is looked at: a check that costs something asks first.
    pub fn wants(&self, rule: Rule) -> bool {
        self.settings.mode(rule) != Mode::Off
    }

    /// Something that cannot be mended here.
    pub fn add(&mut self, rule: Rule, field: impl Into<String>, message: impl Into<String>) {
        self.add_mended(rule, field, message, Vec::new());
    }

    /// Something, and how it is mended.
    pub fn add_mended(&mut self, rule: Rule, field: impl Into<String>, message: impl Into<String>, mend: Vec<PatchOp>) {
        let mode = self.settings.mode(rule);
        if mode == Mode::Off {
            return;
        }
        let count = &mut self.counts[rule as usize];
        *count += 1;
        if *count <= MAX_OF_RULE {
            self.list.push(Finding { rule, mode, field: field.into(), message: message.into(), mend });
        }
    }

    /// The settings they are noted under.
    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// All of them, and how many more there were of each rule.
    pub(super) fn finish(self) -> (Vec<Finding>, Vec<(Rule, usize)>) {
        let more = Rule::ALL.iter().map(|r| (*r, self.counts[*r as usize].saturating_sub(MAX_OF_RULE)));
        (self.list, more.filter(|(_, n)| *n > 0).collect())
    }
}
