//! Which pods serve which ports of a Service, and why the others do not.

use roster_engine::{
    explain::{Cause, MAX_REASONS},
    reason::Finding,
};

use crate::{
    Answer, Params, PreparedCall, Problem, input,
    params::{OPTION_PARAMS, WRITE_PARAMS},
};

pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    let params = Params::read(query, &[&["service"], OPTION_PARAMS, WRITE_PARAMS])?;
    Ok(PreparedCall::new(move |posted| {
        input::answer(posted, &params, |input| {
            let (mut explanation, others) = input.explain()?;
            explanation.reasons.extend(others.into_iter().map(finding));
            let more = explanation.reasons.len().saturating_sub(MAX_REASONS);
            explanation.summary.omitted_reasons += more;
            explanation.reasons.truncate(MAX_REASONS);
            Answer::json(&explanation)
        })
    }))
}

/// A finding about the input, as a reason of the Service.
fn finding(problem: Finding) -> Cause {
    let place = problem.pointer.map(|p| format!("{p}: ")).unwrap_or_default();
    let detail = format!("{place}{}", problem.message);
    Cause { severity: problem.severity, object: Some(problem.object), ..Cause::new(problem.code, detail) }
}
