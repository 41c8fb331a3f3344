//! `plan` and `upgrade`: what the controllers would write, and what another release would write differently.

use roster_engine::{
    compare::{changes, deviations},
    profile::Minor,
    state::Options,
};

use super::{
    test_answer::{Answer, Found, Question},
    test_file::{PlanExpectation, UpgradeExpectation},
    test_input::TestInput,
    test_result::{Difference, Differences},
};

pub(super) fn check_plan(wanted: &PlanExpectation, input: &TestInput<'_>) -> Differences {
    let answer =
        input.answer(Question::Plan(wanted.service.clone()), || find_changes(wanted.service.as_deref(), input))?;
    let difference = Difference::of_lists("changes", wanted.changes.sorted(), &answer.all.texts);
    Ok(difference.map(|d| d.because(&answer.all.why)).into_iter().collect())
}

fn find_changes(service: Option<&str>, input: &TestInput<'_>) -> Result<Answer, String> {
    let mut found = Found::default();
    let entries = input.entries(service)?;
    input.is_checked(&entries)?;
    for entry in entries {
        let state = input.state(entry);
        let plan = input.plan(entry, &input.options);
        for change in changes(&state, &plan, false).into_iter().filter(|c| c.action.is_change()) {
            let line = format!("{} {} {}", change.action.word(), change.kind, change.name);
            found.why.add(|| format!("{}/{}: {line}: {}", entry.namespace, entry.name, change.detail));
            found.texts.push(line);
        }
    }
    found.texts.sort();
    Ok(Answer { all: found, ..Answer::default() })
}

pub(super) fn check_upgrade(wanted: &UpgradeExpectation, input: &TestInput<'_>) -> Differences {
    if wanted.from == wanted.to {
        return Err(format!("from and to are the same release, {}", wanted.to));
    }
    let question = Question::Upgrade(wanted.from, wanted.to, wanted.service.clone());
    let answer = input.answer(question, || find_deviations(wanted, input))?;
    let difference = Difference::of_lists("changes", wanted.changes.sorted(), &answer.all.texts);
    Ok(difference.map(|d| d.because(&answer.all.why)).into_iter().collect())
}

fn find_deviations(wanted: &UpgradeExpectation, input: &TestInput<'_>) -> Result<Answer, String> {
    let options = |compat: Minor| Options { compat, ..input.options };
    let mut found = Found::default();
    let entries = input.entries(wanted.service.as_deref())?;
    input.is_checked(&entries)?;
    for entry in entries {
        let state = input.state(entry);
        let (before, after) = (input.plan(entry, &options(wanted.from)), input.plan(entry, &options(wanted.to)));
        let changed = deviations(&state, &before, &after);
        if !changed.is_empty() {
            found.texts.push(format!("{}/{}", entry.namespace, entry.name));
        }
        for d in &changed {
            found.why.add(|| format!("{}/{}: {} {}: {}", entry.namespace, entry.name, d.kind, d.name, d.detail));
        }
    }
    found.texts.sort();
    Ok(Answer { all: found, ..Answer::default() })
}
