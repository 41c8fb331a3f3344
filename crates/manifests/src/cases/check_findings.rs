//! `findings`: what is wrong with the inputs.

use roster_engine::reason::{Finding, Severity};

use super::{
    test_answer::{Answer, Found, Question},
    test_file::FindingsExpectation,
    test_input::TestInput,
    test_result::{Difference, Differences},
};

pub(super) fn check(wanted: &FindingsExpectation, input: &TestInput<'_>) -> Differences {
    let object = wanted.object.as_deref().map(|text| input.known_key(text)).transpose()?;
    let answer = input.answer(Question::Findings, || find(input))?;
    let nothing = Found::default();
    let found = match &object {
        Some(object) => answer.of_objects.get(object).unwrap_or(&nothing),
        None => &answer.all,
    };
    let difference = Difference::of_lists("codes", wanted.codes.sorted(), &found.texts);
    Ok(difference.map(|d| d.because(&found.why)).into_iter().collect())
}

fn find(input: &TestInput<'_>) -> Result<Answer, String> {
    let mut found: Vec<Finding> = input.index.problems().iter().cloned().collect();
    for entry in input.entries(None)? {
        found.append(&mut input.plan(entry, &input.options).problems);
    }
    found.retain(|f| f.severity > Severity::Info);
    let mut answer = Answer::default();
    for f in found {
        let of_object = answer.of_objects.entry(f.object.clone()).or_default();
        for found in [&mut answer.all, of_object] {
            found.why.add(|| format!("{}: {}: {}", f.object, f.code, f.message));
            found.texts.push(f.code.to_string());
        }
    }
    for found in [&mut answer.all].into_iter().chain(answer.of_objects.values_mut()) {
        found.texts.sort();
        found.texts.dedup();
    }
    Ok(answer)
}
