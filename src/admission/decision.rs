//! What comes of the findings: the one place that knows what a mode means.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::{
    PatchOp, Stage,
    findings::{All, Findings, More, RuleFinding},
    rule::{Mode, Rule},
};
use crate::admission::policy::version::KIND;

/// Most characters of a warning; API servers cut what is longer.
const MAX_WARNING: usize = 120;
/// Most warnings: together they stay below the 4096 characters that an API server passes on.
const MAX_WARNINGS: usize = 32;
/// With fewer characters, a field says nothing.
const MIN_FIELD: usize = 12;
/// Key of the audit annotation that says why nobody looked at the object.
const UNSEEN: &str = "unseen";
/// Most characters of an audit annotation.
const MAX_TEXT: usize = 1024;
/// Most characters of a refusal: for each rule of a kind there is room for its code, for the longest name of a policy,
/// and for the begin of what it says.
const MAX_REFUSAL: usize = 4096;
/// Of it, for the number of what is left out.
const MAX_LEFT_OUT: usize = 32;
/// Of it, for the kind and the name of a policy.
const MAX_POLICY: usize = ", EndpointPolicy ".len() + 253;

/// How an object is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Refusal {
    /// 403: it may be right, and is not allowed here.
    Forbidden,
    /// 422: it says something that cannot be meant.
    Invalid,
}

impl Refusal {
    /// The HTTP status.
    pub fn code(self) -> u16 {
        match self {
            Self::Forbidden => 403,
            Self::Invalid => 422,
        }
    }

    /// The reason, as in `metav1.Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Forbidden => "Forbidden",
            Self::Invalid => "Invalid",
        }
    }
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// HTTP status.
    pub code: u16,
    /// Reason, as in `metav1.Status`.
    pub reason: &'static str,
    /// All that is wrong, with codes.
    pub message: String,
}

/// What the webhook says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Why the object is refused; `None` if it is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<Denial>,
    /// How it is changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patch: Vec<PatchOp>,
    /// What its writer is told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What is written into the audit log.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub audit: BTreeMap<String, String>,
    /// What was found, for the metrics and for `review`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<RuleFinding>,
    /// What was found besides, and is only counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<More>,
    /// Rules that could not be looked at, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unchecked: BTreeMap<Rule, &'static str>,
}

impl Decision {
    /// Whether the object is allowed.
    pub fn allowed(&self) -> bool {
        self.denied.is_none()
    }

    /// Allowed unseen, and why.
    pub fn unseen(why: &str) -> Self {
        Self {
            warnings: vec![short(&format!("roster: {why}"), MAX_WARNING)],
            audit: BTreeMap::from([(UNSEEN.to_owned(), short(why, MAX_TEXT))]),
            ..Self::default()
        }
    }

    /// Whether the object is refused for something that the cluster may have in a moment.
    pub fn may_be_early(&self) -> bool {
        self.findings.iter().any(|f| f.refused && f.rule.may_be_early())
    }

    /// Why nobody looked at the object; `None` if somebody did.
    pub fn why_unseen(&self) -> Option<&str> {
        self.audit.get(UNSEEN).map(String::as_str)
    }

    /// Refused unseen, and why: for validation that fails closed.
    pub fn refused_unseen(code: u16, reason: &'static str, why: &str) -> Self {
        let message = short(&format!("roster: {why}"), MAX_TEXT);
        Self { denied: Some(Denial { code, reason, message }), ..Self::unseen(why) }
    }

    /// What `stage` makes of the findings.
    ///
    /// The mutating stage mends what is enforced and can be mended, and says so. The validating stage refuses
    /// what is enforced, and tells the rest. A rule that mends never refuses: where its patch was not made (the
    /// mutating webhook was not reached), the writer is warned.
    pub(super) fn of(findings: Findings<'_>, stage: Stage) -> Self {
        let All { list, more, unchecked } = findings.finish();
        let mut decision = Self::default();
        match stage {
            Stage::Mutate => decision.mend(list),
            Stage::Validate => {
                decision.judge(list, more);
                for (rule, why) in &unchecked {
                    decision.note(*rule, &format!("not checked: {why}"));
                }
                decision.unchecked = unchecked;
            }
        }
        decision.warnings.truncate(MAX_WARNINGS);
        decision
    }

    fn mend(&mut self, list: Vec<RuleFinding>) {
        for mut finding in list.into_iter().filter(|f| !f.mend.is_empty()) {
            finding.message.push_str("; mended");
            for op in &finding.mend {
                // Two rules may each have to make the map that their field is in: it is made once.
                let makes = matches!(op, PatchOp::Add { value: Value::Object(map), .. } if map.is_empty());
                if !(makes && self.patch.contains(op)) {
                    self.patch.push(op.clone());
                }
            }
            self.tell(&finding);
            self.findings.push(finding);
        }
    }

