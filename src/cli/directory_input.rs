//! Directories as input: which of their files are manifests, and whether these describe one cluster.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{anyhow, bail};
use roster_engine::{
    model::{ObjectKey, defaults::Defaults, json::raw::object_key},
    reason::{Finding, Reason},
};
use roster_manifests::{
    decode::{self, Document, Source},
    inventory::Inventory,
    lint::{PatchRoom, Skip, scopes},
};

use super::{
    input_paths::{ExpandedPaths, named_paths},
    input_texts::InputFile,
    manifest_texts::{ManifestTexts, Manifests, SkippedFile},
    messages,
    overlay_objects::{self, OverlayObjects},
    refused_objects::{self, Refusals},
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
    /// What an API server would refuse of those that get labels from a kustomization.
    pub(super) refusals: Refusals,
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
        let manifests = texts.manifests();
        let unread: Vec<String> = manifests.unreadable.iter().map(ToString::to_string).collect();
        for why in &unread {
            messages::error(&anyhow!("{why}"));
        }
        let refusals = add_manifests(&manifests, defaults, inventory)?;
        let with_objects = manifests.files.iter().filter(|file| !file.documents.is_empty());
        let files = with_objects.map(|file| PathBuf::from(file.name)).collect();
        Ok(FoundObjects { files, unread, refusals })
    }
}

/// Adds the manifests of directories, and what is to be said of them. Returns what an API server would refuse of those that
/// get labels from a kustomization.
pub(super) fn add_manifests(
    manifests: &Manifests<'_>,
    defaults: Defaults<'_>,
    inventory: &mut Inventory,
) -> anyhow::Result<Refusals> {
    inventory.unread.merge(manifests.unread());
    refuse_several_clusters(&manifests.files)?;
    let (mut refusals, mut room) = (Refusals::default(), PatchRoom::default());
    let mut of_overlays = OverlayObjects::new(&manifests.overlays, inventory);
    for InputFile { name, documents } in &manifests.files {
        let source = Source { defaults, ..Source::file(name) };
        if manifests.overlays.has_patches() {
            for document in documents {
                let customized = manifests.overlays.patch(name, &document.raw, &mut room);
                overlay_objects::read(document, customized, &source, inventory)?;
            }
        } else {
            decode::objects(documents, &source, inventory, |_, _| {})?;
        }
        of_overlays.add(name, inventory);
        if documents.iter().any(Document::is_changed) {
            refusals.insert(PathBuf::from(name), refused_objects::of_documents(documents));
        }
    }
    let assumed = of_overlays.apply(inventory);
    inventory.problems.extend(assumed);
    // Without alternatives, kustomizations and their patches are applied.
    let is_applied = manifests.overlays.patched().is_none();
    let of_kustomize = |file: &&SkippedFile| matches!(file.why, Skip::Kustomization | Skip::Patch);
    inventory.problems.extend(not_read(manifests.skipped.iter().filter(|file| !(is_applied && of_kustomize(file)))));
    Ok(refusals)
}

/// Says what was not read.
fn not_read<'s>(skipped: impl Iterator<Item = &'s SkippedFile>) -> Option<Finding> {
    let mut all: Vec<Skip> = skipped.map(|file| file.why).collect();
    all.sort_unstable();
    let alike = all.chunk_by(PartialEq::eq);
    let counts: Vec<String> = alike.filter_map(|alike| Some(alike.first()?.counted(alike.len()))).collect();
    let text = format!("not read: {}", counts.join(", "));
    (!counts.is_empty()).then(|| Finding::new(Reason::IgnoredObject, ObjectKey::default(), text))
}

/// Fails if directories have versions of one object, such as `dev/` and `prod/`: these are for different clusters.
fn refuse_several_clusters(files: &[InputFile<'_>]) -> anyhow::Result<()> {
    let keys = |file: &InputFile<'_>| file.documents.iter().map(|d| object_key(&d.raw)).collect();
    let keys: Vec<(&str, Vec<ObjectKey>)> = files.iter().map(|file| (file.name, keys(file))).collect();
    let scopes = scopes(&keys);
    let mut first: BTreeMap<&ObjectKey, (usize, String)> = BTreeMap::new();
    for ((file, scope), (_, keys)) in files.iter().zip(&scopes).zip(&keys) {
        for (key, document) in keys.iter().zip(&file.documents) {
            let place = format!("{}:{}", file.name, document.line);
            let (known, other) = first.entry(key).or_insert_with(|| (*scope, place.clone()));
            if known != scope {
                bail!(
                    "{key} is in {other} and in {place}: the directories are versions for different clusters; name one of \
                     them, such as {}, and the base that they share, if they have one",
                    directory(file.name)
                );
            }
        }
    }
    Ok(())
}

/// The directory of a file, as an argument.
fn directory(file: &str) -> String {
    Path::new(file).parent().filter(|p| !p.as_os_str().is_empty()).map_or(".".to_owned(), |p| p.display().to_string())
}
