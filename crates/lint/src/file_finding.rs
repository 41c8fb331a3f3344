//! One finding about one object of a file: from a rule, from the decoder, or from the validation of policies.

use roster_admission::{Decision, Mode, Rule, RuleFinding};
use roster_engine::{
    model::{ObjectKey, Text, installed::POLICY_KIND, json::pointer::field_path},
    reason::{Finding, Reason, Severity},
};
use roster_manifests::{decode::Document, lint::SourcePlace};
use serde::{Serialize, Serializer};

use crate::{
    report::Note,
    rule::{LintRule, RuleFault},
};

/// The code of a rule or of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingCode {
    /// A rule of the webhook.
    Rule(Rule),
    /// A reason.
    Reason(Reason),
    /// A rule of the linter.
    Lint(&'static LintRule),
}

impl FindingCode {
    /// The code as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.code(),
            Self::Reason(reason) => reason.code(),
            Self::Lint(rule) => rule.code,
        }
    }

    /// The reason or the rule of the linter that users write so.
    pub fn of(code: &str) -> Option<Self> {
        let rule = || LintRule::ALL.iter().copied().find(|rule| rule.code == code).map(Self::Lint);
        Reason::ALL.iter().copied().find(|reason| reason.code() == code).map(Self::Reason).or_else(rule)
    }

    /// What it stands for.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.meaning(),
            Self::Reason(reason) => reason.meaning(),
            Self::Lint(rule) => rule.meaning,
        }
    }

    /// What a user can do about it; empty if there is nothing to do.
    pub fn fix(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.fix(),
            Self::Reason(reason) => reason.fix(),
            Self::Lint(rule) => rule.fix,
        }
    }
}

impl Serialize for FindingCode {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

/// What the finding means for the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingEffect {
    /// It cannot be read, or an API server would not store it.
    Invalid,
    /// A rule denies it.
    Denied,
    /// A rule changes it and warns its writer.
    Changed,
    /// It is stored, and does not hold any more.
    Stale,
    /// It is stored, but does not work with another object.
    Unfit,
    /// A rule warns its writer.
    Warned,
    /// A rule writes an audit annotation.
    Audited,
}

impl FindingEffect {
    /// The effect in a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::Changed => "changed",
            Self::Stale => "stale",
            Self::Unfit => "unfit",
            Self::Warned => "warned",
            Self::Audited => "audited",
        }
    }
}

/// A finding about one object of a file.
#[derive(Clone, Debug)]
pub struct FileFinding<'a> {
    /// The file, or the name of what was rendered.
    pub file: &'a str,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, if the whole object is on this line.
    pub column: Option<usize>,
    /// Where it is written, if the object was rendered and that is known.
    pub source: Option<SourcePlace<'a>>,
    /// The object; the empty key if it is not known.
    pub object: ObjectKey,
    /// How much it matters.
    pub severity: Severity,
    /// What it means for the object.
    pub effect: FindingEffect,
    /// The code.
    pub code: FindingCode,
    /// The name of the policy that gives the rule its mode.
    pub policy: Option<Text>,
    /// The field, as Kubernetes writes paths; empty if the finding is about the whole object.
    pub field: String,
    /// What is wrong, in a sentence.
    pub message: String,
}

/// A finding as it is printed in JSON and YAML.
#[derive(Serialize)]
struct FindingDocument<'f> {
    file: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedPlace<'f>>,
    object: &'f ObjectKey,
    severity: Severity,
    effect: FindingEffect,
    code: FindingCode,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'f Text>,
    #[serde(skip_serializing_if = "str::is_empty")]
    field: &'f str,
    message: &'f str,
}

/// Where a renderer prints what a finding is about.
#[derive(Serialize)]
struct RenderedPlace<'f> {
    file: &'f str,
    line: usize,
}

impl Serialize for FileFinding<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let SourcePlace { file, line, column } = self.shown_place();
        FindingDocument {
            file,
            line,
            column,
            rendered: self.source.map(|_| RenderedPlace { file: self.file, line: self.line }),
            object: &self.object,
            severity: self.severity,
            effect: self.effect,
            code: self.code,
            policy: self.policy.as_ref(),
            field: &self.field,
            message: &self.message,
        }
        .serialize(s)
    }
}

/// The document that a finding is about.
#[derive(Clone, Copy)]
pub struct FileObject<'a, 'd> {
    /// The file.
    pub file: &'a str,
    /// The document.
    pub document: &'d Document<'a>,
    /// The object in it.
    pub key: &'d ObjectKey,
    /// The path of the object in the document; empty if it is the whole document.
    pub root: &'static str,
}

impl<'a, 'd> FileObject<'a, 'd> {
    /// An object that is a whole document.
    pub fn of(file: &'a str, document: &'d Document<'a>, key: &'d ObjectKey) -> Self {
        Self { file, document, key, root: "" }
    }