    fn judge(&mut self, list: Vec<RuleFinding>, more: Vec<More>) {
        for finding in &list {
            self.tell(finding);
        }
        for some in &more {
            let text = some.to_string();
            self.note(some.rule, &text);
            if !some.refused && list.iter().any(|f| f.rule == some.rule && f.mode >= Mode::Warn) {
                self.warn(short(&text, MAX_WARNING));
            }
        }
        // What is not allowed outweighs what is wrong.
        let refusals = list.iter().filter(|f| f.refused).map(|f| f.rule.refusal());
        self.denied = refusals.min().map(|refusal| Denial {
            code: refusal.code(),
            reason: refusal.reason(),
            message: refusal_text(&list, &more),
        });
        self.findings = list;
        self.more = more;
    }

    /// A warning and an audit annotation, as the mode has it.
    fn tell(&mut self, finding: &RuleFinding) {
        if finding.mode >= Mode::Warn && !finding.refused {
            self.warn(warning(finding));
        }
        self.note(finding.rule, &said(finding));
    }

    fn warn(&mut self, text: String) {
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    fn note(&mut self, rule: Rule, text: &str) {
        let note = self.audit.entry(rule.code().to_owned()).or_default();
        let text = if note.is_empty() { text.to_owned() } else { format!("{note}; {text}") };
        *note = short(&text, MAX_TEXT);
    }

    /// What was said of the object and of its mended form, as one: first this, then `after`.
    pub(super) fn and(mut self, after: Self) -> Self {
        for warning in after.warnings {
            self.warn(warning);
        }
        self.warnings.truncate(MAX_WARNINGS);
        for (key, text) in after.audit {
            let note = self.audit.entry(key).or_default();
            if note.is_empty() {
                *note = text;
            } else if *note != text {
                *note = short(&format!("{note}; {text}"), MAX_TEXT);
            }
        }
        self.findings.extend(after.findings);
        self.more.extend(after.more);
        self.unchecked.extend(after.unchecked);
        self.denied = after.denied;
        self
    }
}

/// Every finding that refuses, with its code; the first of each rule with the policy behind it as well. Where that is
/// too long, what is left of each rule is its first one, cut before its code.
fn refusal_text(list: &[RuleFinding], more: &[More]) -> String {
    struct Part {
        said: String,
        code: String,
        is_first: bool,
    }
    let mut seen = BTreeSet::new();
    let part = |f: &RuleFinding| {
        let is_first = seen.insert(f.rule);
        let policy = f.policy.as_ref().filter(|_| is_first).map(|name| format!(", {KIND} {name}"));
        let code = format!(" ({}{})", f.rule, short(&policy.unwrap_or_default(), MAX_POLICY));
        Part { said: said(f), code, is_first }
    };
    let parts: Vec<Part> = list.iter().filter(|f| f.refused).map(part).collect();
    let counted = || more.iter().filter(|some| some.refused);
    let whole = parts.iter().map(|p| format!("{}{}", p.said, p.code)).chain(counted().map(ToString::to_string));
    let whole = whole.collect::<Vec<_>>().join("; ");
    if whole.chars().count() <= MAX_REFUSAL {
        return short(&whole, MAX_REFUSAL);
    }
    let room = (MAX_REFUSAL - MAX_LEFT_OUT) / seen.len().max(1) - "; ".len();
    let cut = |p: &Part| short(&p.said, room.saturating_sub(p.code.chars().count())) + &p.code;
    let mut texts: Vec<String> = parts.iter().filter(|p| p.is_first).map(cut).collect();
    let left_out = parts.len() - texts.len() + counted().map(|some| some.count).sum::<usize>();
    if left_out > 0 {
        texts.push(format!("and {left_out} more"));
    }
    texts.join("; ")
}

/// A finding as a warning. Where it is too long, its field is cut first: the message and the code tell more.
fn warning(finding: &RuleFinding) -> String {
    let code = format!(" ({})", finding.rule);
    let room = MAX_WARNING - code.len();
    let left = room.saturating_sub(finding.message.chars().count() + ": ".len());
    let text = if finding.field.chars().count() > left && left >= MIN_FIELD {
        format!("{}: {}", short(&finding.field, left), finding.message)
    } else {
        said(finding)
    };
    short(&text, room) + &code
}

/// A finding in a sentence.
fn said(finding: &RuleFinding) -> String {
    if finding.field.is_empty() {
        return finding.message.clone();
    }
    format!("{}: {}", finding.field, finding.message)
}

/// A text without control characters, which API servers drop silently, and of at most `max` characters.
fn short(text: &str, max: usize) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut out: String = clean.clone().take(max).collect();
    if clean.count() > max {
        out.pop();
        out.push('…');
    }
    out
}
