//! One object of the input, with the answer and the findings.

use roster_admission::{
    Decision, KINDS, POD_RULES, Rule,
    offline_review::{MAX_TEXT, OfflineReview, ReviewError, Reviewer},
};
use roster_engine::{
    model::{ObjectKey, json::raw::has_uid, spelling::typo},
    reason::{Finding, Reason, Severity},
};
use roster_manifests::{decode::Document, inventory::is_given_by_kustomize};
use roster_validation as validation;
use roster_validation::Validation;
use serde_json::value::RawValue;

use crate::{
    file_finding::{FileFinding, FileObject, FindingCode, FindingEffect},
    finding_room::FindingRoom,
    review::Purpose,
    rule::{LintRule, RuleFault},
};

/// An object of the input.
#[expect(clippy::struct_excessive_bools, reason = "what is known of its file does not depend on what is known of it")]
pub struct ReviewedObject<'a> {
    /// The file.
    pub file: &'a str,
    /// The object as it is written.
    pub document: Document<'a>,
    /// Its kind, namespace and name.
    pub key: ObjectKey,
    /// The answer; `None` if no rule reviews the kind.
    pub answer: Option<OfflineReview>,
    /// The findings of the rules, or why they could not be checked; and why an API server would not store the object.
    pub rule_findings: Vec<FileFinding<'a>>,
    /// The findings of the decoder and of the validation of policies.
    pub input_findings: Vec<FileFinding<'a>>,
    /// Whether the object could be decoded as its kind.
    pub readable: bool,
    /// The number of the unit that has it.
    pub unit: usize,
    /// Whether a kustomization changes it before it is applied.
    pub is_listed: bool,
    /// Whether tests may make what it refers to.
    pub is_test: bool,
    /// Whether its fields were compared with a schema.
    pub has_schema: bool,
    /// The worst of its findings that are not listed, because there are too many.
    pub unlisted: Option<Severity>,
}

