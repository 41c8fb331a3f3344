//! `plan`: what the controllers would write.

use roster_engine::compare::changes;

use super::{
    test_answer::{Answer, Found, Question},
    test_file::PlanExpectation,
    test_input::TestInput,
    test_result::{Difference, Differences},
};

pub(super) fn check(wanted: &PlanExpectation, input: &TestInput<'_>) -> Differences {
    let answer = input.answer(Question::Plan(wanted.service.clone()), || find(wanted.service.as_deref(), input))?;
    let difference = Difference::of_lists("changes", wanted.changes.sorted(), &answer.all.texts);
    Ok(difference.map(|d| d.because(&answer.all.why)).into_iter().collect())
}

fn find(service: Option<&str>, input: &TestInput<'_>) -> Result<Answer, String> {
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
