//! What the controllers of two releases would do to one Service.

use roster_engine::{
    compare::{self, Deviation},
    profile::Minor,
    state::{Controller, Options, Plan},
};
use serde::Serialize;

use crate::{
    Answer, Params, Planned, PreparedCall, Problem,
    input::{self, PlanInput},
    params::{PLAN_PARAMS, WRITE_PARAMS},
    plan::plan_once,
};

pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    let params = Params::read(query, &[&["service", "against"], PLAN_PARAMS, WRITE_PARAMS])?;
    let Some(against) = params.against else {
        return Err(Problem::of_parameter("against", "the parameter is missing".to_owned()));
    };
    Ok(PreparedCall::new(move |posted| input::answer(posted, &params, |input| comparison(input, against))))
}

/// The same state, planned as two releases would.
#[derive(Serialize)]
struct Comparison {
    plan: Plan,
    against: Plan,
    /// The objects that the two treat differently, as in `roster plan --against`.
    differences: Vec<Deviation>,
    differs: bool,
}

/// Plans as the release of the options and as `against` would.
fn comparison(input: &PlanInput<'_>, against: Minor) -> Result<Answer, Problem> {
    let mut first = plan_once(input, &Controller::ALL, input.options)?;
    let mut second = plan_once(input, &Controller::ALL, Options { compat: against, ..input.options })?;
    let planned = Planned::of(input, &first).and(Planned::of(input, &second));
    let differences = compare::deviations(&input.state, &first, &second);
    first.problems.splice(0..0, input.input_problems());
    second.problems.splice(0..0, input.input_problems());
    let comparison = Comparison { differs: !differences.is_empty(), differences, plan: first, against: second };
    Ok(Answer { planned, ..Answer::json(&comparison)? })
}
