//! What an overlay makes of the objects that it names: with labels, patches and numbers of replicas.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, value::RawValue};

use super::{
    file_path::normal,
    kustomization::Kustomizations,
    kustomization_graph::KustomizationGraph,
    kustomize_patch::{KustomizePatch, PatchedObject},
    kustomized_labels::{KustomizedLabels, TooManyLabels},
};

/// The changes by one kustomization, and by those that it names. Names, namespaces and images stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Customization {
    pub(super) labels: KustomizedLabels,
    pub(super) patches: KustomizePatches,
}

/// The patches of the objects of each file, in their order, with the labels that are added between them. Files that get only labels
/// are not among them.
pub(super) type KustomizePatches = BTreeMap<PathBuf, Vec<Arc<KustomizePatch>>>;

/// What an overlay makes of an object.
#[derive(Clone, Debug)]
pub enum CustomizedObject {
    /// The object as it is in its file.
    Same,
    /// Another one, whose parts have no lines.
    Changed(Box<RawValue>),
    /// Nothing: a patch removes it.
    Removed,
    /// What a patch makes of it is not known.
    Unknown,
}

impl Customization {
    /// The changes by an overlay. Everything that is looked at takes some of the room; `None` if there is not so much.
    pub(super) fn of_overlay(
        all: &Kustomizations,
        graph: &KustomizationGraph<'_>,
        root: usize,
        room: &mut usize,
    ) -> Option<Self> {
        let labels = KustomizedLabels::of_overlay(graph, root, room)?;
        Some(Self { labels, patches: patches(all, graph, root, room)? })
    }

    /// Changes of all objects of some files, of which nothing is known.
    pub(super) fn unknown(files: &[&Path]) -> Self {
        let unknown = Arc::new(KustomizePatch::unknown());
        let patches = files.iter().map(|file| ((*file).to_owned(), vec![unknown.clone()])).collect();
        Self { labels: KustomizedLabels::default(), patches }
    }

    /// What becomes of an object of a file.
    pub(super) fn apply(&self, file: &str, object: &RawValue, room: &mut PatchRoom) -> CustomizedObject {
        match self.patches.get(&normal(Path::new(file))) {
            Some(patches) => patched(patches, object, room),
            None => match self.labels.add_to(file, object, &mut room.bytes) {
                Ok(labelled) => labelled.map_or(CustomizedObject::Same, CustomizedObject::Changed),
                Err(TooManyLabels) => CustomizedObject::Unknown,
            },
        }
    }
}

/// How many patches may still be applied to objects, and how long they and what they make may be in bytes: each overlay applies
/// its own to all objects of a base.
#[derive(Clone, Copy, Debug)]
pub struct PatchRoom {
    patches: usize,
    bytes: usize,
}

impl Default for PatchRoom {
    fn default() -> Self {
        Self { patches: 4_000_000, bytes: 128 << 20 }
    }
}

impl PatchRoom {
    /// Takes some of the room, if there is so much.
    fn take(&mut self, patches: usize, bytes: usize) -> Option<()> {
        *self = Self { patches: self.patches.checked_sub(patches)?, bytes: self.bytes.checked_sub(bytes)? };
        Some(())
    }
}

/// An object with patches.
fn patched(patches: &[Arc<KustomizePatch>], object: &RawValue, room: &mut PatchRoom) -> CustomizedObject {
    let Ok(mut value) = serde_json::from_str::<Value>(object.get()) else { return CustomizedObject::Same };
    let name = value["metadata"]["name"].clone();
    if room.take(patches.len(), 0).is_none() {
        return CustomizedObject::Unknown;
    }
    let mut is_changed = false;
    for patch in patches {
        value = match patch.apply(value) {
            PatchedObject::Same(value) => value,
            PatchedObject::Changed(value) => {
                is_changed = true;
                if room.take(0, patch.len()).is_none() {
                    return CustomizedObject::Unknown;
                }
                value
            }
            PatchedObject::Removed => return CustomizedObject::Removed,
            PatchedObject::Unknown => return CustomizedObject::Unknown,
        };
    }
    if !is_changed {
        return CustomizedObject::Same;
    }
    // kustomize would also change the names by which others refer to it.
    let changed = Some(value).filter(|value| value["metadata"]["name"] == name);
    let text = changed.and_then(|value| serde_json::value::to_raw_value(&value).ok());
    let kept = text.filter(|text| room.take(0, text.get().len()).is_some());
    kept.map_or(CustomizedObject::Unknown, CustomizedObject::Changed)
}

