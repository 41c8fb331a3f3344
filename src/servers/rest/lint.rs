//! `POST /v1/lint`: what is wrong with manifests, and where.

use std::{path::PathBuf, sync::Arc};

use axum::extract::{Request, State};
use roster_engine::model::defaults::{DEFAULT_NAMESPACE, Defaults};
use roster_lint::{
    FileOrigin, LintOptions, LintRun, ManifestTexts, ReviewedObject, SortedManifests, Suppressions, UnreadableFile,
    check,
};
use roster_manifests::decode::Source;

use super::{
    RestApp,
    compute::{JsonAnswer, PostedBody, compute},
    input,
    params::{Params, WriteParams},
    problem::{ApiError, ProblemKind},
    problem_responses,
    schema::{
        lint::{self, LintAnswer},
        object::KubernetesList,
    },
};

/// Most findings that each step lists.
const MAX_FINDINGS: usize = 10_000;

/// Lint manifests
///
/// What `roster lint` finds in the posted manifests, as in one file: what an API server would refuse of each, what the rules of
/// the webhook say of it, and what does not fit together. `docs/lint.md` describes the checks. The annotation `roster.dev/ignore`
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
pub(super) async fn lint(State(app): State<Arc<RestApp>>, request: Request) -> Result<JsonAnswer, ApiError> {
    let params = Params::read(request.uri(), &[WriteParams::NAMES])?;
    compute(&app, request, move |_, posted| of_body(&posted, &params)).await
}

fn of_body(posted: &PostedBody<'_>, params: &Params) -> Result<JsonAnswer, ApiError> {
    let (text, source) = input::text(posted)?;
    // The text as JSON: in the worst case, with quotes around each letter.
    posted.charge(2 * text.len())?;
    let defaults = Defaults { namespace: DEFAULT_NAMESPACE, ..params.defaults() };
    let source = Source { defaults, finds_refused: false, ..source };
    let mut texts = ManifestTexts::new(source);
    texts.add(source.name.to_owned(), text.as_bytes(), FileOrigin::Apart);
    posted.interrupt.check()?;
    let sorted = texts.sorted(PathBuf::new());
    refuse_unreadable(&sorted)?;
    posted.charge(2 * text.len() + memory_of(&sorted))?;
    posted.interrupt.check()?;
    let options = LintOptions {
        source,
        namespace: DEFAULT_NAMESPACE,
        user: "",
        groups: &[],
        policies: &[],
        stored: &[],
        max_findings: MAX_FINDINGS,
    };
    let mut run: LintRun<'_> = check(sorted, &options).map_err(|e| input::decode_error(&e))?;
    run.suppress(Suppressions::default());
    posted.interrupt.check()?;
    JsonAnswer::json(&run.document(&run.summary()))
}

/// About what the objects take besides their text, and the values of the largest one.
fn memory_of(sorted: &SortedManifests<'_>) -> usize {
    /// How many times their text values take.
    const VALUES: usize = 12;
    let documents = || sorted.manifests.files.iter().flat_map(|file| &file.documents);
    let largest = documents().map(|document| document.raw.get().len()).max().unwrap_or_default();
    documents().count() * size_of::<ReviewedObject<'_>>() + VALUES * largest
}

/// Refuses a body of which nothing can be read.
fn refuse_unreadable(sorted: &SortedManifests<'_>) -> Result<(), ApiError> {
    let SortedManifests { manifests, skipped, unreadable } = sorted;
    let has_any = manifests.files.iter().any(|file| !file.documents.is_empty()) || !skipped.is_empty();
    match unreadable.first() {
        Some(UnreadableFile { place, .. }) if !has_any => {
            let column = place.column.map(|column| format!(", column {column}")).unwrap_or_default();
            let detail = format!("line {}{column}: {}", place.line, place.why);
            Err(ApiError::new(ProblemKind::MalformedBody, detail))
        }
        _ => Ok(()),
    }
}
