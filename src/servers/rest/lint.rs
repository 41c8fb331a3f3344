//! `POST /v1/lint`: what is wrong with manifests, and where.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_calls::Call;

use super::{
    RestApp,
    compute::{ComputedAnswer, compute},
    problem::ApiError,
    problem_responses,
    schema::{
        lint::{self, LintAnswer},
        object::KubernetesList,
        query::WriteParams,
    },
};

/// Lint manifests
///
/// What `roster lint` finds in the posted manifests, as in one file: what an API server would refuse of each, what the rules of
/// the webhook say of it, and what does not fit together. `docs/reference/lint.md` describes the checks. The annotation `roster.dev/ignore`
/// of an object accepts findings about it.
///
/// Of several documents, one that cannot be read is a finding, and the others are checked. Templates, kustomizations and other
/// documents than objects are counted in `summary.skipped`.
#[utoipa::path(
    post,
    path = "/v1/lint",
    tag = "compute",
    params(WriteParams),
    request_body(
        description = "The manifests: an object, a list, or several documents of YAML.",
        content(
            (KubernetesList = "application/json", example = lint::example),
            (KubernetesList = "application/yaml", example = lint::example),
        ),
    ),
    responses(
        (status = 200, description = "The findings, by the lines of the body.", body = LintAnswer),
        problem_responses::BodyProblems,
    ),
)]
pub(super) async fn lint(State(app): State<Arc<RestApp>>, request: Request) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::Lint).await
}
