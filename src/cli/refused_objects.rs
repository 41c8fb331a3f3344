//! Objects that can be read, and that an API server would refuse all the same.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    duplicate_places::placed,
    input_paths::{is_stdin, open},
};
use crate::{
    decode::{self, Source},
    engine::{
        phrase::counted,
        reason::{Finding, Reason, Severity},
    },
    inventory::Findings,
    lint::validation,
    model::{
        ObjectKey,
        json::{path::PathEnd, raw::object_key},
    },
};

/// Larger files are what a cluster printed.
const MAX_BYTES: u64 = 4 << 20;

/// A finding with the number of objects in `files` that an API server would refuse, and the first of them; `None` if there
/// is none, or only some about which `known` has findings. An answer about them must not look as if all were well.
///
/// The objects are not read as texts: files of manifests are read once more. Standard input cannot be. `namespace` is that of
/// objects that name none.
pub(super) fn finding(files: &[PathBuf], namespace: &str, known: &Findings) -> Option<Finding> {
    let known: BTreeSet<&ObjectKey> = known.iter().filter(|f| is_refusal(f)).map(|f| &f.object).collect();
    let is_manifest = |path: &&PathBuf| !is_stdin(path) && path.metadata().is_ok_and(|file| file.len() <= MAX_BYTES);
    let of_file = |path: &PathBuf| refused_of(path, namespace, &known);
    let refused: Vec<Finding> = files.iter().filter(is_manifest).flat_map(of_file).collect();
    let first = refused.first()?;
    let at = first.pointer.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
    let objects = match refused.len() {
        1 => first.object.to_string(),
        n => format!("{}; the first is {}", counted(n, "object"), first.object),
    };
    let message = format!("an API server would refuse {objects}: {at}{}", first.message);
    Some(Finding::new(Reason::RefusedObjects, ObjectKey::default(), message))
}

/// The first refusal of each object of a file.
fn refused_of(path: &Path, namespace: &str, known: &BTreeSet<&ObjectKey>) -> Vec<Finding> {
    let read = || {
        let (name, input) = open(path).ok()?;
        let source = Source::file(&name);
        let json = decode::text(input, &source).ok()?;
        let documents = decode::documents(&json, &source).ok()?;
        let refusal = |document: &decode::Document<'_>| {
            let key = object_key(&document.raw);
            // The cluster that it comes from has accepted it.
            let is_recorded = PathEnd::of(document.raw.get().as_bytes(), &["metadata", "uid"]).steps == 2;
            if is_recorded || known.contains(&placed(key.clone(), namespace)) {
                return None;
            }
            validation::check(&document.raw, &key).findings.into_iter().find(is_refusal)
        };
        Some(documents.iter().filter_map(refusal).collect())
    };
    read().unwrap_or_default()
}

/// Whether an API server refuses an object with this finding.
fn is_refusal(finding: &Finding) -> bool {
    let of_value = matches!(finding.code, Reason::InvalidName | Reason::InvalidPort);
    finding.severity == Severity::Error || of_value
}
