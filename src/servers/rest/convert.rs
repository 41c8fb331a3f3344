//! `POST /v1/convert`: objects in another version, or as another kind.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_calls::Call;

use super::{
    RestApp,
    compute::{ComputedAnswer, compute},
    problem::ApiError,
    problem_responses,
    schema::{
        conversion::{self, ConvertedAnswer, TargetName},
        object::KubernetesList,
    },
};

/// Convert objects
///
/// Converts the posted objects to another version or kind, and lists the fields that were lost. `Endpoints` become
/// `EndpointSlice`s as the mirroring controller makes them; slices become one `Endpoints` object for each Service;
/// versions of `EndpointSlice` and of `EndpointPolicy` are converted as API servers do, with every unknown field.
/// Objects to which `to` does not apply stay as they are. An object that cannot be converted is an
/// entry of `failed`; the others are converted.
#[utoipa::path(
    post,
    path = "/v1/convert",
    tag = "compute",
    params(
        ("to" = inline(TargetName), Query, description = "The target: a kind, or a group and a version.",
            example = "EndpointSlice"),
    ),
    request_body(
        description = "The objects. An object alone and several YAML documents are accepted, too.",
        content(
            (KubernetesList = "application/json", example = conversion::example),
            (KubernetesList = "application/yaml", example = conversion::example),
        ),
    ),
    responses(
        (status = 200, description = "The objects, the fields that they lost, and the objects that could not be converted.",
            body = ConvertedAnswer),
        problem_responses::BodyProblems,
    ),
)]
pub(super) async fn convert(State(app): State<Arc<RestApp>>, request: Request) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::Convert).await
}
