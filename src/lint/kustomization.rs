//! Kustomizations: which files of their directories are patches, and thus parts of manifests, and which labels they add.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use serde_json::{Value, value::RawValue};

use crate::model::json::{path::PathEnd, raw::object_key};

/// The kustomizations of all directories.
#[derive(Clone, Debug, Default)]
pub struct Kustomizations {
    patches: BTreeSet<PathBuf>,
    by_folder: BTreeMap<PathBuf, Kustomization>,
    /// Files that have a Service, a Pod or a workload.
    with_pods: BTreeSet<PathBuf>,
}

/// A kustomization: what it lists, and the labels that it adds.
#[derive(Clone, Debug)]
pub(super) struct Kustomization {
    /// Files, and folders of other kustomizations.
    pub(super) resources: Vec<PathBuf>,
    /// Folders of components, which also change the resources.
    pub(super) components: Vec<PathBuf>,
    pub(super) labels: Vec<LabelEntry>,
}

/// Labels that a kustomization adds.
#[derive(Clone, Debug)]
pub(super) struct LabelEntry {
    pub(super) scope: LabelScope,
    pub(super) pairs: BTreeMap<String, String>,
}

/// What gets the labels: each of these, and those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LabelScope {
    /// The objects.
    Objects,
    /// The templates in them.
    Templates,
    /// The selectors in them.
    Selectors,
}

/// Whether kustomize reads a file of this name.
pub fn is_kustomization(name: &str) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"].contains(&name)
}

impl Kustomizations {
    /// Adds the kustomization in a document of `file`, if it is one, and otherwise what it says of the file.
    pub fn add(&mut self, file: &str, object: &RawValue) {
        let path = Path::new(file);
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if !is_kustomization(name) {
            if has_pods(object) {
                self.with_pods.insert(normal(path));
            }
            return;
        }
        let Ok(kustomization) = serde_json::from_str::<Value>(object.get()) else { return };
        let folder = path.parent().unwrap_or(Path::new(""));
        let list = |field: &str| kustomization[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let of_path = |field| list(field).iter().filter_map(|patch| patch["path"].as_str());
        let plain = |field| list(field).iter().filter_map(Value::as_str);
        let named = of_path("patches")
            .chain(of_path("patchesJson6902"))
            .chain(of_path("replacements"))
            .chain(plain("patchesStrategicMerge"))
            .chain(plain("configurations"));
        self.patches.extend(named.map(|patch| normal(&folder.join(patch))));
        let path_of = |name: &str| normal(&folder.join(name));
        let common = LabelEntry { scope: LabelScope::Selectors, pairs: pairs(&kustomization["commonLabels"]) };
        let labels = list("labels").iter().map(LabelEntry::read).chain([common]);
        let kustomization = Kustomization {
            resources: plain("resources").chain(plain("bases")).map(path_of).collect(),
            components: plain("components").map(path_of).collect(),
            labels: labels.filter(|entry| !entry.pairs.is_empty()).collect(),
        };
        self.by_folder.insert(normal(folder), kustomization);
    }

    /// The folders that have a kustomization.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.by_folder.keys().map(PathBuf::as_path)
    }

    /// The kustomization in a folder.
    pub(super) fn get(&self, folder: &Path) -> Option<&Kustomization> {
        self.by_folder.get(folder)
    }

    /// The paths that the kustomization in a folder names.
    pub(super) fn named_by(&self, folder: &Path) -> impl Iterator<Item = &Path> {
        self.get(folder).into_iter().flat_map(Kustomization::named).map(PathBuf::as_path)
    }

    /// The files of the kustomization in a folder, and of those that it names.
    pub(super) fn files<'k>(&'k self, folder: &'k Path, room: &mut usize) -> BTreeSet<&'k PathBuf> {
        let reached = self.reached(folder, room, |kustomization| kustomization.named().collect());
        reached.into_iter().flat_map(Kustomization::named).filter(|path| self.get(path).is_none()).collect()
    }

