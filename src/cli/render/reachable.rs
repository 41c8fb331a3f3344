//! The kustomizations that one reaches, and the first remote reference in them.

use std::{
    collections::{HashSet, VecDeque},
    fs::File,
    path::{Path, PathBuf},
};

use anyhow::{bail, ensure};
use roster_engine::{model::HashSeed, phrase::clip};
use roster_manifests::{
    decode::{self, Document, Source},
    lint::is_kustomization,
};
use serde_json::Value;

use super::{
    paths::NamedDirectory,
    remote_references::{self, Reference, ReferenceKind},
};

/// Most files that are read.
const MAX_FILES: usize = 10_000;
/// Most bytes of all files.
const MAX_BYTES: usize = 64 << 20;

/// Refuses a kustomization that refers to something remote, or reaches one that does. Nothing has been run yet.
pub(super) fn refuse_remote(root: &NamedDirectory<'_>) -> anyhow::Result<()> {
    let mut walk = Walk { root, files: MAX_FILES, bytes: MAX_BYTES, seen: HashSet::default(), open: VecDeque::new() };
    walk.reach(root.path.clone(), false);
    while let Some(directory) = walk.open.pop_front() {
        walk.check_directory(&directory)?;
    }
    Ok(())
}

/// The kustomization files of a directory.
pub(super) fn kustomizations_in(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let names = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
    names.into_iter().filter(|name| is_kustomization(name)).map(|name| directory.join(name)).filter(|f| f.is_file())
}

/// The documents of a text, as JSON with the same lines.
pub(super) fn values<'j>(json: &'j str, source: &Source<'_>) -> anyhow::Result<Vec<(Document<'j>, Value)>> {
    let with_value = |document: Document<'j>| {
        let value = serde_json::from_str(document.raw.get())?;
        Ok((document, value))
    };
    decode::documents(json, source)?.into_iter().map(with_value).collect()
}

struct Walk<'a> {
    root: &'a NamedDirectory<'a>,
    /// How many files and bytes may still be read.
    files: usize,
    bytes: usize,
    seen: HashSet<ReachedDirectory, HashSeed>,
    open: VecDeque<ReachedDirectory>,
}

/// A directory that a kustomization refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ReachedDirectory {
    /// Its absolute path, without links.
    path: PathBuf,
    /// Whether its objects configure plugins.
    is_plugin: bool,
}

impl Walk<'_> {
    fn reach(&mut self, path: PathBuf, is_plugin: bool) {
        let directory = ReachedDirectory { path, is_plugin };
        if self.seen.insert(directory.clone()) {
            self.open.push_back(directory);
        }
    }

    fn check_directory(&mut self, directory: &ReachedDirectory) -> anyhow::Result<()> {
        for file in kustomizations_in(&directory.path) {
            let name = self.root.shown(&file);
            let json = self.read(&file, &name)?;
            for (document, kustomization) in values(&json, &Source::file(&name))? {
                for reference in remote_references::of_kustomization(&kustomization) {
                    refuse(&reference, &document, &name)?;
                    self.follow(&reference, directory)?;
                }
            }
        }
        Ok(())
    }

    /// Goes on with what a reference names, if that exists. If it does not, kustomize says so.
    fn follow(&mut self, reference: &Reference<'_>, from: &ReachedDirectory) -> anyhow::Result<()> {
        if reference.kind == ReferenceKind::File {
            return Ok(());
        }
        let is_plugin = from.is_plugin || reference.kind == ReferenceKind::Plugin;
        if is_plugin && reference.text.contains('\n') {
            // The configuration itself. What is not YAML is the name of a file.
            let source = Source::file("");
            let json = decode::text(reference.text.as_bytes(), &source).unwrap_or_default();
            let name = format!("{} ({})", self.root.written.display(), reference.pointer);
            return values(&json, &source).unwrap_or_default().iter().try_for_each(|(d, v)| refuse_plugin(d, v, &name));
        }
        let Ok(path) = from.path.join(reference.text).canonicalize() else { return Ok(()) };
        if path.is_dir() {
            self.reach(path, is_plugin);
        } else if is_plugin && path.is_file() {
            let name = self.root.shown(&path);
            let json = self.read(&path, &name)?;
            for (document, configuration) in values(&json, &Source::file(&name))? {
                refuse_plugin(&document, &configuration, &name)?;
            }
        }
        Ok(())
    }

    /// Reads a file as JSON.
    fn read(&mut self, file: &Path, name: &str) -> anyhow::Result<String> {
        let limits = || format!("more than {MAX_FILES} files or {} MiB of kustomizations", MAX_BYTES >> 20);
        ensure!(self.files > 0, "{name}: {} to check for remote references: see --allow-remote", limits());
        self.files -= 1;
        #[expect(clippy::disallowed_methods, reason = "the command line is a shell: it reads files")]
        let input = File::open(file).map_err(|error| anyhow::anyhow!("cannot open {name}: {error}"))?;
        let json = decode::text(input, &Source { max_object_bytes: self.bytes, ..Source::file(name) })?;
        self.bytes = self.bytes.saturating_sub(json.len());
        Ok(json)
    }
}

