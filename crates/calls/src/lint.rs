//! What is wrong with manifests, and where.

use std::path::PathBuf;

use roster_engine::model::defaults::{DEFAULT_NAMESPACE, Defaults};
use roster_lint::{
    FileOrigin, LintOptions, LintRun, ManifestTexts, ReviewedObject, SortedManifests, Suppressions, UnreadableFile,
    check,
};
use roster_manifests::decode::Source;

use crate::{Answer, Params, PostedBody, PreparedCall, Problem, ProblemKind, input, params::WRITE_PARAMS};

/// Most findings that each step lists.
const MAX_FINDINGS: usize = 10_000;

pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    let params = Params::read(query, &[WRITE_PARAMS])?;
    Ok(PreparedCall::new(move |posted| of_body(posted, &params)))
}

fn of_body(posted: &PostedBody<'_>, params: &Params) -> Result<Answer, Problem> {
    let (text, source) = input::text(posted)?;
    // The text as JSON: in the worst case, with quotes around each letter.
    posted.charge(2 * text.len())?;
    let defaults = Defaults { namespace: DEFAULT_NAMESPACE, ..params.defaults() };
    let source = Source { defaults, finds_refused: false, ..source };
    let mut texts = ManifestTexts::new(source);
    texts.add_text(source.name.to_owned(), text, FileOrigin::Apart);
    posted.interrupt.check()?;
    let sorted = texts.sorted(PathBuf::new());
    refuse_unreadable(&sorted)?;
    posted.charge(2 * text.len() + memory_of(&sorted))?;
    posted.interrupt.check()?;
    let options = LintOptions::of(source, DEFAULT_NAMESPACE, MAX_FINDINGS);
    let mut run: LintRun<'_> = check(sorted, &options).map_err(|e| input::decode_error(&e))?;
    run.suppress(Suppressions::default());
    posted.interrupt.check()?;
    Answer::json(&run.document(&run.summary()))
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
fn refuse_unreadable(sorted: &SortedManifests<'_>) -> Result<(), Problem> {
    let SortedManifests { manifests, skipped, unreadable } = sorted;
    let has_any = manifests.files.iter().any(|file| !file.documents.is_empty()) || !skipped.is_empty();
    match unreadable.first() {
        Some(UnreadableFile { place, .. }) if !has_any => {
            let column = place.column.map(|column| format!(", column {column}")).unwrap_or_default();
            let detail = format!("line {}{column}: {}", place.line, place.why);
            Err(Problem::new(ProblemKind::MalformedBody, detail))
        }
        _ => Ok(()),
    }
}
