//! `GET /v1/compat`: the releases that Roster can follow, and their differences.

use axum::extract::Request;
use roster_engine::profile::{self, Difference, Minor, Profile};
use serde::Serialize;

use super::{
    compute::JsonAnswer,
    params::{Params, ReleaseParams},
    problem::ApiError,
    problem_responses,
    schema::answer::{DifferencesSchema, ReleasesSchema},
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
pub(super) async fn compat(request: Request) -> Result<JsonAnswer, ApiError> {
    let params = Params::read(request.uri(), &[&["from", "to"]])?;
    if params.from.is_some() || params.to.is_some() {
        return between(&params);
    }
    let items = Minor::all().map(|minor| Release { minor, profile: minor.profile() }).collect();
    JsonAnswer::json(&All { default: Minor::default(), items })
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
pub(super) async fn differences(request: Request) -> Result<JsonAnswer, ApiError> {
    between(&Params::read(request.uri(), &[&["from", "to"]])?)
}

fn between(params: &Params) -> Result<JsonAnswer, ApiError> {
    let (from, to) = (params.from.unwrap_or_default(), params.to.unwrap_or_default());
    JsonAnswer::json(&Between { from, to, differences: profile::differences(from, to) })
}

#[derive(Serialize)]
struct All {
    default: Minor,
    items: Vec<Release>,
}

#[derive(Serialize)]
struct Release {
    minor: Minor,
    profile: &'static Profile,
}

#[derive(Serialize)]
struct Between {
    from: Minor,
    to: Minor,
    differences: Vec<Difference>,
}
