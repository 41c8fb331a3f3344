//! `GET /v1/compat`: the releases that Roster can follow.

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    compute::JsonAnswer,
    params::{Params, ReleaseParams},
    problem::ApiError,
    problem_responses,
    schema::answer::ReleasesOrDifferences,
};
use crate::engine::profile::{self, Difference, Minor, Profile};

/// Releases and their differences
///
/// Every Kubernetes release with a profile, and the switches of each. With `from` or `to` (the default of
/// each is the newest): the differences between the two.
#[utoipa::path(
    get,
    path = "/v1/compat",
    tag = "about",
    params(ReleaseParams),
    responses(
        (status = 200, description = "All releases; or, with `from` or `to`, the differences.",
            body = ReleasesOrDifferences),
        problem_responses::QueryProblems,
    ),
)]
pub(super) async fn compat(request: Request) -> Result<Response, ApiError> {
    let params = Params::read(request.uri(), &[&["from", "to"]])?;
    let answer = if params.from.is_none() && params.to.is_none() {
        let items = Minor::all().map(|minor| Release { minor, profile: minor.profile() }).collect();
        JsonAnswer::json(&All { default: Minor::default(), items })?
    } else {
        let (from, to) = (params.from.unwrap_or_default(), params.to.unwrap_or_default());
        JsonAnswer::json(&Between { from, to, differences: profile::differences(from, to) })?
    };
    Ok(answer.into_response())
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
