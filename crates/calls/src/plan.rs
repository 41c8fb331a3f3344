//! What the controllers would do to one Service.

use roster_engine::{
    compare::Tally,
    state::{Controller, Options, Plan},
};

use crate::{
    Answer, Params, Planned, PreparedCall, Problem,
    input::{self, PlanInput},
    params::{PLAN_PARAMS, WRITE_PARAMS},
};

pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    let params = Params::read(query, &[&["service"], PLAN_PARAMS, WRITE_PARAMS])?;
    Ok(PreparedCall::new(move |posted| {
        input::answer(posted, &params, |input| {
            let mut plan = plan_once(input, &Controller::ALL, input.options)?;
            let planned = Planned::of(input, &plan);
            plan.problems.splice(0..0, input.input_problems());
            Ok(Answer { planned, ..Answer::json(&plan)? })
        })
    }))
}

/// Plans once. `default` are the controllers where neither the body nor the query names any.
pub(crate) fn plan_once(input: &PlanInput<'_>, default: &[Controller], options: Options) -> Result<Plan, Problem> {
    let controllers = input.controllers.as_deref().unwrap_or(default);
    input.plan(controllers, &options)
}

impl Planned {
    /// One plan.
    pub(crate) fn of(input: &PlanInput<'_>, plan: &Plan) -> Self {
        let changed = u64::from(Tally::of(&input.state, plan).is_change());
        Self { unchanged: 1 - changed, changed }
    }

    /// Both plans.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { unchanged: self.unchanged + other.unchanged, changed: self.changed + other.changed }
    }
}
