//! The labels that kustomizations add to the objects of a directory, and through them to selectors and pod templates.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use roster_engine::model::{HashSeed, json::raw::JsonMembers};
use serde_json::value::RawValue;

use super::{
    file_path::normal,
    kustomization::Kustomizations,
    kustomization_graph::KustomizationGraph,
    label_entry::{LabelEntry, LabelScope, fields},
    label_text::with_labels,
};

/// Most labels of all files together, and kustomizations that are looked at for all others. Thousands of them could name each
/// other, and each of them files.
pub(super) const MOST_LABELS: usize = 1 << 18;

/// The labels of each file.
///
/// Overlays often give one label several values, such as `env: dev` and `env: prod`, and share the files of a base. Where
/// they are taken for one cluster, such values are taken for the same, so that what fits in each of them fits here.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KustomizedLabels {
    /// Sorted by file. Files of the same kustomizations share them.
    of_file: Vec<(PathBuf, Arc<AddedLabels>)>,
    /// There are more than are looked at: those of no file are known.
    are_too_many: bool,
}

/// The labels that the objects of a file get.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct AddedLabels {
    by_scope: LabelsByScope,
    /// How long they are in the text of an object: it has them in up to four places, with quotes.
    length: usize,
}

/// There is no room for the labels of so many objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyLabels;

/// What is added to the objects of each file.
type EntriesOfFiles<'k> = BTreeMap<&'k Path, Vec<&'k LabelEntry>>;

/// Labels, by what gets them at least: a map for each scope.
type LabelsByScope = [BTreeMap<String, String>; LabelScope::ALL.len()];

impl KustomizedLabels {
    /// The labels that these kustomizations add, all of them together.
    pub fn of(kustomizations: &Kustomizations) -> Self {
        let graph = KustomizationGraph::of(kustomizations);
        let (mut entries, mut room) = (EntriesOfFiles::new(), MOST_LABELS);
        for folder in 0..graph.len() {
            if add_entries(&graph, folder, &mut room, &mut entries).is_none() {
                return Self { are_too_many: true, ..Self::default() };
            }
        }
        Self::of_entries(entries)
    }

    /// The labels that one kustomization adds, and those that it names. All take some of the room; `None` if there is not so much.
    pub(super) fn of_overlay(graph: &KustomizationGraph<'_>, root: usize, room: &mut usize) -> Option<Self> {
        let mut entries = EntriesOfFiles::new();
        for folder in graph.reached(root, room)? {
            add_entries(graph, folder, room, &mut entries)?;
        }
        Some(Self::of_entries(entries))
    }

    /// The labels of files, in the order of the entries of each.
    fn of_entries(entries: EntriesOfFiles<'_>) -> Self {
        // An entry is known by its address.
        let address = |entry: &&LabelEntry| std::ptr::from_ref(*entry).addr();
        let mut numbers: HashMap<Vec<usize>, usize, HashSeed> = HashMap::default();
        let mut different: Vec<Vec<&LabelEntry>> = Vec::new();
        let mut of_file: Vec<(&Path, usize)> = Vec::with_capacity(entries.len());
        for (file, entries) in entries {
            let number = *numbers.entry(entries.iter().map(address).collect()).or_insert(different.len());
            if number == different.len() {
                different.push(entries);
            }
            of_file.push((file, number));
        }
        let mut values = EqualValues::default();
        for entries in &different {
            values.join(entries.iter().copied());
        }
        let added: Vec<Arc<AddedLabels>> =
            different.into_iter().map(|entries| Arc::new(AddedLabels::of(entries, &mut values))).collect();
        let of_file = of_file.into_iter().map(|(file, number)| (file.to_owned(), added[number].clone()));
        Self { of_file: of_file.collect(), are_too_many: false }
    }

    /// An object of the file with the labels, in the same lines; `None` if it gets none. They take some of the room, in bytes.
    pub fn add_to(
        &self,
        file: &str,
        object: &RawValue,
        room: &mut usize,
    ) -> Result<Option<Box<RawValue>>, TooManyLabels> {
        if self.are_too_many {
            return Err(TooManyLabels);
        }
        if self.of_file.is_empty() {
            return Ok(None);
        }
        let file = normal(Path::new(file));
        let Ok(place) = self.of_file.binary_search_by(|(path, _)| path.cmp(&file)) else { return Ok(None) };
        let added = &self.of_file[place].1;
        *room = room.checked_sub(added.length).ok_or(TooManyLabels)?;
        Ok(added.add_to(object))
    }
}

impl AddedLabels {
    fn of<'k>(entries: Vec<&'k LabelEntry>, values: &mut EqualValues<'k>) -> Self {
        let mut this = Self::default();
        for LabelEntry { scope, pairs } in entries {
            for (key, value) in pairs {
                let value = values.first(key, value);
                this.length += 4 * (key.len() + value.len() + r#""":"","#.len());
                this.by_scope[*scope as usize].insert(key.clone(), value.to_owned());
            }
        }
        this
    }

