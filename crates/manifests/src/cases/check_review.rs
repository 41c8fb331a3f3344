//! `review`: the decision of the webhook about an object.

use roster_admission::{
    Mode, RuleFinding,
    offline_review::{OfflineReview, Reviewer},
};
use roster_engine::{model::json::raw::object_key, reason::Finding};
use roster_validation as validation;
use serde_json::value::RawValue;

use super::{
    test_answer::Explained,
    test_file::{NameList, ReviewExpectation},
    test_input::TestInput,
    test_result::{Difference, Differences},
};
use crate::inventory::Answers;

pub(super) fn check(wanted: &ReviewExpectation, input: &TestInput<'_>) -> Differences {
    let object: &RawValue = match (&wanted.object, &wanted.manifest) {
        (Some(object), None) => input.object(object)?,
        (None, Some(manifest)) => manifest,
        _ => return Err("has not exactly one of object and manifest".to_owned()),
    };
    let groups = wanted.groups.as_ref().map(NameList::sorted).unwrap_or_default();
    let cluster = Answers(input.snapshot);
    let reviewer = Reviewer {
        policies: input.policies,
        cluster: &cluster,
        namespaces: input.namespaces(),
        user: &wanted.user,
        groups: &groups,
        namespace: input.namespace,
    };
    let stored = input.stored(object);
    let answer = reviewer.object(object, stored).map_err(|e| e.to_string())?;
    if !answer.reviewed {
        return Err("the webhook has no rules for objects of this kind".to_owned());
    }
    let codes = |is: &dyn Fn(&RuleFinding) -> bool| {
        let mut codes: Vec<String> =
            answer.decision.findings.iter().filter(|f| is(f)).map(|f| f.rule.code().to_owned()).collect();
        codes.sort();
        codes.dedup();
        codes
    };
    let changes = |f: &RuleFinding| !f.refused && !f.patch.is_empty();
    let warns = |f: &RuleFinding| !f.refused && f.patch.is_empty() && matches!(f.mode, Mode::Enforce | Mode::Warn);
    let list = |field, expected: &Option<NameList>, found: Vec<String>| {
        expected.as_ref().and_then(|expected| Difference::of_lists(field, expected.sorted(), &found))
    };
    // What the webhook allows, an API server may refuse all the same.
    let refused = if answer.allowed { refusals(object, stored, &answer) } else { Vec::new() };
    let allowed = answer.allowed && refused.is_empty();
    let differences = [
        wanted.allowed.and_then(|wanted| Difference::of_values("allowed", &wanted, &allowed)),
        list("denied", &wanted.denied, codes(&|f| f.refused)),
        list("warned", &wanted.warned, codes(&warns)),
        list("changed", &wanted.changed, codes(&changes)),
    ];
    let findings = answer.decision.findings.iter();
    let mut why: Vec<String> = findings.map(|f| format!("{}: {}: {}", f.rule.code(), f.field, f.message)).collect();
    why.extend(refused);
    why.extend(answer.decision.unchecked.iter().map(|(rule, why)| format!("{}: not checked: {why}", rule.code())));
    let why: Explained = why.into_iter().collect();
    Ok(differences.into_iter().flatten().map(|d| d.because(&why)).collect())
}

/// Why an API server would not store the object that the webhook allows.
fn refusals(object: &RawValue, stored: Option<&RawValue>, answer: &OfflineReview) -> Vec<String> {
    let line = |f: Finding| {
        let at = f.pointer.map(|at| format!("{at}: ")).unwrap_or_default();
        format!("an API server refuses the object: {}: {at}{}", f.code, f.message)
    };
    let refused = validation::refusals_of_write(object, answer.object.as_ref(), stored, &object_key(object));
    refused.into_iter().map(line).collect()
}
