//! The decision about one object: what each mode makes of the findings.

use std::collections::BTreeMap;

use roster_engine::model::installed::POLICY_KIND;
use serde::Serialize;
use serde_json::Value;

use super::{
    findings::{FindingCount, FindingList, RuleFinding, RuleFindings},
    request::Stage,
    rule::{Mode, Rule},
};
use crate::patch::PatchOp;

/// Most characters of a warning; API servers truncate longer ones.
const MAX_WARNING: usize = 120;
/// Most warnings. All together stay below the 4096 characters that an API server forwards.
const MAX_WARNINGS: usize = 32;
/// A field path that is truncated to fewer characters is not useful.
const MIN_FIELD: usize = 12;
/// Key of the audit annotation that says why the object was not reviewed.
const UNREVIEWED: &str = "unreviewed";
/// Most characters of an audit annotation.
const MAX_TEXT: usize = 1024;
/// Most characters of a refusal. For each rule of a kind there is room for its code, the longest name of a policy, and
/// the beginning of its message.
const MAX_REFUSAL: usize = 4096;
/// Room in a refusal for the number of findings that it leaves out.
const MAX_LEFT_OUT: usize = 32;
/// Room in a refusal for the kind and the name of a policy.
const MAX_POLICY: usize = ", EndpointPolicy ".len() + 253;

/// The refusal of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// HTTP status.
    pub code: u16,
    /// Reason, as in `metav1.Status`.
    pub reason: &'static str,
    /// The findings that refuse the object, with the codes of their rules.
    pub message: String,
}

/// The decision of a webhook about one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The refusal; `None` if the object is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<Denial>,
    /// The operations that change the object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patch: Vec<PatchOp>,
    /// Warnings for the client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Annotations for the audit log.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub audit: BTreeMap<String, String>,
    /// The findings behind the decision, for metrics and `roster review`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<RuleFinding>,
    /// Further findings, which are only counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<FindingCount>,
    /// Rules that could not be checked, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unchecked: BTreeMap<Rule, &'static str>,
    /// The strictest mode of the rules that would have taken too much work, and were not checked to the end.
    #[serde(skip)]
    pub over_budget: Option<Mode>,
}

impl Decision {
    /// Whether the object is allowed.
    pub fn allowed(&self) -> bool {
        self.denied.is_none()
    }

    /// Allows an object without a review, and says why.
    pub fn unreviewed(why: &str) -> Self {
        Self {
            warnings: vec![short(&format!("roster: {why}"), MAX_WARNING)],
            audit: BTreeMap::from([(UNREVIEWED.to_owned(), short(why, MAX_TEXT))]),
            ..Self::default()
        }
    }

    /// Whether the object is refused for the lack of another one, which may be created a moment later.
    pub fn may_be_early(&self) -> bool {
        self.findings.iter().any(|f| f.refused && f.rule.may_be_early())
    }

    /// Whether an enforced rule was not checked to the end, so that nobody can say whether the object is allowed.
    pub fn is_over_budget(&self) -> bool {
        self.allowed() && self.over_budget == Some(Mode::Enforce)
    }

    /// Refuses an object without a review, and says why: for validation that fails closed.
    pub fn refused_unreviewed(code: u16, reason: &'static str, why: &str) -> Self {
        let message = short(&format!("roster: {why}"), MAX_TEXT);
        Self { denied: Some(Denial { code, reason, message }), ..Self::unreviewed(why) }
    }

    /// The decision of a webhook, from the findings.
    ///
    /// The mutating webhook applies the patches of enforced rules, and warns. The validating webhook refuses the object
    /// for enforced rules, and warns about the others. A rule that changes objects never refuses one: without its patch,
    /// because the mutating webhook was not reached, the client gets a warning.
    pub(super) fn of(findings: RuleFindings<'_>, stage: Stage) -> Self {
        let FindingList { listed, more, unchecked, over_budget } = findings.finish();
        let mut decision = Self { over_budget, ..Self::default() };
        match stage {
            Stage::Mutate => decision.change(listed),
            Stage::Validate => {
                decision.validate(listed, more);
                for (rule, why) in &unchecked {
                    decision.annotate(*rule, &format!("not checked: {why}"));
                }
                decision.unchecked = unchecked;
            }
        }
        decision.warnings.truncate(MAX_WARNINGS);
        decision
    }

    fn change(&mut self, listed: Vec<RuleFinding>) {
        for finding in listed.into_iter().filter(|f| !f.patch.is_empty()) {
            for op in &finding.patch {
                // Two rules may both have to create the map around their fields: it is created once.
                let creates = matches!(op, PatchOp::Add { value: Value::Object(map), .. } if map.is_empty());
                if !(creates && self.patch.contains(op)) {
                    self.patch.push(op.clone());
                }
            }
            self.report(&finding);
            self.findings.push(finding);
        }
    }

