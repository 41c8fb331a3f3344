//! Pictures of chosen and of random states.

mod random;
mod states;

use super::{Picture, Route};
use crate::{Controller, Explanation, Options, explain, plan, plan::PlanRequest};

/// The picture of a request, and the explanation that it shows.
fn draw(request: &PlanRequest, routes: &[Route]) -> (Picture, Explanation) {
    let options: &Options = &request.options;
    request.with_state(|state, _| {
        let explanation = explain(state, options);
        let plan = plan(state, &Controller::ALL, options);
        (Picture::of_plan(state, &plan, &explanation, options, routes, None), explanation)
    })
}
