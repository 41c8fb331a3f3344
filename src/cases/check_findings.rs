//! `findings`: what is wrong with the inputs.

use super::{
    test_file::FindingsExpectation,
    test_input::TestInput,
    test_result::{Difference, Differences},
};
use crate::engine::reason::{Finding, Severity};

pub(super) fn check(wanted: &FindingsExpectation, input: &TestInput<'_>) -> Differences {
    let object = wanted.object.as_deref().map(|text| input.known_key(text)).transpose()?;
    let mut found: Vec<Finding> = input.index.problems().iter().cloned().collect();
    for entry in input.entries(None)? {
        found.append(&mut input.plan(entry, &input.options).problems);
    }
    found.retain(|f| f.severity > Severity::Info && object.as_ref().is_none_or(|o| f.object == *o));
    let mut codes: Vec<String> = found.iter().map(|f| f.code.to_string()).collect();
    codes.sort();
    codes.dedup();
    let why = found.iter().map(|f| format!("{}: {}: {}", f.object, f.code, f.message)).collect();
    let difference = Difference::of_lists("codes", wanted.codes.sorted(), codes);
    Ok(difference.map(|d| d.because(why)).into_iter().collect())
}
