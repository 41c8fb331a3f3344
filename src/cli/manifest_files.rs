//! The files of a directory that mixes manifests with charts, kustomizations and other YAML.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use roster_lint::{FileOrigin, ManifestTexts, SortedManifests};
use roster_manifests::decode::Source;

use super::{
    input_paths::{ExpandedPaths, is_stdin, named_paths, open, shortest, working_directory},
    render::RenderedUnit,
};

/// The texts of files, directories, standard input, and of what kustomizations and charts render to.
#[derive(Debug)]
pub(super) struct ManifestFiles(ManifestTexts<'static>);

impl ManifestFiles {
    /// Reads files, directories and standard input.
    pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let named = named_paths(paths);
        let mut all = Self::of(ExpandedPaths::of(paths)?, |path| named.contains(path.as_path()))?;
        let here = working_directory();
        let root = |path: &PathBuf| shortest(path.strip_prefix(".").unwrap_or(path), &here);
        let roots: Vec<PathBuf> = paths.iter().filter(|path| path.is_dir()).map(root).collect();
        all.0.set_roots(&roots);
        Ok(all)
    }

    /// Reads files. `named` says whether one was given by name: then it is meant to be a manifest.
    pub(super) fn of(paths: ExpandedPaths, named: impl Fn(&PathBuf) -> bool) -> anyhow::Result<Self> {
        let mut all = ManifestTexts::new(Source::manifests(""));
        for path in paths.special {
            all.add_special(&path.display().to_string());
        }
        for path in paths.files {
            let origin = match named(&path) {
                _ if is_stdin(&path) => FileOrigin::Apart,
                true => FileOrigin::Named,
                false => FileOrigin::Found,
            };
            add_file(&path, origin, &mut all)?;
        }
        Ok(Self(all))
    }

    /// Adds what kustomizations and charts render to.
    pub(super) fn add_rendered(&mut self, units: &[RenderedUnit]) {
        for unit in units {
            self.0.add(unit.name.clone(), unit.text.as_bytes(), FileOrigin::Apart);
        }
    }

    /// The manifests among the documents of the files.
    pub(super) fn manifests(&self) -> SortedManifests<'_> {
        self.0.sorted(working_directory())
    }
}

fn add_file(path: &Path, origin: FileOrigin, all: &mut ManifestTexts<'_>) -> anyhow::Result<()> {
    match open(path.strip_prefix(".").unwrap_or(path)) {
        Ok((name, input)) => {
            let has_text = all.add(name.clone(), input, origin);
            ensure!(has_text || !is_stdin(path), "{name}: is empty");
        }
        Err(error) => all.add_unread(path.display().to_string(), format!("{error:#}"), origin),
    }
    Ok(())
}