    /// The lines of fields, and their columns if the whole object is on one line.
    fn places_of(self, fields: &[&str]) -> Vec<(usize, Option<usize>)> {
        if self.root.is_empty() {
            return self.document.places_of(fields);
        }
        let in_root =
            |field: &&str| if field.is_empty() { self.root.to_owned() } else { format!("{}.{field}", self.root) };
        let fields: Vec<String> = fields.iter().map(in_root).collect();
        self.document.places_of(&fields.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

impl<'a> FileFinding<'a> {
    /// The findings of the rules, and for rules with more findings than are recorded, their number.
    pub(crate) fn of_decision(at: FileObject<'a, '_>, decision: &Decision) -> Vec<Self> {
        let counted = decision.more.iter().filter_map(|more| {
            let like = |f: &&RuleFinding| f.rule == more.rule && f.refused == more.refused;
            let finding = decision.findings.iter().rfind(like)?;
            Some(RuleFinding { field: String::new(), message: more.to_string(), ..finding.clone() })
        });
        let counted: Vec<RuleFinding> = counted.collect();
        let all: Vec<&RuleFinding> = decision.findings.iter().chain(&counted).collect();
        let places = at.places_of(&all.iter().map(|f| f.field.as_str()).collect::<Vec<_>>());
        all.into_iter().zip(places).map(|(finding, place)| Self::of_rule(at, finding, place)).collect()
    }

    fn of_rule(at: FileObject<'a, '_>, finding: &RuleFinding, place: (usize, Option<usize>)) -> Self {
        let (severity, effect) = match finding.mode {
            _ if finding.refused => (Severity::Error, FindingEffect::Denied),
            _ if !finding.patch.is_empty() => (Severity::Warning, FindingEffect::Changed),
            Mode::Enforce | Mode::Warn => (Severity::Warning, FindingEffect::Warned),
            Mode::Audit | Mode::Off => (Severity::Info, FindingEffect::Audited),
        };
        Self {
            severity,
            effect,
            policy: finding.policy.clone(),
            field: finding.field.clone(),
            ..Self::about(at, place, FindingCode::Rule(finding.rule), finding.message.clone())
        }
    }

    /// Findings of the decoder, or of the validation of policies.
    pub(crate) fn of_input<'f>(at: FileObject<'a, '_>, found: impl IntoIterator<Item = &'f Finding>) -> Vec<Self> {
        let effect =
            |severity| if severity == Severity::Error { FindingEffect::Invalid } else { FindingEffect::Warned };
        Self::of_findings(at, found, effect)
    }

    /// Findings about Services and workloads together: an API server stores each of them.
    pub(crate) fn of_workloads<'f>(at: FileObject<'a, '_>, found: impl IntoIterator<Item = &'f Finding>) -> Vec<Self> {
        let effect = |severity| if severity == Severity::Error { FindingEffect::Unfit } else { FindingEffect::Warned };
        Self::of_findings(at, found, effect)
    }

    /// Findings about a stored object that does not hold any more.
    pub(crate) fn of_stored<'f>(at: FileObject<'a, '_>, found: impl IntoIterator<Item = &'f Finding>) -> Vec<Self> {
        Self::of_findings(at, found, |_| FindingEffect::Stale)
    }