    /// The folder of a kustomization, and those of all that it names, itself or through others.
    pub(super) fn folders_of<'k>(&'k self, folder: &'k Path, room: &mut usize) -> Vec<&'k Path> {
        let reached = self.reached(folder, room, |kustomization| kustomization.named().collect());
        let named = reached.into_iter().flat_map(Kustomization::named).map(PathBuf::as_path);
        let all: BTreeSet<&Path> = named.filter(|path| self.get(path).is_some()).chain([folder]).collect();
        all.into_iter().collect()
    }

    /// The kustomization in a folder, and those that lead on from it. Each takes some of the room.
    pub(super) fn reached<'k>(
        &'k self,
        folder: &'k Path,
        room: &mut usize,
        next: impl Fn(&'k Kustomization) -> Vec<&'k PathBuf>,
    ) -> Vec<&'k Kustomization> {
        let (mut reached, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![folder]);
        while let Some(folder) = open.pop() {
            let Some(kustomization) = self.get(folder).filter(|_| seen.insert(folder)) else { continue };
            let Some(left) = room.checked_sub(1) else { break };
            *room = left;
            reached.push(kustomization);
            open.extend(next(kustomization).into_iter().map(PathBuf::as_path));
        }
        reached
    }

    /// Whether a file has a Service, a Pod or a workload.
    pub(super) fn has_pods(&self, file: &Path) -> bool {
        self.with_pods.contains(file)
    }

    /// Whether the file is a patch.
    pub fn is_patch(&self, file: &str) -> bool {
        self.patches.contains(&normal(Path::new(file)))
    }
}

impl Kustomization {
    /// The paths that it names: files, and folders of others.
    pub(super) fn named(&self) -> impl Iterator<Item = &PathBuf> {
        self.resources.iter().chain(&self.components)
    }
}

impl LabelEntry {
    /// Reads an element of the field `labels`.
    fn read(entry: &Value) -> Self {
        let is_set = |field: &str| entry[field].as_bool() == Some(true);
        let scope = match (is_set("includeSelectors"), is_set("includeTemplates")) {
            (true, _) => LabelScope::Selectors,
            (false, true) => LabelScope::Templates,
            (false, false) => LabelScope::Objects,
        };
        Self { scope, pairs: pairs(&entry["pairs"]) }
    }
}

/// Whether an object is a Service, a Pod or, by the template of its pods, a workload.
fn has_pods(object: &RawValue) -> bool {
    const TEMPLATES: [&[&str]; 2] = [&["spec", "template", "spec"], &["spec", "jobTemplate", "spec"]];
    let kind = object_key(object).kind;
    let text = object.get().as_bytes();
    ["Service", "Pod"].contains(&kind.as_str())
        || TEMPLATES.iter().any(|path| PathEnd::of(text, path).steps == path.len())
}

fn pairs(map: &Value) -> BTreeMap<String, String> {
    let pairs = map.as_object().into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// A path without `.` and `..`.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_found_wherever_they_are_named() {
        let mut all = Kustomizations::default();
        let kustomization = r#"{"resources":["../base","web.yaml"],"patches":[{"path":"./replicas.yaml"},{"patch":"- op: x"}],
            "patchesStrategicMerge":["../shared/limits.yaml","kind: Service"],"patchesJson6902":[{"path":"a.json"}]}"#;
        let raw: Box<RawValue> = serde_json::from_str(kustomization).unwrap();
        all.add("./overlays/prod/kustomization.yaml", &raw);
        all.add("overlays/dev/values.yaml", &raw);
        for (file, want) in [
            ("overlays/prod/replicas.yaml", true),
            ("./overlays/prod/a.json", true),
            ("overlays/shared/limits.yaml", true),
            ("overlays/prod/web.yaml", false),
            ("overlays/dev/replicas.yaml", false),
        ] {
            assert_eq!(all.is_patch(file), want, "{file}");
        }
    }
}
