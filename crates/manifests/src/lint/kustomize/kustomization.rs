//! Kustomizations: which files of their directories are patches, and thus parts of manifests, and what they change.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
};

use roster_engine::model::{
    HashSeed,
    json::{path::PathEnd, raw::object_key},
};
use serde_json::{Value, value::RawValue};

use super::{
    file_path::{normal, path_within},
    kustomize_patch::{KustomizePatch, PatchChange},
    label_entry::{LabelEntry, LabelScope, pairs},
    patch_target::PatchTarget,
};

/// Reads the documents of a patch that is written within a kustomization, in YAML or JSON; `None` if it is neither.
pub type TextReader = fn(&str) -> Option<Vec<Value>>;

/// The kustomizations of all directories.
#[derive(Clone, Debug)]
pub struct Kustomizations {
    read_text: TextReader,
    working_directory: PathBuf,
    /// The files that are patches, with their documents.
    patches: DocumentsOfFiles,
    by_folder: BTreeMap<PathBuf, Kustomization>,
    /// Files that have a Service, a Pod or a workload.
    with_pods: HashSet<PathBuf, HashSeed>,
}

/// The documents of files.
type DocumentsOfFiles = HashMap<PathBuf, Vec<Value>, HashSeed>;

/// A kustomization: what it lists, and the labels that it adds.
#[derive(Clone, Debug)]
pub(super) struct Kustomization {
    /// Files, and folders of other kustomizations.
    pub(super) resources: Vec<PathBuf>,
    /// Folders of components, which also change the resources.
    pub(super) components: Vec<PathBuf>,
    pub(super) labels: Vec<LabelEntry>,
    patches: Vec<PatchEntry>,
    /// The patches of the field `patchesJson6902`, which come after the labels.
    late_patches: Vec<PatchEntry>,
    replicas: Vec<KustomizePatch>,
    /// Whether it changes names or namespaces.
    pub(super) renames: bool,
}

/// A patch, as a kustomization names it.
#[derive(Clone, Debug)]
struct PatchEntry {
    /// What it changes; `None` if the patch says so itself.
    target: Option<PatchTarget>,
    text: PatchText,
}

/// Where the text of a patch is.
#[derive(Clone, Debug)]
enum PatchText {
    /// In a file.
    File(PathBuf),
    /// In the kustomization; `None` if it cannot be read.
    Here(Option<Vec<Value>>),
}

/// Whether kustomize reads a file of this name.
pub fn is_kustomization(name: &str) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"].contains(&name)
}

impl Kustomizations {
    /// No kustomizations. `read_text` reads the patches that are written in them. Relative names of files are those of
    /// `working_directory`, which may be empty if it is not known.
    pub fn new(read_text: TextReader, working_directory: PathBuf) -> Self {
        Self {
            read_text,
            working_directory,
            patches: HashMap::default(),
            by_folder: BTreeMap::new(),
            with_pods: HashSet::default(),
        }
    }

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
        let path_of = |name: &str| path_within(&self.working_directory, &folder.join(name));
        let merged = plain("patchesStrategicMerge").map(|text| PatchEntry::of_text(text, path_of, self.read_text));
        let read = |field| {
            let entries = list(field).iter();
            entries.filter_map(|entry| PatchEntry::read(entry, path_of, self.read_text)).collect::<Vec<_>>()
        };
        let patches: Vec<PatchEntry> = merged.chain(read("patches")).collect();
        let late_patches = read("patchesJson6902");
        let plugins = ["configurations", "transformers", "generators", "validators"].into_iter().flat_map(plain);
        let generated = list("configMapGenerator").iter().chain(list("secretGenerator"));
        let generated = generated.filter_map(|entry| entry["files"].as_array()).flatten().filter_map(Value::as_str);
        let generated = generated.map(|file| file.split_once('=').map_or(file, |(_, file)| file));
        let others = of_path("replacements").chain(plugins).chain(generated).map(path_of);
        let renames = ["namespace", "namePrefix", "nameSuffix"];
        let renames = renames.iter().any(|field| kustomization[field].as_str().is_some_and(|text| !text.is_empty()));
        for file in patches.iter().chain(&late_patches).filter_map(PatchEntry::file).chain(others) {
            self.patches.entry(file).or_default();
        }
        let common = LabelEntry { scope: LabelScope::Selectors, pairs: pairs(&kustomization["commonLabels"]) };
        let labels = list("labels").iter().map(LabelEntry::read).chain([common]);
        let kustomization = Kustomization {
            resources: plain("resources").chain(plain("bases")).map(path_of).collect(),
            components: plain("components").map(path_of).collect(),
            labels: labels.filter(|entry| !entry.pairs.is_empty()).collect(),
            patches,
            late_patches,
            renames,
            replicas: list("replicas").iter().filter_map(KustomizePatch::of_replicas).collect(),
        };
        self.by_folder.insert(normal(folder), kustomization);
    }

    /// The kustomizations with their folders, in the order of these.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Path, &Kustomization)> {
        self.by_folder.iter().map(|(folder, kustomization)| (folder.as_path(), kustomization))
    }

    /// Whether a file has a Service, a Pod or a workload.
    pub(super) fn has_pods(&self, file: &Path) -> bool {
        self.with_pods.contains(file)
    }

    /// Whether the file is a patch.
    pub fn is_patch(&self, file: &str) -> bool {
        self.patches.contains_key(&normal(Path::new(file)))
    }

    /// Adds a document of a file, if that is a patch. All kustomizations must be known.
    pub fn add_patch(&mut self, file: &str, document: &RawValue) {
        if let Some(documents) = self.patches.get_mut(&normal(Path::new(file))) {
            documents.extend(serde_json::from_str::<Value>(document.get()));
        }
    }

    /// What a kustomization itself changes of objects, in the order of kustomize.
    pub(super) fn patches_of<'k>(&'k self, kustomization: &'k Kustomization) -> impl Iterator<Item = KustomizePatch> {
        let of = |entries: &'k [PatchEntry]| entries.iter().flat_map(|entry| entry.patches(&self.patches));
        let labels = kustomization.labels.iter().cloned().map(KustomizePatch::of_labels);
        let late = of(&kustomization.late_patches).chain(kustomization.replicas.iter().cloned());
        of(&kustomization.patches).chain(labels).chain(late)
    }
}

