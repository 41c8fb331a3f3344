//! Where an input has an object more than once.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use roster_engine::{
    model::{ObjectKey, Resource, Text, json::raw::object_key},
    reason::Reason,
};
use roster_manifests::{
    decode::{self, Source},
    inventory::Index,
};

use super::input_paths;

/// Larger files are not read a second time to find lines.
const MAX_BYTES: usize = 64 << 20;

/// Adds the places of duplicate objects to the findings about them. Objects are not read with their lines, which would
/// take memory for every object: the files are read once more, if there are duplicates. Standard input and pipes cannot be.
pub(super) fn name(index: &mut Index<'_>, files: &[PathBuf], namespace: &str) {
    let duplicates = index.problems().iter().filter(|p| p.code == Reason::DuplicateObject);
    let mut wanted: Vec<ObjectKey> = duplicates.map(|p| p.object.clone()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() || !files.iter().all(|file| file.is_file()) {
        return;
    }
    let mut places: BTreeMap<ObjectKey, Vec<String>> = BTreeMap::new();
    for file in files {
        for (key, place) in objects_of(file, namespace).filter(|(key, _)| wanted.binary_search(key).is_ok()) {
            places.entry(key).or_default().push(place);
        }
    }
    index.place_duplicates(&places);
}

/// The objects of a file, each with its place. A file that cannot be read was reported before.
fn objects_of(file: &Path, namespace: &str) -> impl Iterator<Item = (ObjectKey, String)> {
    let read = || {
        let (name, input) = input_paths::open(file).ok()?;
        let source = Source { max_object_bytes: MAX_BYTES, ..Source::file(&name) };
        let json = decode::text(input, &source).ok()?;
        let documents = decode::documents(&json, &source).ok()?;
        let place = |d: decode::Document<'_>| (placed(object_key(&d.raw), namespace), format!("{name}:{}", d.line));
        Some(documents.into_iter().map(place).collect::<Vec<_>>())
    };
    read().into_iter().flatten()
}

/// The key of an object, in `namespace` if the object is in one and does not name it.
pub(super) fn placed(key: ObjectKey, namespace: &str) -> ObjectKey {
    let is_node = key.kind == Resource::Node.kind();
    if is_node || !key.namespace.is_empty() { key } else { ObjectKey { namespace: Text::new(namespace), ..key } }
}
