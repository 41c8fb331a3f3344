//! Where an input has an object more than once.

use std::collections::BTreeMap;

use roster_engine::{model::ObjectKey, reason::Reason};
use roster_manifests::inventory::Index;

use super::known_input::KnownInput;

/// Larger files are not read a second time to find lines.
const MAX_BYTES: usize = 64 << 20;

/// Adds the places of duplicate objects to the findings about them. Objects are not read with their lines, which would
/// take memory for every object: the files are read once more, if there are duplicates. Standard input and pipes cannot be.
pub(super) fn name(index: &mut Index<'_>, inputs: &[KnownInput], namespace: &str) {
    let duplicates = index.problems().iter().filter(|p| p.code == Reason::DuplicateObject);
    let mut wanted: Vec<ObjectKey> = duplicates.map(|p| p.object.clone()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() || !inputs.iter().all(|input| input.len().is_some()) {
        return;
    }
    let mut places: BTreeMap<ObjectKey, Vec<String>> = BTreeMap::new();
    for input in inputs {
        let name = input.name();
        for (key, line) in objects_of(input, &wanted, namespace) {
            places.entry(key).or_default().push(format!("{name}:{line}"));
        }
    }
    index.place_duplicates(&places);
}

/// Those of the objects that an input has, each with its line. A file that cannot be read was reported before.
fn objects_of(input: &KnownInput, wanted: &[ObjectKey], namespace: &str) -> Vec<(ObjectKey, usize)> {
    let objects = input.documents(MAX_BYTES, |documents| {
        let objects = documents.iter().map(|d| (d.identity().key.clone().placed(namespace), d.line));
        objects.filter(|(key, _)| wanted.binary_search(key).is_ok()).collect()
    });
    objects.unwrap_or_default()
}