    /// Findings about one object, with what they mean for it by their severity. All places are found in one pass over the
    /// object.
    fn of_findings<'f>(
        at: FileObject<'a, '_>,
        found: impl IntoIterator<Item = &'f Finding>,
        effect: fn(Severity) -> FindingEffect,
    ) -> Vec<Self> {
        let found: Vec<&Finding> = found.into_iter().collect();
        let places = at.places_of(&found.iter().map(|f| f.at()).collect::<Vec<_>>());
        let finding = |(finding, (line, column)): (&Finding, (usize, Option<usize>))| {
            let (written, message) = split_place(at.file, &finding.message);
            let place = written.map_or((line, column), |written| (written.0, column.map(|_| written.1)));
            // The message about a policy names the field.
            let field = if finding.object.kind == POLICY_KIND { String::new() } else { field_path(finding.at()) };
            Self {
                severity: finding.severity,
                effect: effect(finding.severity),
                field,
                ..Self::about(at, place, FindingCode::Reason(finding.code), message.to_owned())
            }
        };
        found.into_iter().zip(places).map(finding).collect()
    }

    /// What a rule of the linter found in an object: an API server stores it.
    pub(crate) fn of_lint_rules(at: FileObject<'a, '_>, found: &[(&'static LintRule, RuleFault)]) -> Vec<Self> {
        let places = at.places_of(&found.iter().map(|(_, fault)| fault.pointer.as_str()).collect::<Vec<_>>());
        let finding = |((rule, fault), place): (&(&'static LintRule, RuleFault), _)| Self {
            severity: fault.severity.unwrap_or(rule.severity),
            effect: FindingEffect::Warned,
            field: field_path(&fault.pointer),
            ..Self::about(at, place, FindingCode::Lint(rule), fault.message.clone())
        };
        found.iter().zip(places).map(finding).collect()
    }

    /// A finding that makes the whole object invalid.
    pub(crate) fn invalid(at: FileObject<'a, '_>, message: String) -> Self {
        let place = at.places_of(&[""]).first().copied().unwrap_or((at.document.line, None));
        Self::about(at, place, FindingCode::Reason(Reason::InvalidObject), message)
    }

    /// An error about the whole object, at a place of it.
    fn about(at: FileObject<'a, '_>, place: (usize, Option<usize>), code: FindingCode, message: String) -> Self {
        let (line, column) = place;
        Self { object: at.key.clone(), code, ..Self::unreadable(at.file, line, column, message) }
    }

    /// The finding that something of an object, or from there on, is not checked.
    pub(crate) fn not_checked(at: FileObject<'a, '_>, message: String) -> Self {
        let code = FindingCode::Reason(Reason::NotChecked);
        Self { severity: Severity::Warning, effect: FindingEffect::Warned, code, ..Self::invalid(at, message) }
    }

    /// A file that cannot be read beyond a place, or not at all if there is no column. It is not known which object is there.
    pub fn unreadable(file: &'a str, line: usize, column: Option<usize>, why: String) -> Self {
        Self {
            file,
            line,
            column,
            source: None,
            object: ObjectKey::default(),
            severity: Severity::Error,
            effect: FindingEffect::Invalid,
            code: FindingCode::Reason(Reason::InvalidObject),
            policy: None,
            field: String::new(),
            message: why,
        }
    }

    /// Says that the object would be changed: a validation changes nothing.
    pub(crate) fn set_not_applied(&mut self) {
        if let Some((fault, change)) = self.message.rsplit_once("; ").filter(|_| self.effect == FindingEffect::Changed)
        {
            self.message = format!("{fault}; would be {change}");
        }
    }

    /// Whether it is about a name or port that an API server refuses in an object that is created; in one of a cluster, which may
    /// date from another release, it is a warning. Slices may have ports of any number.
    pub(crate) fn is_of_refused_value(&self) -> bool {
        match self.code {
            FindingCode::Reason(Reason::InvalidName) => true,
            FindingCode::Reason(Reason::InvalidPort) => self.object.kind != "EndpointSlice",
            _ => false,
        }
    }

    /// Whether it is about an `EndpointPolicy`.
    pub fn is_of_policy(&self) -> bool {
        self.object.kind == POLICY_KIND
    }

    /// Where it is written, or else where it is rendered.
    pub fn shown_place(&self) -> SourcePlace<'a> {
        self.source.unwrap_or(SourcePlace { file: self.file, line: Some(self.line), column: self.column })
    }

    /// The file, the line and, if the whole object is on it, the column.
    pub fn place(&self) -> String {
        // Nothing of the file was read.
        if self.column.is_none() && self.object == ObjectKey::default() {
            return self.file.to_owned();
        }
        self.shown_place().to_string()
    }

    /// The object; nothing if it is not known.
    pub fn object_text(&self) -> String {
        if self.object == ObjectKey::default() { String::new() } else { self.object.to_string() }
    }

    /// The object, the field and the message.
    pub fn described(&self) -> String {
        let object = self.object_text();
        if object.is_empty() { self.text() } else { format!("{object}: {}", self.text()) }
    }

    /// The field and the message.
    pub fn text(&self) -> String {
        if self.field.is_empty() { self.message.clone() } else { format!("{}: {}", self.field, self.message) }
    }

    /// The place, the object, the message and the code.
    pub fn note(&self) -> Note {
        let policy = self.policy.as_ref().map(|name| format!(", {POLICY_KIND} {name}")).unwrap_or_default();
        let text = format!("{}: {} ({}{policy})", self.place(), self.described(), self.code.as_str());
        Note { severity: self.severity, text }
    }
}

/// Splits the line and the column off a message of the decoder that begins with a place in a file.
pub fn split_place<'m>(file: &str, message: &'m str) -> (Option<(usize, usize)>, &'m str) {
    let split = || {
        let (line, rest) = message.strip_prefix(file)?.strip_prefix(':')?.split_once(':')?;
        let (column, rest) = rest.split_once(": ")?;
        Some(((line.parse().ok()?, column.parse().ok()?), rest))
    };
    split().map_or((None, message), |(place, rest)| (Some(place), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_from_messages() {
        for (message, want) in [
            ("a:b.yaml:3:14: no list", (Some((3, 14)), "no list")),
            ("a:b.yaml:3: no column", (None, "a:b.yaml:3: no column")),
            ("other.yaml:3:14: x", (None, "other.yaml:3:14: x")),
            ("plain", (None, "plain")),
        ] {
            assert_eq!(split_place("a:b.yaml", message), want);
        }
    }
}
