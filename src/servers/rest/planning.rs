//! The plan of a state that was posted.

use roster_engine::{
    compare::Tally,
    state::{Controller, Options, Plan},
};

use super::{RestApp, input::PlanInput, problem::ApiError};

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
