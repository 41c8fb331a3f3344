//! Plans of a state that was posted, and how two of them differ.

use roster_engine::{
    compare::{self, Deviation, Tally},
    profile::Minor,
    state::{Controller, Options, Plan},
};
use serde::Serialize;

use super::{RestApp, compute::JsonAnswer, input::PlanInput, problem::ApiError};

/// Plans once. `default` are the controllers where neither the body nor the query names any.
pub(super) fn plan_once(
    app: &RestApp,
    input: &PlanInput<'_>,
    default: &[Controller],
    options: Options,
) -> Result<Plan, ApiError> {
    let controllers = input.controllers.as_deref().unwrap_or(default);
    let plan = input.plan(controllers, &options)?;
    app.metrics.planned(!Tally::of(&input.state, &plan).is_change());
    Ok(plan)
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
pub(super) fn comparison(app: &RestApp, input: &PlanInput<'_>, against: Minor) -> Result<JsonAnswer, ApiError> {
    let mut first = plan_once(app, input, &Controller::ALL, input.options)?;
    first.problems.extend(input.service_missing());
    let mut second = plan_once(app, input, &Controller::ALL, Options { compat: against, ..input.options })?;
    let differences = compare::deviations(&input.state, &first, &second);
    first.problems.splice(0..0, input.input_problems());
    second.problems.splice(0..0, input.input_problems());
    JsonAnswer::json(&Comparison { differs: !differences.is_empty(), differences, plan: first, against: second })
}
