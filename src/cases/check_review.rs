//! `review`: the decision of the webhook about an object.

use serde_json::value::RawValue;

use super::{
    test_file::ReviewExpectation,
    test_input::TestInput,
    test_result::{Difference, Differences},
};
use crate::admission::{Mode, RuleFinding, offline_review::Reviewer};

pub(super) fn check(wanted: &ReviewExpectation, input: &TestInput<'_>) -> Differences {
    let object: &RawValue = match (&wanted.object, &wanted.manifest) {
        (Some(object), None) => input.object(object)?,
        (None, Some(manifest)) => manifest,
        _ => return Err("has not exactly one of object and manifest".to_owned()),
    };
    let reviewer = Reviewer {
        policies: input.policies,
        cluster: input.snapshot,
        namespaces: input.namespaces(),
        user: &wanted.user,
        groups: &wanted.groups,
        namespace: input.namespace,
    };
    let answer = reviewer.object(object, input.stored(object)).map_err(|e| e.to_string())?;
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
    let list = |field, expected: &Option<super::test_file::NameList>, found| {
        expected.as_ref().and_then(|expected| Difference::of_lists(field, expected.sorted(), found))
    };
    let differences = [
        wanted.allowed.and_then(|wanted| Difference::of_values("allowed", &wanted, &answer.allowed)),
        list("denied", &wanted.denied, codes(&|f| f.refused)),
        list("warned", &wanted.warned, codes(&warns)),
        list("changed", &wanted.changed, codes(&changes)),
    ];
    let findings = answer.decision.findings.iter();
    let mut why: Vec<String> = findings.map(|f| format!("{}: {}: {}", f.rule.code(), f.field, f.message)).collect();
    why.extend(answer.decision.unchecked.iter().map(|(rule, why)| format!("{}: not checked: {why}", rule.code())));
    Ok(differences.into_iter().flatten().map(|d| d.because(why.clone())).collect())
}
