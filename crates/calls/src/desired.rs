//! The Endpoints and the slices of one Service as they are after the controllers' work.

use roster_engine::{
    model::EndpointSlice,
    state::{Controller, Plan},
};
use serde::Serialize;

use crate::{
    Answer, Params, Planned, PreparedCall, Problem,
    input::{self, PlanInput},
    params::{PLAN_PARAMS, WRITE_PARAMS},
    plan::plan_once,
};

pub(crate) fn prepare_endpoints(query: &str) -> Result<PreparedCall, Problem> {
    desired(query, |_| &[Controller::Endpoints], |input, plan| Answer::json(&plan.desired_endpoints(&input.state)))
}

pub(crate) fn prepare_slices(query: &str) -> Result<PreparedCall, Problem> {
    desired(query, slice_controllers, |input, plan| {
        let items = plan.desired_slices(&input.state);
        Answer::json(&SliceList {
            api_version: "discovery.k8s.io/v1",
            kind: "EndpointSliceList",
            metadata: SliceListMeta {},
            items,
        })
    })
}

/// Plans the posted state, and answers with a part of the plan. `controllers` are planned where neither the body nor
/// the query names any.
fn desired(
    query: &str,
    controllers: fn(&PlanInput<'_>) -> &'static [Controller],
    answer: fn(&PlanInput<'_>, &Plan) -> Result<Answer, Problem>,
) -> Result<PreparedCall, Problem> {
    let params = Params::read(query, &[&["service"], PLAN_PARAMS, WRITE_PARAMS])?;
    Ok(PreparedCall::new(move |posted| {
        input::answer(posted, &params, |input| {
            let plan = plan_once(input, controllers(input), input.options)?;
            let findings = plan.problems.len() + input.input_problems().len();
            let planned = Planned::of(input, &plan);
            Ok(Answer { problems: Some(findings), planned, ..answer(input, &plan)? })
        })
    }))
}

fn slice_controllers(input: &PlanInput<'_>) -> &'static [Controller] {
    if input.state.endpoints.is_some() {
        &[Controller::EndpointSlices, Controller::Mirroring]
    } else {
        &[Controller::EndpointSlices]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SliceList<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: SliceListMeta,
    items: Vec<&'a EndpointSlice>,
}

#[derive(Serialize)]
struct SliceListMeta {}
