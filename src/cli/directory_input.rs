//! Directories as input: which of their files are manifests, and which versions of the objects in them count.

use std::{collections::HashMap, path::PathBuf};

use anyhow::anyhow;
use roster_engine::{
    model::{
        HashSeed, ObjectKey,
        defaults::Defaults,
        json::raw::{api_group, is_name_generated, object_key},
    },
    phrase::counted,
    reason::{Finding, Reason},
};
use roster_lint::InputFile;
use roster_manifests::{
    decode::{self, Document, Source},
    inventory::Inventory,
    lint::Skip,
};
use serde_json::value::RawValue;

use super::{
    input_paths::{ExpandedPaths, named_paths},
    manifest_texts::{ManifestTexts, SkippedFile, SortedManifests},
    messages,
};

/// Larger files are what a cluster printed, and are read as a stream.
const MAX_MANIFEST: u64 = 4 << 20;

/// The files that the arguments name.
pub(super) struct InputFiles {
    /// Files of directories that may be manifests, or parts of charts and kustomizations.
    found: ExpandedPaths,
    /// Files that are given by name, and large ones.
    pub(super) objects: Vec<PathBuf>,
}

/// The objects of directories, when they are read.
pub(super) struct FoundObjects {
    /// The files that have objects.
    pub(super) files: Vec<PathBuf>,
    /// Why others cannot be read.
    pub(super) unread: Vec<String>,
}

impl InputFiles {
    /// The files that `paths` name.
    pub(super) fn of(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let is_small = |path: &PathBuf| path.metadata().is_ok_and(|file| file.len() <= MAX_MANIFEST);
        let named = named_paths(paths);
        let is_found = |path: &PathBuf| !named.contains(path.as_path()) && is_small(path);
        let ExpandedPaths { files, special } = ExpandedPaths::of(paths)?;
        let (found, objects) = files.into_iter().partition(is_found);
        Ok(Self { found: ExpandedPaths { files: found, special }, objects })
    }

    /// Reads the manifests of directories, without other files and patches, which are counted.
    pub(super) fn read_found(
        &mut self,
        defaults: Defaults<'_>,
        inventory: &mut Inventory,
    ) -> anyhow::Result<FoundObjects> {
        let texts = ManifestTexts::of(std::mem::take(&mut self.found), |_| false)?;
        let sorted = texts.manifests();
        let unread: Vec<String> = sorted.unreadable.iter().map(ToString::to_string).collect();
        for why in &unread {
            messages::error(&anyhow!("{why}"));
        }
        add_manifests(&sorted, defaults, inventory)?;
        let with_objects = sorted.manifests.files.iter().filter(|file| !file.documents.is_empty());
        let files = with_objects.map(|file| PathBuf::from(file.name)).collect();
        Ok(FoundObjects { files, unread })
    }
}

/// Adds the manifests of directories, and what is to be said of them. Of versions of one object, the first counts.
pub(super) fn add_manifests(
    sorted: &SortedManifests<'_>,
    defaults: Defaults<'_>,
    inventory: &mut Inventory,
) -> anyhow::Result<()> {
    let manifests = &sorted.manifests;
    inventory.unread.merge(manifests.unread.clone());
    let mut versions = Versions::default();
    let (listed, plain): (Vec<_>, Vec<_>) = manifests.files.iter().partition(|file| file.is_listed);
    for (is_listed, files) in [(true, listed), (false, plain)] {
        for InputFile { name, documents, .. } in files {
            let source = Source { defaults, ..Source::file(name) };
            let first: Vec<Document<'_>> =
                documents.iter().filter(|document| versions.is_first(name, &document.raw)).cloned().collect();
            decode::objects(&first, &source, inventory, |_, _| {})?;
        }
        if is_listed {
            inventory.set_unrendered();
        }
    }
    inventory.problems.extend(versions.finding());
    inventory.problems.extend(not_read(&sorted.skipped));
    Ok(())
}

/// The objects of directories, which may hold several versions of one.
#[derive(Default)]
struct Versions<'a> {
    /// The file of the first version.
    first: HashMap<(ObjectKey, String), &'a str, HashSeed>,
    /// How many objects have another version in another file, and the first such file with the file that counts instead.
    count: usize,
    example: Option<(&'a str, &'a str)>,
}

impl<'a> Versions<'a> {
    /// Whether no other file has had the object.
    fn is_first(&mut self, file: &'a str, object: &RawValue) -> bool {
        let key = object_key(object);
        if key.name.is_empty() || is_name_generated(object) {
            return true;
        }
        let first = *self.first.entry((key, api_group(object))).or_insert(file);
        let is_first = first == file;
        if !is_first {
            self.count += 1;
            self.example.get_or_insert((file, first));
        }
        is_first
    }

    fn finding(&self) -> Option<Finding> {
        let (file, first) = self.example?;
        let verb = if self.count == 1 { "is" } else { "are" };
        let text = format!(
            "{} {verb} in several files; assumed: the first version of each, such as that of {first} and not of {file}; name one \
             directory or file for another",
            counted(self.count, "object")
        );
        Some(Finding::new(Reason::Assumed, ObjectKey::default(), text))
    }
}

/// Says what was not read.
fn not_read(skipped: &[SkippedFile]) -> Option<Finding> {
    let mut all: Vec<Skip> = skipped.iter().map(|file| file.why).collect();
    all.sort_unstable();
    let alike = all.chunk_by(PartialEq::eq);
    let counts: Vec<String> = alike.filter_map(|alike| Some(alike.first()?.counted(alike.len()))).collect();
    let text = format!("not read: {}", counts.join(", "));
    (!counts.is_empty()).then(|| Finding::new(Reason::IgnoredObject, ObjectKey::default(), text))
}
