//! The policies of a Job: when it has failed, when it has succeeded, and when a pod is replaced.

use std::collections::{BTreeSet, HashSet};

use roster_engine::model::HashSeed;

use super::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, NOT_NEGATIVE, Presence},
};

const MOST_RULES: usize = 20;
const MOST_EXIT_CODES: usize = 255;
const MOST_INDEX_CHARACTERS: usize = 64 * 1024;

const ACTIONS: FieldRule = FieldRule::OneOf(&["Count", "FailIndex", "FailJob", "Ignore"]);

/// Checks the policies of a Job with this spec and this number of completions.
pub(super) fn check(spec: &Field<'_, '_>, completions: Option<i64>, faults: &mut Faults<'_>) {
    let failure = spec.key("podFailurePolicy");
    let replacements: &[&str] = if failure.is_set() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    FieldRule::OneOf(replacements).check(&spec.key("podReplacementPolicy"), Presence::Nullable, faults);
    if failure.is_set() {
        check_failure(&failure, spec, faults);
    }
    let success = spec.key("successPolicy");
    if success.is_set() && is_indexed(spec) {
        check_success(&success, completions.unwrap_or(0), faults);
    }
}

/// Whether each pod of a Job has an index.
pub(super) fn is_indexed(spec: &Field<'_, '_>) -> bool {
    spec.key("completionMode").text() == "Indexed"
}

fn check_failure(policy: &Field<'_, '_>, spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let template = spec.key("template");
    let pod = template.key("spec");
    let restart = pod.key("restartPolicy");
    if restart.text() == "OnFailure" {
        restart.refuse("with podFailurePolicy, it is Never", faults);
    }
    let containers = ["containers", "initContainers"].map(|list| pod.key(list));
    let names: BTreeSet<&str> = containers.iter().flat_map(Field::items).map(|c| c.key("name").text()).collect();
    let rules = policy.key("rules");
    rules.check_len(MOST_RULES, "rules", faults);
    for rule in rules.items() {
        let action = rule.key("action");
        ACTIONS.check(&action, Presence::Required, faults);
        if action.text() == "FailIndex" && !spec.key("backoffLimitPerIndex").is_set() {
            action.refuse("FailIndex needs backoffLimitPerIndex", faults);
        }
        let (codes, conditions) = (rule.key("onExitCodes"), rule.key("onPodConditions"));
        match (codes.is_set(), !conditions.is_empty()) {
            (true, true) => rule.refuse("it has both onExitCodes and onPodConditions", faults),
            (false, false) => rule.require("it needs onExitCodes or onPodConditions", faults),
            _ => {}
        }
        if codes.is_set() {
            check_exit_codes(&codes, &names, faults);
        }
        check_conditions(&conditions, faults);
    }
}

fn check_exit_codes(codes: &Field<'_, '_>, containers: &BTreeSet<&str>, faults: &mut Faults<'_>) {
    let operator = codes.key("operator");
    FieldRule::OneOf(&["In", "NotIn"]).check(&operator, Presence::Required, faults);
    let name = codes.key("containerName");
    if name.as_text().is_some_and(|name| !containers.contains(name)) {
        name.refuse(format!("the pod has no container {}", quoted(name.text())), faults);
    }
    let values = codes.key("values");
    if values.is_empty() {
        values.require("it needs an exit code", faults);
    }
    values.check_len(MOST_EXIT_CODES, "exit codes", faults);
    let mut last = None;
    let mut seen: HashSet<i64, HashSeed> = HashSet::default();
    for value in values.items() {
        let Some(code) = value.number() else { continue };
        if code == 0 && operator.text() == "In" {
            value.refuse("0 is not a failure", faults);
        }
        if !seen.insert(code) {
            value.refuse(format!("{code} is repeated"), faults);
        } else if last.is_some_and(|last| last > code) {
            values.refuse("the exit codes are not in ascending order", faults);
        }
        last = Some(code);
    }
}

/// An API server fills in True for a missing status.
fn check_conditions(conditions: &Field<'_, '_>, faults: &mut Faults<'_>) {
    conditions.check_len(MOST_RULES, "conditions", faults);
    for condition in conditions.items() {
        FieldRule::QualifiedName.check(&condition.key("type"), Presence::Required, faults);
        let status = condition.key("status");
        FieldRule::OneOf(&["True", "False", "Unknown"]).check(&status, Presence::Optional, faults);
    }
}

fn check_success(policy: &Field<'_, '_>, completions: i64, faults: &mut Faults<'_>) {
    let rules = policy.key("rules");
    if rules.is_empty() {
        rules.require("a success policy needs a rule", faults);
    }
    rules.check_len(MOST_RULES, "rules", faults);
    for rule in rules.items() {
        let (count, indexes) = (rule.key("succeededCount"), rule.key("succeededIndexes"));
        if !count.is_set() && !indexes.is_set() {
            rule.require("it needs succeededCount or succeededIndexes", faults);
        }
        NOT_NEGATIVE.check(&count, Presence::Optional, faults);
        let named = indexes.as_text().map(|text| number_of_indexes(text, completions));
        if let Some(Err(why)) = &named {
            indexes.refuse(format!("{} is not a list of indexes such as 1,3-5: {why}", quoted(indexes.text())), faults);
        }
        if indexes.text().len() > MOST_INDEX_CHARACTERS {
            indexes.refuse(format!("it has more than {MOST_INDEX_CHARACTERS} characters"), faults);
        }
        let most = named.and_then(Result::ok).unwrap_or(completions).min(completions);
        if let Some(number) = count.number().filter(|n| *n > most) {
            count.refuse(format!("{number} is more than the {most} indexes"), faults);
        }
    }
}

/// How many indexes a list such as `1,3-5` has.
fn number_of_indexes(list: &str, completions: i64) -> Result<i64, &'static str> {
    let (mut last, mut count) = (None, 0);
    for interval in list.split(',').filter(|_| !list.is_empty()) {
        let (first, last_of) = interval.split_once('-').unwrap_or((interval, interval));
        let (Ok(start), Ok(end)) = (first.parse::<i64>(), last_of.parse::<i64>()) else {
            return Err("it has something else than numbers");
        };
        if end.max(start) >= completions {
            return Err("an index is not less than the completions");
        }
        if last.is_some_and(|last| start <= last) || (interval.contains('-') && end <= start) {
            return Err("the indexes are not in ascending order");
        }
        count += end - start + 1;
        last = Some(end);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_indexes_are_read() {
        for (list, want) in [
            ("", Some(0)),
            ("0", Some(1)),
            ("0,2-4", Some(4)),
            ("5", None),
            ("1-1", None),
            ("2,1", None),
            ("1-3,3", None),
            ("a", None),
            ("1-2-3", None),
            ("1,", None),
        ] {
            assert_eq!(number_of_indexes(list, 5).ok(), want, "{list}");
        }
    }
}
