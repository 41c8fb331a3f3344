//! `POST /v1/picture`: the way from routes to the pods of a Service, with what does not serve it in place.

use std::sync::Arc;

use axum::{
    extract::{Query, Request, State},
    http::{HeaderMap, header},
};
use roster_calls::Call;

use super::{
    RestApp,
    compute::{ComputedAnswer, compute_prepared, query},
    problem::ApiError,
    problem_responses,
    schema::{
        picture::PictureAnswer,
        query::{OptionParams, PictureParam, ServiceParam, WriteParams},
        request::{self, PlanBody},
    },
};

/// Draw one Service
///
/// The way from the routes that name the Service over its ports and slices to its pods and their nodes: as nodes and edges, each
/// with its state and the reason for it, or as SVG. What does not serve the Service is in its place: pods that are not ready or left
/// out, pods that the selector misses by a label, ports that no container has, routes to ports that the Service does not
/// have. Long lists are folded.
///
/// The answer is SVG if the query has `format=svg`, or the header `Accept` names `image/svg+xml` and not `application/json`. The
/// header `roster-problems` counts the findings about the input; `POST /v1/explain` with the same body lists them.
#[utoipa::path(
    post,
    path = "/v1/picture",
    tag = "compute",
    params(ServiceParam, OptionParams, WriteParams, PictureParam),
    request_body(
        description = "The state of one Service, as for `/v1/plan`; `controllers` is ignored. A list may have Ingresses and routes of the Gateway API.",
        content(
            (PlanBody = "application/json", example = request::example),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "The picture.",
            content((PictureAnswer = "application/json"), (String = "image/svg+xml")),
            headers(("roster-problems" = u32, description = "The number of findings about the input."))),
        problem_responses::ServiceProblems,
    ),
)]
pub(super) async fn picture(State(app): State<Arc<RestApp>>, request: Request) -> Result<ComputedAnswer, ApiError> {
    let mut query = query(&request).to_owned();
    // A query that cannot be read is refused as it is.
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let is_given = pairs.map_or(true, |Query(pairs)| pairs.iter().any(|(name, _)| name == "format"));
    if !is_given && asks_for_svg(request.headers()) {
        query.push_str("&format=svg");
    }
    compute_prepared(&app, request, Call::Picture.prepare(&query)?).await
}

/// Whether a client accepts SVG and not JSON.
fn asks_for_svg(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let types: Vec<&str> =
        values.flat_map(|value| value.split(',')).map(|of| of.split(';').next().unwrap_or_default().trim()).collect();
    let names = |name: &str| types.iter().any(|of| of.eq_ignore_ascii_case(name));
    names("image/svg+xml") && !names("application/json")
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_client_says_whether_it_wants_a_drawing() {
        for (accept, want) in [
            (&["image/svg+xml"][..], true),
            (&["image/avif,Image/SVG+XML;q=0.8,*/*;q=0.5"], true),
            (&["application/json", "image/svg+xml"], false),
            (&["*/*"], false),
            (&[], false),
        ] {
            let headers = accept.iter().map(|value| (header::ACCEPT, HeaderValue::from_static(value))).collect();
            assert_eq!(asks_for_svg(&headers), want, "{accept:?}");
        }
    }
}
