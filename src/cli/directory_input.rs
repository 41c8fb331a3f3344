//! Directories as input: which of their files are manifests, and which versions of the objects in them count.

use std::{collections::HashMap, path::PathBuf};

use anyhow::anyhow;
use roster_engine::{
    model::{HashSeed, ObjectKey, Text, defaults::Defaults, json::raw::ObjectIdentity},
    phrase::counted,
    reason::{Finding, Reason},
};
use roster_lint::{InputFile, SkippedFile, SortedManifests};
use roster_manifests::{
    decode::{self, Document, Source},
    inventory::Inventory,
    lint::Skip,
};

use super::{
    input_paths::{ExpandedPaths, named_paths},
    manifest_files::ManifestFiles,
    messages,
    render::{RenderedUnit, is_rendered},
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

    /// Reads the manifests of directories, without other files and patches, which are counted, and what was rendered.
    pub(super) fn read_found(
        &mut self,
        rendered: &[RenderedUnit],
        defaults: Defaults<'_>,
        inventory: &mut Inventory,
    ) -> anyhow::Result<FoundObjects> {
        let mut texts = ManifestFiles::of(std::mem::take(&mut self.found), |_| false)?;
        texts.add_rendered(rendered);
        let sorted = texts.manifests();
        let unread: Vec<String> = sorted.unreadable.iter().map(ToString::to_string).collect();
        for why in &unread {
            messages::error(&anyhow!("{why}"));
        }
        add_manifests(&sorted, rendered, defaults, inventory)?;
        let files = sorted.manifests.files.iter();
        let with_objects = files.filter(|file| !file.documents.is_empty() && !is_rendered(file.name));
        let files = with_objects.map(|file| PathBuf::from(file.name)).collect();
        Ok(FoundObjects { files, unread })
    }
}

/// Adds the manifests of directories, and what is to be said of them. Of versions of one object, that counts which is rendered, or
/// else the first.
pub(super) fn add_manifests(
    sorted: &SortedManifests<'_>,
    rendered: &[RenderedUnit],
    defaults: Defaults<'_>,
    inventory: &mut Inventory,
) -> anyhow::Result<()> {
    let manifests = &sorted.manifests;
    inventory.unread.merge(manifests.unread.clone());
    let mut versions = Versions::default();
    let [whole, listed, plain] = [FileGroup::Rendered, FileGroup::Listed, FileGroup::Plain]
        .map(|group| versions.first_of(&manifests.files, group));
    for (is_listed, files) in [(true, listed), (false, whole), (false, plain)] {
        for (name, documents) in files {
            let source = Source { defaults, finds_refused: true, ..Source::file(name) };
            decode::objects(&documents, &source, inventory, |_, _| {})?;
        }
        if is_listed {
            inventory.set_unrendered();
        }
    }
    for unit in rendered {
        unit.place_messages(&mut inventory.problems);
    }
    inventory.problems.extend(versions.finding());
    inventory.problems.extend(not_read(&sorted.skipped));
    Ok(())
}

/// What is known of the objects of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileGroup {
    /// They are as they are applied.
    Rendered,
    /// A kustomization changes them.
    Listed,
    Plain,
}

impl FileGroup {
    fn of(file: &InputFile<'_>) -> Self {
        match file {
            file if is_rendered(file.name) => Self::Rendered,
            file if file.is_listed => Self::Listed,
            _ => Self::Plain,
        }
    }
}

/// The objects of directories, which may hold several versions of one.
#[derive(Default)]
struct Versions<'a> {
    /// The file of the first version.
    first: HashMap<(ObjectKey, Text), (&'a str, FileGroup), HashSeed>,
    /// How many objects have another version in another file, and the first such file with the file that counts instead.
    count: usize,
    example: Option<(&'a str, &'a str)>,
}

impl<'a> Versions<'a> {
    /// The files of a group, each with the objects that no file before has had.
    fn first_of(&mut self, files: &'a [InputFile<'a>], group: FileGroup) -> Vec<(&'a str, Vec<Document<'a>>)> {
        let mut all = Vec::new();
        for file in files.iter().filter(|file| FileGroup::of(file) == group) {
            let first = file.documents.iter().filter(|document| self.is_first(file.name, group, document));
            all.push((file.name, first.cloned().collect()));
        }
        all
    }

    /// Whether no other file has had the object.
    fn is_first(&mut self, file: &'a str, group: FileGroup, document: &Document<'_>) -> bool {
        let ObjectIdentity { key, group: api_group, is_name_generated, .. } = document.identity();
        if key.name.is_empty() || *is_name_generated {
            return true;
        }
        let (first, of_first) = *self.first.entry((key.clone(), api_group.clone())).or_insert((file, group));
        let is_first = first == file;
        // Who asks for what is rendered means that.
        if !is_first && (of_first != FileGroup::Rendered || group == FileGroup::Rendered) {
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
    let counts = Skip::counts(skipped.iter().map(|file| file.why));
    let text = format!("not read: {}", counts.join(", "));
    (!counts.is_empty()).then(|| Finding::new(Reason::IgnoredObject, ObjectKey::default(), text))
}