fn refuse_plugin(document: &Document<'_>, configuration: &Value, name: &str) -> anyhow::Result<()> {
    remote_references::of_plugin(configuration).iter().try_for_each(|reference| refuse(reference, document, name))
}

fn refuse(reference: &Reference<'_>, document: &Document<'_>, name: &str) -> anyhow::Result<()> {
    if !reference.is_remote() {
        return Ok(());
    }
    let line = document.line_of(&reference.pointer);
    bail!(
        "{name}:{line}: {} is remote: {}; nothing was run: vendor it, or let kustomize fetch it with --allow-remote",
        reference.pointer,
        clip(reference.text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::test_tools::directory;

    /// The files of a directory, each with what is refused if `app` is rendered.
    #[test]
    fn remote_references_are_found_wherever_they_are_reached() {
        let remote = "resources:\n- web.yaml\n- https://example.com/x.yaml\n";
        for (files, want) in [
            (&[("app/kustomization.yaml", "resources: [web.yaml, ../base]\n")][..], ""),
            (
                &[("app/kustomization.yaml", remote)],
                "app/kustomization.yaml:3: /resources/1 is remote: https://example.com/x.yaml",
            ),
            (&[("app/Kustomization", remote)], "app/Kustomization:3: /resources/1"),
            (
                &[("app/kustomization.yml", "resources: [../base]"), ("base/kustomization.yaml", remote)],
                "base/kustomization.yaml:3: /resources/1",
            ),
            // A circle, and what nobody refers to.
            (
                &[
                    ("app/kustomization.yaml", "resources: [../app, ../base]"),
                    ("base/kustomization.yaml", "resources: [../app]"),
                    ("other/kustomization.yaml", remote),
                    ("app/below/kustomization.yaml", remote),
                ],
                "",
            ),
            (
                &[("app/kustomization.yaml", "components: [github.com/org/repo//c?ref=v1]")],
                "app/kustomization.yaml:1: /components/0 is remote: github.com/org/repo//c?ref=v1",
            ),
            (
                &[
                    ("app/kustomization.yaml", "transformers: [patch.yaml]"),
                    ("app/patch.yaml", "kind: PatchTransformer\npath: https://example.com/p.yaml\n"),
                ],
                "app/patch.yaml:2: /path",
            ),
            (
                &[
                    ("app/kustomization.yaml", "transformers: [../patches]"),
                    ("patches/kustomization.yaml", "resources: [patch.yaml]"),
                    ("patches/patch.yaml", "kind: PatchTransformer\npath: https://example.com/p.yaml\n"),
                ],
                "patches/patch.yaml:2: /path",
            ),
            (
                &[(
                    "app/kustomization.yaml",
                    "transformers:\n- |\n  kind: PatchTransformer\n  path: https://example.com/p.yaml\n",
                )],
                "app (/transformers/0):2: /path",
            ),
            // A resource is only read.
            (
                &[
                    ("app/kustomization.yaml", "resources: [web.yaml]"),
                    ("app/web.yaml", "kind: Application\npath: https://example.com/p.yaml\n"),
                ],
                "",
            ),
            (&[("app/kustomization.yaml", "resources: [a\n")], "app/kustomization.yaml:1:12: not YAML"),
            (
                &[("app/kustomization.yaml", "a: &a [https://example.com/x]\n<<: {resources: *a}\n")],
                "app/kustomization.yaml:2: /resources/0",
            ),
        ] {
            let folder = directory(files);
            let root = folder.path().canonicalize().unwrap();
            let app = root.join("app");
            let named = NamedDirectory::of(&app).unwrap();
            let refused = refuse_remote(&named).err().map(|error| error.to_string()).unwrap_or_default();
            let refused = refused.replace(&format!("{}/", root.display()), "");
            assert_eq!(refused.is_empty(), want.is_empty(), "{files:?}: {refused}");
            assert!(refused.starts_with(want), "{files:?}: {refused}");
        }
    }
}