impl<'a> ReviewedObject<'a> {
    /// The findings behind its answer: those of the rules, or why it cannot be read; and what of it does not hold any more.
    pub fn answer_findings(&self) -> impl Iterator<Item = &FileFinding<'a>> {
        let undecided = self.answer.as_ref().is_some_and(|answer| answer.why_undecided.is_some());
        let unreadable = self.input_findings.iter().filter(move |f| undecided && f.severity == Severity::Error);
        unreadable.chain(&self.rule_findings).chain(self.stale_findings())
    }

    /// The rules that could not be checked for its answer, and why.
    pub fn unchecked_rules<'o>(&'o self, answer: &'o OfflineReview) -> impl Iterator<Item = (Rule, &'static str)> + 'o {
        // The workloads say more of the pods than these rules could.
        let is_unfit = self.input_findings.iter().any(|f| f.effect == FindingEffect::Unfit);
        let unchecked = answer.decision.unchecked.iter().map(|(rule, why)| (*rule, *why));
        unchecked.filter(move |(rule, _)| !(is_unfit && POD_RULES.contains(rule)))
    }

    /// What of it does not hold any more.
    pub fn stale_findings(&self) -> impl Iterator<Item = &FileFinding<'a>> {
        self.input_findings.iter().filter(|f| f.effect == FindingEffect::Stale)
    }

    /// Why it is refused whatever the rules find.
    pub fn invalid_findings(&self) -> impl Iterator<Item = &FileFinding<'a>> {
        self.rule_findings.iter().filter(|f| f.effect == FindingEffect::Invalid)
    }

    /// Adds the findings about what of it does not hold any more.
    pub(crate) fn add_stale_findings<'f>(&mut self, findings: impl Iterator<Item = &'f Finding>) {
        let at = FileObject::of(self.file, &self.document, &self.key);
        self.input_findings.extend(FileFinding::of_stored(at, findings));
    }

    /// Drops the findings about what a kustomization may give it.
    pub(crate) fn drop_findings_before_kustomize(&mut self) {
        let is_given = |code| matches!(code, FindingCode::Reason(code) if is_given_by_kustomize(code));
        self.input_findings.retain(|f| !is_given(f.code));
    }

    /// Drops the findings for which there is no room, beside those that it had before.
    pub(crate) fn keep_within(&mut self, room: &mut FindingRoom, (input, rules): (usize, usize)) {
        let dropped =
            [room.keep(&mut self.input_findings, input), room.keep(&mut self.rule_findings, rules)].into_iter().max();
        self.unlisted = self.unlisted.max(dropped.flatten());
    }

    /// How many findings it has.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.input_findings.len(), self.rule_findings.len())
    }

    /// Adds the findings about this object and those that it goes with.
    pub fn add_workload_findings<'f>(&mut self, findings: impl Iterator<Item = &'f Finding>) {
        let at = FileObject::of(self.file, &self.document, &self.key);
        self.input_findings.extend(FileFinding::of_workloads(at, findings));
    }

    /// Adds what the rules of the linter found in it.
    pub(crate) fn add_lint_findings(&mut self, found: &[(&'static LintRule, RuleFault)]) {
        let at = FileObject::of(self.file, &self.document, &self.key);
        self.input_findings.extend(FileFinding::of_lint_rules(at, found));
    }

    /// What is not decided is not allowed.
    pub(crate) fn refuse_unreadable(&mut self) {
        let why = self.input_findings.iter().find(|f| f.severity == Severity::Error).map(FileFinding::text);
        let why = why.or_else(|| self.unlisted.map(|_| "it has an error that is not listed".to_owned()));
        if let Some(why) = why.filter(|_| self.has_rules()) {
            self.answer = Some(OfflineReview::undecided(&why));
        }
    }

    /// Why it is not reviewed, if it is almost of a kind that is: in another version or none, or misspelt.
    fn unknown_kind(&self) -> Vec<Finding> {
        let is_almost = |kind: &str| typo(&self.key.kind, kind).is_some();
        if self.is_recorded() || !KINDS.iter().any(|kind| is_almost(kind.resource.kind())) {
            return Vec::new();
        }
        let Validation { mut findings, .. } = validation::check(&self.document.raw, &self.key);
        let is_of_version = |f: &Finding| f.pointer.as_deref() == Some("/apiVersion");
        findings.retain(|f| (f.code == Reason::UnknownKind || is_of_version(f)) && f.severity == Severity::Error);
        findings
    }

    /// The API group of its kind; empty for the core group.
    pub fn api_group(&self) -> &str {
        &self.document.identity().group
    }

    /// Whether it comes from a cluster: it has a uid.
    pub fn is_recorded(&self) -> bool {
        has_uid(self.document.raw.get())
    }

    /// Whether another object begins within it, without `---` between them.
    pub(crate) fn is_mixture(&self) -> bool {
        self.input_findings.iter().any(|f| f.code == FindingCode::Reason(Reason::MissingSeparator))
    }

    /// Adds why it is not reviewed. The linter finds it, too.
    fn add_unknown_kind(&mut self, purpose: Purpose) {
        let found = if purpose == Purpose::Manifests { Vec::new() } else { self.unknown_kind() };
        let at = FileObject::of(self.file, &self.document, &self.key);
        self.input_findings.extend(FileFinding::of_input(at, &found));
    }

    /// Whether a rule reviews its kind, as far as the name of that tells.
    fn has_rules(&self) -> bool {
        KINDS.iter().any(|kind| kind.resource.kind() == self.key.kind)
    }

    /// Whether no rule reviews its kind, and a request could name it: the answer is known without a look at it.
    fn is_of_no_rule(&self) -> bool {
        let identity = self.document.identity();
        identity.is_sound
            && !self.document.may_repeat_keys()
            && !self.has_rules()
            && self.key.kind != "AdmissionReview"
            && self.document.raw.get().len() <= MAX_TEXT
    }

    /// Asks the rules. Of manifests, an object from a cluster is stored there as it is.
    pub(crate) fn review(&mut self, reviewer: &Reviewer<'_>, old: Option<&RawValue>, purpose: Purpose) {
        if old.is_none() && self.is_of_no_rule() {
            return self.add_unknown_kind(purpose);
        }
        let manifests = purpose == Purpose::Manifests;
        let updated = old;
        let old = old.or_else(|| (manifests && self.is_recorded()).then_some(&*self.document.raw));
        let recorded = self.key.kind == "AdmissionReview";
        let answered: Result<OfflineReview, ReviewError> = if recorded {
            reviewer.recorded(&self.document.raw).map(|(key, answer)| {
                self.key = key;
                answer
            })
        } else {
            reviewer.object(&self.document.raw, old)
        };
        let root = if recorded { "request.object" } else { "" };
        let at = FileObject { root, ..FileObject::of(self.file, &self.document, &self.key) };
        let mut answer = match answered {
            Ok(answer) if answer.reviewed || recorded => answer,
            Ok(_) => return self.add_unknown_kind(purpose),
            Err(error) => {
                let why = error.to_string();
                self.answer = Some(OfflineReview::undecided(&why));
                self.input_findings.push(FileFinding::invalid(at, why));
                return;
            }
        };
        self.rule_findings = FileFinding::of_decision(at, &answer.decision);
        // The decoder could read the object, but a rule could not.
        let undecided = answer.why_undecided.clone();
        self.rule_findings.extend(undecided.map(|why| FileFinding::invalid(at, why)));
        // Of manifests, the linter finds the same with more care for what else is known of them.
        if !manifests && !recorded {
            let mut refused =
                validation::refusals_of_write(&self.document.raw, answer.object.as_ref(), updated, &self.key);
            refused.retain(|f| !(self.is_listed && is_given_by_kustomize(f.code)));
            self.rule_findings.extend(FileFinding::of_input(at, &refused));
            answer = answer.refused_for(refused);
        }
        if manifests {
            // Only what is found is reported: half a million changed objects would take gigabytes.
            answer = OfflineReview {
                operation: None,
                decision: Decision::default(),
                why_undecided: None,
                object: None,
                answers: None,
                ..answer
            };
        }
        self.answer = Some(answer);
    }
}