impl PatchEntry {
    /// Reads an element of the field `patchesStrategicMerge`: a file, or the patch.
    fn of_text(text: &str, path_of: impl Fn(&str) -> PathBuf, read: TextReader) -> Self {
        let text = if text.contains('\n') || text.contains(": ") {
            PatchText::Here(read(text))
        } else {
            PatchText::File(path_of(text))
        };
        Self { target: None, text }
    }

    /// Reads an element of the fields `patches` and `patchesJson6902`.
    fn read(entry: &Value, path_of: impl Fn(&str) -> PathBuf, read: TextReader) -> Option<Self> {
        let file = entry["path"].as_str().map(|path| PatchText::File(path_of(path)));
        let text = file.or_else(|| Some(PatchText::Here(read(entry["patch"].as_str()?))))?;
        Some(Self { target: entry.get("target").map(PatchTarget::read), text })
    }

    fn file(&self) -> Option<PathBuf> {
        match &self.text {
            PatchText::File(file) => Some(file.clone()),
            PatchText::Here(_) => None,
        }
    }

    /// The changes; `files` has the documents of files.
    fn patches(&self, files: &DocumentsOfFiles) -> Vec<KustomizePatch> {
        let documents = match &self.text {
            PatchText::File(file) => files.get(file).filter(|documents| !documents.is_empty()),
            PatchText::Here(documents) => documents.as_ref(),
        };
        match documents {
            // The operations of a JSON patch are read as the objects of a list.
            Some(documents) if documents.iter().all(is_operation) => {
                vec![KustomizePatch::of_document(self.target.as_ref(), &Value::from(documents.clone()))]
            }
            Some(documents) => {
                documents.iter().map(|patch| KustomizePatch::of_document(self.target.as_ref(), patch)).collect()
            }
            // Without a target, nothing says what it changes.
            None => self
                .target
                .iter()
                .map(|target| KustomizePatch { target: target.clone(), change: PatchChange::Unknown })
                .collect(),
        }
    }
}

fn is_operation(patch: &Value) -> bool {
    patch.get("op").is_some() && patch.get("path").is_some()
}

/// Whether an object is a Service, a Pod or, by the template of its pods, a workload.
fn has_pods(object: &RawValue) -> bool {
    const TEMPLATES: [&[&str]; 2] = [&["spec", "template", "spec"], &["spec", "jobTemplate", "spec"]];
    let kind = object_key(object).kind;
    let text = object.get().as_bytes();
    ["Service", "Pod"].contains(&kind.as_str())
        || TEMPLATES.iter().any(|path| PathEnd::of(text, path).steps == path.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_found_wherever_they_are_named() {
        let mut all = Kustomizations::new(|_| None, PathBuf::new());
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
