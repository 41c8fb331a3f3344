//! `POST /v1/review`: what the admission webhook would answer about an object.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_calls::Call;

use super::{
    RestApp,
    compute::{ComputedAnswer, compute},
    problem::ApiError,
    problem_responses,
    schema::review::{ReviewAnswerSchema, ReviewBody},
};

/// Review an object
///
/// What the admission webhook would answer about a Service, an Endpoints object or an `EndpointSlice`: the object is
/// changed as the mutating webhook does, then checked as the validating one does. `docs/reference/rules.md` describes the rules;
/// `policies` set their modes. With `oldObject` the request is an update, and what is stored already is not refused.
/// Rules that need objects of a kind that is not posted are skipped, and the audit annotations name them.
///
/// `object` may be an `AdmissionReview` as an API server sends it: then `answers` contains the response of each webhook.
/// The body may also be the object itself.
///
/// `refusedByApiServer` has what an API server does not store of the object (unknown fields, wrong types and values), whatever the
/// webhook answers: it never sees such an object.
///
/// An object that cannot be read is not allowed, and becomes an entry of `problems`. So does a policy that an API server
/// would refuse.
#[utoipa::path(
    post,
    path = "/v1/review",
    tag = "compute",
    request_body(
        description = "An object, the user who writes it, and objects of its cluster.",
        content(
            (ReviewBody = "application/json", examples(
                ("review" = (summary = "A Service, with a policy", value = json!(ReviewBody::example()))),
                ("object" = (summary = "An object alone", value = json!(ReviewBody::object_example()))),
                ("recorded" = (summary = "A request of an API server", value = json!(ReviewBody::recorded_example()))),
            )),
            (ReviewBody = "application/yaml", example = ReviewBody::example),
        ),
    ),
    responses(
        (status = 200, description = "The object after the review, and the decision.", body = ReviewAnswerSchema),
        problem_responses::BodyProblems,
    ),
)]
pub(super) async fn review(State(app): State<Arc<RestApp>>, request: Request) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::Review).await
}
