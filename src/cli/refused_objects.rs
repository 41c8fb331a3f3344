//! Objects that can be read, and that an API server would refuse all the same.

use roster_engine::{
    model::{
        ObjectKey,
        json::{path::PathEnd, raw::object_key},
    },
    phrase::counted,
    reason::{Finding, Reason},
};
use roster_manifests::{
    decode::{Document, Source},
    inventory::Findings,
};
use roster_validation as validation;
use roster_validation::is_refusal;

use super::{duplicate_places::placed, known_input::KnownInput};

/// Larger files are what a cluster printed.
const MAX_BYTES: u64 = 4 << 20;

/// A finding with the number of objects in `inputs` that an API server would refuse, and the first of them; `None` if there
/// is none, or only some about which `known` has findings. An answer about them must not look as if all were well.
///
/// The objects are not read as texts: files of manifests are read once more. Standard input and pipes cannot be. `namespace` is
/// that of objects that name none.
pub(super) fn finding(inputs: &[KnownInput], namespace: &str, known: &Findings) -> Option<Finding> {
    let mut known: Vec<&ObjectKey> = known.iter().filter(|f| is_refusal(f)).map(|f| &f.object).collect();
    known.sort_unstable();
    let is_known = |finding: &Finding| known.binary_search(&&placed(finding.object.clone(), namespace)).is_ok();
    let refused: Vec<Finding> = inputs.iter().flat_map(of_input).filter(|f| !is_known(f)).collect();
    let first = refused.first()?;
    let at = first.pointer.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
    let objects = match refused.len() {
        1 => first.object.to_string(),
        n => format!("{}; the first is {}", counted(n, "object"), first.object),
    };
    let message = format!("an API server would refuse {objects}: {at}{}", first.message);
    Some(Finding::new(Reason::RefusedObjects, ObjectKey::default(), message))
}

/// The first refusal of each object.
fn of_documents(documents: &[Document<'_>]) -> Vec<Finding> {
    let refusal = |document: &Document<'_>| {
        // The cluster that it comes from has accepted it.
        if PathEnd::of(document.raw.get().as_bytes(), &["metadata", "uid"]).steps == 2 {
            return None;
        }
        validation::check(&document.raw, &object_key(&document.raw)).findings.into_iter().find(is_refusal)
    };
    documents.iter().filter_map(refusal).collect()
}

/// The first refusal of each object of an input.
fn of_input(input: &KnownInput) -> Vec<Finding> {
    let is_manifest = matches!(input, KnownInput::Rendered(_)) || input.len().is_some_and(|bytes| bytes <= MAX_BYTES);
    let read = |documents: Vec<Document<'_>>| {
        of_documents(&documents.into_iter().map(Document::with_single_keys).collect::<Vec<_>>())
    };
    let found = is_manifest.then(|| input.documents(Source::file("").max_object_bytes, read));
    found.flatten().unwrap_or_default()
}