    /// An object with the labels, in the same lines; `None` if it gets none.
    fn add_to(&self, object: &RawValue) -> Option<Box<RawValue>> {
        let kind = JsonMembers::read(object).ok()?.text("kind").into_owned();
        let mut text = Cow::Borrowed(object.get());
        let by_scope = LabelScope::ALL.into_iter().zip(&self.by_scope);
        for (scope, labels) in by_scope.filter(|(_, labels)| !labels.is_empty()) {
            for (path, create) in fields(scope, &kind) {
                if let Some(changed) = with_labels(&text, path, create, labels) {
                    text = Cow::Owned(changed);
                }
            }
        }
        match text {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => RawValue::from_string(text).ok(),
        }
    }
}

/// Adds the labels of a kustomization to those of the files that it reaches, with the labels of its components, which change the
/// same objects. All take some of the room; `None` if there is not so much.
fn add_entries<'k>(
    graph: &KustomizationGraph<'k>,
    folder: usize,
    room: &mut usize,
    entries: &mut EntriesOfFiles<'k>,
) -> Option<()> {
    let with_components = graph.with_components(folder, room)?;
    let added = with_components.into_iter().flat_map(|folder| &graph.node(folder).kustomization.labels);
    let added: Vec<&LabelEntry> = added.collect();
    if added.is_empty() {
        return Some(());
    }
    for file in graph.files_of(folder, room)? {
        // The first was counted with the file.
        *room = room.checked_sub(added.len() - 1)?;
        entries.entry(graph.file(file)).or_default().extend(&added);
    }
    Some(())
}

/// Values of a label that kustomizations give to the same file, and the first of them, which stands for all.
#[derive(Debug, Default)]
struct EqualValues<'k> {
    places: BTreeMap<(&'k str, &'k str), usize>,
    /// The values in order of their places, each with the place of an equal one; the first of them has its own.
    values: Vec<(&'k str, usize)>,
}

impl<'k> EqualValues<'k> {
    /// Takes the values of each label of a file for equal.
    fn join(&mut self, entries: impl Iterator<Item = &'k LabelEntry>) {
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (key, value) in entries.flat_map(|entry| &entry.pairs) {
            let place = self.place(key, value);
            let place = self.root(place);
            let other = *first.entry(key).or_insert(place);
            let other = self.root(other);
            self.values[place.max(other)].1 = place.min(other);
        }
    }

    fn place(&mut self, key: &'k str, value: &'k str) -> usize {
        let next = self.values.len();
        let place = *self.places.entry((key, value)).or_insert(next);
        if place == next {
            self.values.push((value, next));
        }
        place
    }

    /// The place of the first value that is equal to one.
    fn root(&mut self, mut place: usize) -> usize {
        while self.values[place].1 != place {
            // Halves the way for the next search.
            self.values[place].1 = self.values[self.values[place].1].1;
            place = self.values[place].1;
        }
        place
    }

    /// The first value that is equal to one.
    fn first(&mut self, key: &'k str, value: &'k str) -> &'k str {
        let place = self.place(key, value);
        let root = self.root(place);
        self.values[root].0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn kustomizations(all: &[(&str, Value)]) -> Kustomizations {
        let mut kustomizations =
            Kustomizations::new(|text| serde_json::from_str(text).ok().map(|patch| vec![patch]), PathBuf::new());
        for (folder, content) in all {
            let raw = serde_json::value::to_raw_value(content).unwrap();
            kustomizations.add(&format!("{folder}/kustomization.yaml"), &raw);
        }
        kustomizations
    }

    fn added(labels: &KustomizedLabels, file: &str, object: &RawValue) -> Option<Box<RawValue>> {
        labels.add_to(file, object, &mut { 1 << 20 }).unwrap()
    }

    #[test]
    fn files_share_labels_and_objects_share_room() {
        let files: Vec<String> = (0..100).map(|i| format!("{i}.yaml")).collect();
        let kustomizations =
            kustomizations(&[("k", json!({ "resources": files, "commonLabels": { "app": "web", "env": "dev" } }))]);
        let labels = KustomizedLabels::of(&kustomizations);
        assert!(labels.of_file.windows(2).all(|two| Arc::ptr_eq(&two[0].1, &two[1].1)));
        let raw = serde_json::value::to_raw_value(&json!({ "kind": "Service", "spec": {} })).unwrap();
        let mut room = 200;
        let is_labelled = |room: &mut usize| labels.add_to("k/7.yaml", &raw, room).map(|labelled| labelled.is_some());
        assert_eq!([(); 3].map(|()| is_labelled(&mut room)), [Ok(true), Ok(true), Err(TooManyLabels)]);
        assert!(labels.add_to("other.yaml", &raw, &mut 0).unwrap().is_none());
    }

    #[test]
    fn too_many_labels_are_known_of_no_file() {
        let files: Vec<String> = (0..1 << 10).map(|i| format!("{i}.yaml")).collect();
        let labels =
            |most: usize| -> Vec<Value> { (0..most).map(|i| json!({ "pairs": { i.to_string(): "x" } })).collect() };
        let raw = serde_json::value::to_raw_value(&json!({ "kind": "Service" })).unwrap();
        for (most, want) in [(200, Ok(true)), (300, Err(TooManyLabels))] {
            let kustomizations = kustomizations(&[("k", json!({ "resources": files, "labels": labels(most) }))]);
            let labels = KustomizedLabels::of(&kustomizations);
            for file in ["k/7.yaml", "other.yaml"] {
                let got = labels.add_to(file, &raw, &mut { 1 << 20 }).map(|labelled| labelled.is_some());
                assert_eq!(got, want.map(|of_k| of_k && file.starts_with('k')), "{most} {file}");
            }
        }
    }

