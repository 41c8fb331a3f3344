//! `upgrade`: what another release would write differently.

use super::{
    test_file::UpgradeExpectation,
    test_input::TestInput,
    test_result::{Difference, Differences},
};
use crate::engine::{compare::deviations, profile::Minor, state::Options};

pub(super) fn check(wanted: &UpgradeExpectation, input: &TestInput<'_>) -> Differences {
    if wanted.from == wanted.to {
        return Err(format!("from and to are the same release, {}", wanted.to));
    }
    let options = |compat: Minor| Options { compat, ..input.options };
    let (mut found, mut why) = (Vec::new(), Vec::new());
    let entries = input.entries(wanted.service.as_deref())?;
    input.is_checked(&entries)?;
    for entry in entries {
        let state = input.state(entry);
        let (before, after) = (input.plan(entry, &options(wanted.from)), input.plan(entry, &options(wanted.to)));
        let changed = deviations(&state, &before, &after);
        if !changed.is_empty() {
            found.push(format!("{}/{}", entry.namespace, entry.name));
        }
        why.extend(
            changed.iter().map(|d| format!("{}/{}: {} {}: {}", entry.namespace, entry.name, d.kind, d.name, d.detail)),
        );
    }
    found.sort();
    let difference = Difference::of_lists("changes", wanted.changes.sorted(), found);
    Ok(difference.map(|d| d.because(why)).into_iter().collect())
}
