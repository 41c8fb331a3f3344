//! `POST /v1/explain`: which pods serve which ports of a Service, and why the others do not.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_engine::{
    explain::{Cause, MAX_REASONS},
    reason::Finding,
};

use super::{
    RestApp,
    compute::{JsonAnswer, compute},
    input,
    params::{OPTION_PARAMS, OptionParams, Params, ServiceParam, WriteParams},
    problem::ApiError,
    problem_responses,
    schema::{
        explanation::ExplanationAnswer,
        request::{self, PlanBody},
    },
};

/// Explain one Service
///
/// One row per selected pod, Service port and list (Endpoints, and the slices of each address type): whether
/// clients get it, and why not. Each reason has a code and, where there is one, a fix. Where
/// the selector matches nothing, the reasons of the Service name the nearest miss: post all pods of the
/// namespace, or of all namespaces, to see it.
#[utoipa::path(
    post,
    path = "/v1/explain",
    tag = "compute",
    params(ServiceParam, OptionParams, WriteParams),
    request_body(
        description = "The state of one Service, as for `/v1/plan`; `controllers` is ignored.",
        content(
            (PlanBody = "application/json", example = request::example),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "The reasons of the Service, and a verdict for each pod.", body = ExplanationAnswer),
        problem_responses::ServiceProblems,
    ),
)]
pub(super) async fn explain(State(app): State<Arc<RestApp>>, request: Request) -> Result<JsonAnswer, ApiError> {
    let params = Params::read(request.uri(), &[&["service"], OPTION_PARAMS, WriteParams::NAMES])?;
    compute(&app, request, move |_, posted| {
        input::answer(&posted, &params, |input| {
            let (mut explanation, others) = input.explain()?;
            explanation.reasons.extend(others.into_iter().map(finding));
            let more = explanation.reasons.len().saturating_sub(MAX_REASONS);
            explanation.summary.omitted_reasons += more;
            explanation.reasons.truncate(MAX_REASONS);
            JsonAnswer::json(&explanation)
        })
    })
    .await
}

/// A finding about the input, as a reason of the Service.
fn finding(problem: Finding) -> Cause {
    let place = problem.pointer.map(|p| format!("{p}: ")).unwrap_or_default();
    let detail = format!("{place}{}", problem.message);
    Cause { severity: problem.severity, object: Some(problem.object), ..Cause::new(problem.code, detail) }
}