    fn validate(&mut self, listed: Vec<RuleFinding>, more: Vec<FindingCount>) {
        for finding in &listed {
            self.report(finding);
        }
        for count in &more {
            let text = count.to_string();
            self.annotate(count.rule, &text);
            if !count.refused && listed.iter().any(|f| f.rule == count.rule && f.mode >= Mode::Warn) {
                self.warn(short(&text, MAX_WARNING));
            }
        }
        // Forbidden takes precedence over invalid.
        let refusals = listed.iter().filter(|f| f.refused).map(|f| f.rule.refusal());
        self.denied = refusals.min().map(|refusal| Denial {
            code: refusal.code(),
            reason: refusal.reason(),
            message: refusal_text(&listed, &more),
        });
        self.findings = listed;
        self.more = more;
    }

    /// Adds the warning and the audit annotation that the mode of a finding asks for.
    fn report(&mut self, finding: &RuleFinding) {
        if finding.mode >= Mode::Warn && !finding.refused {
            self.warn(warning(finding));
        }
        self.annotate(finding.rule, &sentence(finding));
    }

    fn warn(&mut self, text: String) {
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    fn annotate(&mut self, rule: Rule, text: &str) {
        let note = self.audit.entry(rule.code().to_owned()).or_default();
        let text = if note.is_empty() { text.to_owned() } else { format!("{note}; {text}") };
        *note = short(&text, MAX_TEXT);
    }

    /// Joins the decisions about an object and about its changed form: first this one, then `after`.
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
        self.over_budget = self.over_budget.max(after.over_budget);
        self.denied = after.denied;
        self
    }
}

/// The findings that refuse an object, each with its code, and the first of each rule with its policy. If that is too
/// long, only the first of each rule is listed, truncated before its code.
fn refusal_text(listed: &[RuleFinding], more: &[FindingCount]) -> String {
    struct Part {
        sentence: String,
        code: String,
        is_first: bool,
    }
    let mut seen = [false; Rule::COUNT];
    let part = |f: &RuleFinding| {
        let is_first = !std::mem::replace(&mut seen[f.rule as usize], true);
        let policy = f.policy.as_ref().filter(|_| is_first).map(|name| format!(", {POLICY_KIND} {name}"));
        let code = format!(" ({}{})", f.rule, short(&policy.unwrap_or_default(), MAX_POLICY));
        Part { sentence: sentence(f), code, is_first }
    };
    let parts: Vec<Part> = listed.iter().filter(|f| f.refused).map(part).collect();
    let counted = || more.iter().filter(|count| count.refused);
    let whole = parts.iter().map(|p| format!("{}{}", p.sentence, p.code)).chain(counted().map(ToString::to_string));
    let whole = whole.collect::<Vec<_>>().join("; ");
    if whole.chars().count() <= MAX_REFUSAL {
        return short(&whole, MAX_REFUSAL);
    }
    let rules = seen.iter().filter(|seen| **seen).count();
    let room = (MAX_REFUSAL - MAX_LEFT_OUT) / rules.max(1) - "; ".len();
    let cut = |p: &Part| short(&p.sentence, room.saturating_sub(p.code.chars().count())) + &p.code;
    let mut texts: Vec<String> = parts.iter().filter(|p| p.is_first).map(cut).collect();
    let left_out = parts.len() - texts.len() + counted().map(|more| more.count).sum::<usize>();
    if left_out > 0 {
        texts.push(format!("and {left_out} more"));
    }
    texts.join("; ")
}

/// A finding as a warning. If it is too long, its field is truncated first: the message and the code matter more.
fn warning(finding: &RuleFinding) -> String {
    let code = format!(" ({})", finding.rule);
    let room = MAX_WARNING - code.len();
    let left = room.saturating_sub(finding.message.chars().count() + ": ".len());
    let text = if finding.field.chars().count() > left && left >= MIN_FIELD {
        format!("{}: {}", short(&finding.field, left), finding.message)
    } else {
        sentence(finding)
    };
    short(&text, room) + &code
}

/// A finding as a sentence.
fn sentence(finding: &RuleFinding) -> String {
    if finding.field.is_empty() {
        return finding.message.clone();
    }
    format!("{}: {}", finding.field, finding.message)
}

/// A text of at most `max` characters, without control characters: API servers drop warnings that contain them.
fn short(text: &str, max: usize) -> String {
    let mut text = if text.contains(char::is_control) { text.replace(char::is_control, " ") } else { text.to_owned() };
    // A text has at least as many bytes as characters. Few are so long that they have to be counted.
    if text.len() > max && text.chars().count() > max {
        let end = text.char_indices().nth(max.saturating_sub(1)).map_or(0, |(at, _)| at);
        text.truncate(end);
        text.push('…');
    }
    text
}
