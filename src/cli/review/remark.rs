//! One thing that is said of one object: by a rule, by the reader of objects, or by the check of policies.

use serde::{Serialize, Serializer};

use super::super::output;
use crate::{
    admission::{Decision, Mode, Rule, RuleFinding, policy::version::KIND},
    decode::Document,
    engine::reason::{Finding, Reason, Severity},
    model::{ObjectKey, Text},
};

/// Whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Code {
    Rule(Rule),
    Reason(Reason),
}

impl Code {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.code(),
            Self::Reason(reason) => reason.code(),
        }
    }

    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.meaning(),
            Self::Reason(reason) => reason.meaning(),
        }
    }

    pub(super) fn fix(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.fix(),
            Self::Reason(reason) => reason.fix(),
        }
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Effect {
    /// It is no object, or none that an API server would store.
    Invalid,
    /// A rule refuses it.
    Denied,
    /// A rule mends it, and says so.
    Mended,
    /// Its writer is warned.
    Warned,
    /// It is written into the audit log.
    Noted,
}

impl Effect {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::Mended => "mended",
            Self::Warned => "warned",
            Self::Noted => "noted",
        }
    }
}

/// One thing that is said of one object.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Remark<'a> {
    pub(super) file: &'a str,
    pub(super) line: usize,
    pub(super) object: ObjectKey,
    pub(super) severity: Severity,
    pub(super) effect: Effect,
    pub(super) code: Code,
    /// The name of the policy that gives the rule its mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) policy: Option<Text>,
    /// As Kubernetes writes paths; empty where it is about all of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) field: String,
    pub(super) message: String,
}

/// The document that is remarked on.
#[derive(Clone, Copy)]
pub(super) struct About<'a, 'd> {
    pub(super) file: &'a str,
    pub(super) document: &'d Document<'a>,
    pub(super) key: &'d ObjectKey,
    /// Where in the document the object is, if it is not all of it.
    pub(super) root: &'static str,
}

impl<'a, 'd> About<'a, 'd> {
    pub(super) fn of(file: &'a str, document: &'d Document<'a>, key: &'d ObjectKey) -> Self {
        Self { file, document, key, root: "" }
    }

    fn line_of(self, field: &str) -> usize {
        match (self.root, field) {
            ("", field) => self.document.line_of(field),
            (root, "") => self.document.line_of(root),
            (root, field) => self.document.line_of(&format!("{root}.{field}")),
        }
    }
}

impl<'a> Remark<'a> {
    /// What the rules found, and of which of them there was more.
    pub(super) fn of_decision(about: About<'a, '_>, decision: &Decision) -> Vec<Self> {
        let mut all: Vec<Self> = decision.findings.iter().map(|f| Self::of_finding(about, f)).collect();
        for more in &decision.more {
            let like = |f: &&RuleFinding| f.rule == more.rule && f.refused == more.refused;
            if let Some(finding) = decision.findings.iter().rfind(like) {
                let counted = RuleFinding { field: String::new(), message: more.to_string(), ..finding.clone() };
                all.push(Self::of_finding(about, &counted));
            }
        }
        all
    }

    fn of_finding(about: About<'a, '_>, finding: &RuleFinding) -> Self {
        let (severity, effect) = match finding.mode {
            _ if finding.refused => (Severity::Error, Effect::Denied),
            _ if !finding.mend.is_empty() => (Severity::Warning, Effect::Mended),
            Mode::Enforce | Mode::Warn => (Severity::Warning, Effect::Warned),
            Mode::Audit | Mode::Off => (Severity::Info, Effect::Noted),
        };
        Self {
            file: about.file,
            line: about.line_of(&finding.field),
            object: about.key.clone(),
            severity,
            effect,
            code: Code::Rule(finding.rule),
            policy: finding.policy.clone(),
            field: finding.field.clone(),
            message: finding.message.clone(),
        }
    }

    /// What the reader of objects, or the check of policies, says.
    pub(super) fn of_problem(about: About<'a, '_>, problem: &Finding) -> Self {
        let (line, message) = placed(about.file, &problem.message);
        let pointer = problem.pointer.as_deref().unwrap_or_default();
        let effect = if problem.severity == Severity::Error { Effect::Invalid } else { Effect::Warned };
        // A policy says the field in its message.
        let field = if problem.object.kind == KIND { String::new() } else { crate::admission::policy::field(pointer) };
        Self {
            file: about.file,
            line: line.unwrap_or_else(|| about.line_of(pointer)),
            object: about.key.clone(),
            severity: problem.severity,
            effect,
            code: Code::Reason(problem.code),
            policy: None,
            field,
            message: message.to_owned(),
        }
    }

    /// Something that makes the object as a whole useless.
    pub(super) fn invalid(about: About<'a, '_>, message: String) -> Self {
        Self {
            file: about.file,
            line: about.document.line,
            object: about.key.clone(),
            severity: Severity::Error,
            effect: Effect::Invalid,
            code: Code::Reason(Reason::InvalidObject),
            policy: None,
            field: String::new(),
            message,
        }
    }

    /// Where files are only checked, nothing is mended.
    pub(super) fn not_mended(&mut self) {
        if let Some(said) = self.message.strip_suffix("; mended").filter(|_| self.effect == Effect::Mended) {
            self.message = format!("{said}; would be mended");
        }
    }

    pub(super) fn is_of_policy(&self) -> bool {
        self.object.kind == KIND
    }

    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// Field and message in a sentence.
    pub(super) fn said(&self) -> String {
        if self.field.is_empty() { self.message.clone() } else { format!("{}: {}", self.field, self.message) }
    }

    /// Says it on standard error.
    pub(super) fn complain(&self) {
        let policy = self.policy.as_ref().map(|name| format!(", {KIND} {name}")).unwrap_or_default();
        let text = format!("{}: {}: {} ({}{policy})", self.place(), self.object, self.said(), self.code.as_str());
        if self.severity == Severity::Error {
            output::error(&anyhow::Error::msg(text));
        } else {
            output::warning(&text);
        }
    }
}

/// The line at the begin of a message of the reader, and the rest of it.
fn placed<'m>(file: &str, message: &'m str) -> (Option<usize>, &'m str) {
    let split = || {
        let (line, rest) = message.strip_prefix(file)?.strip_prefix(':')?.split_once(':')?;
        let (column, rest) = rest.split_once(": ")?;
        column.parse::<usize>().ok()?;
        Some((line.parse().ok()?, rest))
    };
    split().map_or((None, message), |(line, rest)| (Some(line), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_from_messages() {
        for (message, want) in [
            ("a:b.yaml:3:14: no list", (Some(3), "no list")),
            ("a:b.yaml:3: no column", (None, "a:b.yaml:3: no column")),
            ("other.yaml:3:14: x", (None, "other.yaml:3:14: x")),
            ("plain", (None, "plain")),
        ] {
            assert_eq!(placed("a:b.yaml", message), want);
        }
    }
}