    /// As `kubectl kustomize` writes them.
    #[test]
    fn kinds_get_labels_where_kustomize_adds_them() {
        let template = json!({ "metadata": { "labels": { "a": "b" } } });
        let empty = json!({ "spec": {} });
        let selectors = json!({ "commonLabels": { "a": "b" }, "resources": ["x.yaml"] });
        let of = |more: Value| {
            let mut entry = json!({ "pairs": { "a": "b" } });
            entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({ "labels": [entry], "resources": ["x.yaml"] })
        };
        let of_set = json!({ "selector": { "matchLabels": { "a": "b" } }, "template": template });
        let with_selector = json!({ "spec": { "selector": { "matchLabels": { "x": "y" } } } });
        for (kustomization, kind, object, want) in [
            (&selectors, "Service", &empty, json!({ "selector": { "a": "b" } })),
            (&of(json!({ "includeSelectors": true })), "Service", &empty, json!({ "selector": { "a": "b" } })),
            (&of(json!({ "includeTemplates": true })), "Service", &empty, json!({})),
            (&of(json!({})), "Service", &empty, json!({})),
            (&selectors, "Deployment", &empty, of_set.clone()),
            (&selectors, "ReplicaSet", &empty, of_set.clone()),
            (&selectors, "DaemonSet", &empty, of_set.clone()),
            (&selectors, "StatefulSet", &empty, of_set),
            (&of(json!({ "includeTemplates": true })), "Deployment", &empty, json!({ "template": template })),
            (&of(json!({})), "Deployment", &empty, json!({})),
            (&selectors, "ReplicationController", &empty, json!({ "selector": { "a": "b" }, "template": template })),
            (&selectors, "Job", &empty, json!({ "template": template })),
            (
                &selectors,
                "Job",
                &with_selector,
                json!({ "selector": { "matchLabels": { "a": "b", "x": "y" } }, "template": template }),
            ),
            (&selectors, "CronJob", &empty, json!({ "jobTemplate": { "spec": { "template": template } } })),
            (&selectors, "Pod", &empty, json!({})),
            (&selectors, "Rollout", &empty, json!({})),
        ] {
            let mut object = object.clone();
            object["kind"] = json!(kind);
            let raw = serde_json::value::to_raw_value(&object).unwrap();
            let kustomizations = kustomizations(&[("k", kustomization.clone())]);
            let labelled = added(&KustomizedLabels::of(&kustomizations), "k/x.yaml", &raw).unwrap();
            let labelled: Value = serde_json::from_str(labelled.get()).unwrap();
            let got = (&labelled["spec"], &labelled["metadata"]["labels"]);
            assert_eq!(got, (&want, &json!({ "a": "b" })), "{kind} {kustomization}");
        }
    }

    #[test]
    fn labels_reach_the_files_of_bases_and_components() {
        let labels = |resources: Value, labels: Value| json!({ "resources": resources, "commonLabels": labels });
        let kustomizations = kustomizations(&[
            ("base", json!({ "resources": ["./web.yaml"] })),
            ("dev", labels(json!(["../base", "dev.yaml"]), json!({ "env": "dev", "app": "web" }))),
            (
                "prod",
                json!({ "bases": ["../base/"], "resources": ["prod.yaml"], "components": ["../tls"], "commonLabels": { "env": "prod" } }),
            ),
            (
                "tls",
                json!({ "kind": "Component", "resources": ["tls.yaml"], "labels": [{ "pairs": { "tls": "on" }, "includeSelectors": true }] }),
            ),
            ("other", labels(json!(["other.yaml", "../other"]), json!({ "env": "test" }))),
            ("none", json!({ "resources": ["none.yaml"] })),
        ]);
        let labels = KustomizedLabels::of(&kustomizations);
        let raw = serde_json::value::to_raw_value(&json!({ "kind": "Service" })).unwrap();
        for (file, want) in [
            // `env` has two values: the first stands for both, wherever one of them is given.
            ("base/web.yaml", json!({ "app": "web", "env": "dev", "tls": "on" })),
            ("./dev/dev.yaml", json!({ "app": "web", "env": "dev" })),
            ("prod/prod.yaml", json!({ "env": "dev", "tls": "on" })),
            ("tls/tls.yaml", json!({ "env": "dev", "tls": "on" })),
            // Nothing is in both.
            ("other/other.yaml", json!({ "env": "test" })),
            ("none/none.yaml", Value::Null),
        ] {
            let labelled = added(&labels, file, &raw);
            let labelled: Value = labelled.map_or(Value::Null, |raw| serde_json::from_str(raw.get()).unwrap());
            assert_eq!(labelled["spec"]["selector"], want, "{file}");
        }
    }
}
