//! The inputs of test cases, read as those of the other commands are.

use std::path::PathBuf;

use anyhow::anyhow;
use roster_engine::model::defaults::Defaults;
use roster_lint::{InputFile, SkippedFile, SortedManifests};
use roster_manifests::{
    decode::{self, Source},
    inventory::Inventory,
    lint::Skip,
};
use serde_json::value::RawValue;

use crate::cli::{
    directory_input::add_manifests,
    input_paths::{ExpandedPaths, named_paths},
    manifest_files::ManifestFiles,
    messages,
    render::{RenderedUnit, is_rendered},
};

/// The texts of files and directories, and what was rendered.
pub(super) struct TestTexts<'r> {
    rendered: &'r [RenderedUnit],
    /// What was rendered, and files of directories, of which some may be charts, kustomizations and patches.
    found: ManifestFiles,
    /// Files that are given by name.
    named: ManifestFiles,
}

/// The manifests of files and directories.
pub(super) struct TestManifests<'a> {
    rendered: &'a [RenderedUnit],
    found: SortedManifests<'a>,
    named: SortedManifests<'a>,
}

impl<'r> TestTexts<'r> {
    /// Reads files and directories, and what was rendered.
    pub(super) fn read(paths: &[PathBuf], rendered: &'r [RenderedUnit]) -> anyhow::Result<Self> {
        let ExpandedPaths { files, special } = ExpandedPaths::of(paths)?;
        let by_name = named_paths(paths);
        let (named, found) = files.into_iter().partition(|path: &PathBuf| by_name.contains(path.as_path()));
        let mut found = ManifestFiles::of(ExpandedPaths { files: found, special }, |_| false)?;
        found.add_rendered(rendered);
        Ok(Self {
            rendered,
            found,
            named: ManifestFiles::of(ExpandedPaths { files: named, special: Vec::new() }, |_| true)?,
        })
    }

    /// The manifests, and whether all of them can be read. What cannot is reported.
    pub(super) fn manifests(&self) -> (TestManifests<'_>, bool) {
        let manifests =
            TestManifests { rendered: self.rendered, found: self.found.manifests(), named: self.named.manifests() };
        let unreadable = manifests.found.unreadable.iter().chain(&manifests.named.unreadable);
        let is_empty = |file: &&SkippedFile| file.why == Skip::Empty;
        let empty = manifests.named.skipped.iter().filter(is_empty).map(|file| format!("{}: is empty", file.place()));
        let errors: Vec<String> = unreadable.map(ToString::to_string).chain(empty).collect();
        for why in &errors {
            messages::error(&anyhow!("{why}"));
        }
        (manifests, errors.is_empty())
    }
}

impl<'a> TestManifests<'a> {
    /// The files with their objects.
    pub(super) fn files(&self) -> impl Iterator<Item = &InputFile<'a>> {
        self.found.manifests.files.iter().chain(&self.named.manifests.files)
    }

    /// The objects as they are written. Those that are rendered come last: they count.
    pub(super) fn objects(&self) -> Vec<&RawValue> {
        let (rendered, others): (Vec<_>, Vec<_>) = self.files().partition(|file| is_rendered(file.name));
        let files = others.into_iter().chain(rendered);
        files.flat_map(|file| &file.documents).map(|document| document.raw.as_ref()).collect()
    }

    /// Adds the objects to an inventory.
    pub(super) fn add_to(&self, inventory: &mut Inventory, defaults: Defaults<'_>) -> anyhow::Result<()> {
        add_manifests(&self.found, self.rendered, defaults, inventory)?;
        for InputFile { name, documents, .. } in &self.named.manifests.files {
            decode::objects(documents, &Source { defaults, ..Source::file(name) }, inventory, |_, _| {})?;
        }
        Ok(())
    }
}
