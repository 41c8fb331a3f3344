//! `GET /v1/compat`: the releases that Roster can follow, and their differences.

use axum::extract::Request;
use roster_calls::Call;

use super::{
    compute::{ComputedAnswer, answer_query},
    problem::ApiError,
    problem_responses,
    schema::{
        answer::{DifferencesSchema, ReleasesSchema},
        query::ReleaseParams,
    },
};

/// The releases
///
/// Every Kubernetes release with a profile, and the switches of each.
#[utoipa::path(
    get,
    path = "/v1/compat",
    tag = "about",
    responses(
        (status = 200, description = "All releases.", body = ReleasesSchema),
        problem_responses::QueryProblems,
    ),
)]
pub(super) async fn compat(request: Request) -> Result<ComputedAnswer, ApiError> {
    answer_query(&request, Call::Compat)
}

/// The differences between two releases
///
/// The switches that two Kubernetes releases set differently. The default of each release is the newest.
#[utoipa::path(
    get,
    path = "/v1/compat/differences",
    tag = "about",
    params(ReleaseParams),
    responses(
        (status = 200, description = "The differences.", body = DifferencesSchema),
        problem_responses::QueryProblems,
    ),
)]
pub(super) async fn differences(request: Request) -> Result<ComputedAnswer, ApiError> {
    answer_query(&request, Call::CompatDifferences)
}
