//! `plan`: what the controllers would write.

use super::{
    test_file::PlanExpectation,
    test_input::TestInput,
    test_result::{Difference, Differences},
};
use crate::engine::compare::changes;

pub(super) fn check(wanted: &PlanExpectation, input: &TestInput<'_>) -> Differences {
    let (mut found, mut why) = (Vec::new(), Vec::new());
    let entries = input.entries(wanted.service.as_deref())?;
    input.is_checked(&entries)?;
    for entry in entries {
        let state = input.state(entry);
        let plan = input.plan(entry, &input.options);
        for change in changes(&state, &plan, false).into_iter().filter(|c| c.action.is_change()) {
            let line = format!("{} {} {}", change.action.word(), change.kind, change.name);
            why.push(format!("{}/{}: {line}: {}", entry.namespace, entry.name, change.detail));
            found.push(line);
        }
    }
    found.sort();
    let difference = Difference::of_lists("changes", wanted.changes.sorted(), found);
    Ok(difference.map(|d| d.because(why)).into_iter().collect())
}