/// The patches of an overlay, by the files whose objects they may change. A kustomization patches all that it names, after
/// the patches of its bases and components. `None` if there is no room for them.
fn patches(
    all: &Kustomizations,
    graph: &KustomizationGraph<'_>,
    root: usize,
    room: &mut usize,
) -> Option<KustomizePatches> {
    let mut by_file = KustomizePatches::new();
    let BasesFirst { folders, repeated } = BasesFirst::of(graph, root, room)?;
    for folder in folders {
        let mut patches = patches_of_folder(all, graph, folder, room)?;
        if repeated.contains(&folder) {
            // Each time, its objects are other ones.
            patches.push(Arc::new(KustomizePatch::unknown()));
        }
        if patches.is_empty() {
            continue;
        }
        for file in graph.files_of(folder, room)? {
            // The first was counted with the file.
            *room = room.checked_sub(patches.len() - 1)?;
            by_file.entry(graph.file(file).to_owned()).or_default().extend(patches.iter().cloned());
        }
    }
    by_file.retain(|_, patches| patches.iter().any(|patch| patch.is_read()));
    for patches in by_file.values_mut().filter(|patches| are_too_many(patches)) {
        *patches = vec![Arc::new(KustomizePatch::unknown())];
    }
    Some(by_file)
}

/// What a kustomization and its components change themselves.
fn patches_of_folder(
    all: &Kustomizations,
    graph: &KustomizationGraph<'_>,
    folder: usize,
    room: &mut usize,
) -> Option<Vec<Arc<KustomizePatch>>> {
    let of_folder = graph.with_components(folder, room)?;
    let mut bases = of_folder.iter().flat_map(|folder| &graph.node(*folder).bases);
    let is_renamed = bases.any(|base| graph.node(*base).renames);
    let patches = of_folder.iter().rev().flat_map(|folder| all.patches_of(graph.node(*folder).kustomization));
    let found = |mut patch: KustomizePatch| {
        patch.target.is_renamed = is_renamed;
        Arc::new(patch)
    };
    Some(patches.map(found).collect())
}

/// Whether the patches of a file are too many to be applied to all of its objects.
fn are_too_many(patches: &[Arc<KustomizePatch>]) -> bool {
    const PATCHES: usize = 1000;
    const BYTES: usize = 1 << 20;
    patches.len() > PATCHES || patches.iter().map(|patch| patch.len()).sum::<usize>() > BYTES
}

/// A kustomization and its bases, each after its own bases.
struct BasesFirst {
    folders: Vec<usize>,
    /// Those that several of the others name.
    repeated: BTreeSet<usize>,
}

impl BasesFirst {
    fn of(graph: &KustomizationGraph<'_>, root: usize, room: &mut usize) -> Option<Self> {
        let mut this = Self { folders: Vec::new(), repeated: BTreeSet::new() };
        let (mut seen, mut open) = (BTreeSet::new(), vec![(root, false)]);
        while let Some((folder, is_done)) = open.pop() {
            if is_done {
                this.folders.push(folder);
                continue;
            }
            *room = room.checked_sub(1)?;
            if !seen.insert(folder) {
                this.repeated.insert(folder);
                continue;
            }
            open.push((folder, true));
            let with_components = graph.with_components(folder, room)?;
            let bases = with_components.into_iter().flat_map(|folder| &graph.node(folder).bases);
            open.extend(bases.map(|base| (*base, false)));
        }
        Some(this)
    }
}
