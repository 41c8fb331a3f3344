//! Kustomizations: which files they list, and which of these are parts of manifests.
//!
//! What a kustomization makes of its files is not computed: kustomize does that (`-k`).

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use roster_engine::model::HashSeed;
use serde_json::{Value, value::RawValue};

use super::file_path::{PathRoom, normal, path_within};

/// The kustomizations of all directories.
#[derive(Clone, Debug, Default)]
pub struct Kustomizations {
    working_directory: PathBuf,
    room: PathRoom,
    /// The files that they name.
    named: HashMap<PathBuf, FileRole, HashSeed>,
    /// The folders that have one.
    folders: BTreeMap<PathBuf, Kustomization>,
}

/// What a kustomization does.
#[derive(Clone, Debug)]
struct Kustomization {
    /// The files and folders that it applies.
    resources: Vec<PathBuf>,
    /// Whether it, or one that applies it, changes more of its objects than Roster reads.
    changes: bool,
}

/// Fields that change nothing by which objects refer to each other.
const HARMLESS: [&str; 10] = [
    "apiVersion",
    "kind",
    "metadata",
    "resources",
    "bases",
    "images",
    "generatorOptions",
    "configMapGenerator",
    "secretGenerator",
    "sortOptions",
];

/// What a file is for the kustomizations of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileRole {
    /// No kustomization is in its folder, and none names it.
    Plain,
    /// A kustomization is in its folder, and none names it: it is not applied.
    NotListed,
    /// A part of a manifest, or something else that a kustomization reads: a patch, a configuration, the file of a generator.
    Part,
    /// A kustomization applies it as it is.
    Applied,
    /// A kustomization applies it, after changes that are not known.
    Listed,
}

/// Whether kustomize reads a file of this name.
pub fn is_kustomization(name: &str) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"].contains(&name)
}

/// Fields that list files with parts of manifests.
const PARTS: [&str; 9] = [
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "configurations",
    "transformers",
    "generators",
    "validators",
    "replacements",
    "crds",
];

impl Kustomizations {
    /// No kustomizations. Relative names of files are those of `working_directory`, which may be empty if it is not known.
    pub fn new(working_directory: PathBuf) -> Self {
        Self { working_directory, ..Self::default() }
    }

    /// Adds the kustomization in a document of `file`, if it is one.
    pub fn add(&mut self, file: &str, object: &RawValue) {
        let path = Path::new(file);
        if !path.file_name().and_then(|name| name.to_str()).is_some_and(is_kustomization) {
            return;
        }
        let Ok(kustomization) = serde_json::from_str::<Value>(object.get()) else { return };
        let folder = path.parent().unwrap_or(Path::new(""));
        let list = |field: &str| kustomization[field].as_array().into_iter().flatten();
        let parts = PARTS.into_iter().flat_map(list).filter_map(|part| part["path"].as_str().or(part.as_str()));
        let generators = ["configMapGenerator", "secretGenerator"].into_iter().flat_map(list);
        let generated = ["files", "envs"].into_iter();
        let generated = generators.flat_map(|entry| generated.clone().filter_map(|field| entry[field].as_array()));
        let generated = generated.flatten().filter_map(Value::as_str);
        let generated = generated.map(|file| file.split_once('=').map_or(file, |(_, file)| file));
        let others = kustomization["openapi"]["path"].as_str();
        let parts: Vec<&str> = parts.chain(generated).chain(others).collect();
        let resources = ["resources", "bases", "components"].into_iter().flat_map(list);
        let resources: Vec<&str> = resources.filter_map(Value::as_str).collect();
        let Self { working_directory, room, .. } = self;
        let mut path_of =
            |name: &str| room.take(folder, name).then(|| path_within(working_directory, &folder.join(name)));
        let fields = kustomization.as_object().into_iter().flat_map(|fields| fields.keys());
        let changes = fields.into_iter().any(|field| !HARMLESS.contains(&field.as_str()));
        let own = Kustomization { resources: resources.iter().filter_map(|name| path_of(name)).collect(), changes };
        for path in parts.into_iter().filter(|name| !name.contains('\n')).filter_map(path_of) {
            self.named.entry(path).or_insert(FileRole::Part);
        }
        self.folders.insert(normal(folder), own);
    }

    /// Follows the kustomizations to their files. To be called when all are added.
    pub fn follow(&mut self) {
        let mut open: Vec<PathBuf> =
            self.folders.iter().filter(|(_, one)| one.changes).map(|(folder, _)| folder.clone()).collect();
        while let Some(folder) = open.pop() {
            let below = self.folders.get(&folder).map(|one| one.resources.clone()).unwrap_or_default();
            for path in below {
                if let Some(other) = self.folders.get_mut(&path).filter(|other| !other.changes) {
                    other.changes = true;
                    open.push(path);
                }
            }
        }
        for one in self.folders.values() {
            let role = if one.changes { FileRole::Listed } else { FileRole::Applied };
            for path in &one.resources {
                let known = self.named.entry(path.clone()).or_insert(role);
                *known = role.max(*known);
            }
        }
    }

    /// What a file is.
    pub fn role(&self, file: &str) -> FileRole {
        let path = normal(Path::new(file));
        let unnamed = || {
            let is_beside = path.parent().is_some_and(|folder| self.folders.contains_key(folder));
            if is_beside { FileRole::NotListed } else { FileRole::Plain }
        };
        self.named.get(&path).copied().unwrap_or_else(unnamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_kustomizations_say() {
        let mut all = Kustomizations::new(PathBuf::new());
        let kustomization = r#"{"resources":["../base","web.yaml","both.yaml"],
            "patches":[{"path":"./replicas.yaml"},{"patch":"- op: x"},"legacy.yaml","both.yaml"],
            "patchesStrategicMerge":["../shared/limits.yaml","kind: Service\nmetadata: {}"],"patchesJson6902":[{"path":"a.json"}],
            "configMapGenerator":[{"files":["b=c.yaml"],"envs":["d.yaml"]}],"openapi":{"path":"schema.json"}}"#;
        let raw: Box<RawValue> = serde_json::from_str(kustomization).unwrap();
        all.add("./overlays/prod/kustomization.yaml", &raw);
        all.add("overlays/dev/values.yaml", &raw);
        for (file, kustomization) in [
            ("overlays/base/kustomization.yaml", r#"{"resources":["x.yaml","../deep"]}"#),
            ("overlays/deep/kustomization.yaml", r#"{"resources":["y.yaml"]}"#),
            ("plain/kustomization.yaml", r#"{"resources":["z.yaml"],"images":[]}"#),
            ("with/kustomization.yaml", r#"{"components":["part"]}"#),
            ("with/part/kustomization.yaml", r#"{"kind":"Component","resources":["c.yaml"]}"#),
        ] {
            all.add(file, &serde_json::from_str::<Box<RawValue>>(kustomization).unwrap());
        }
        all.follow();
        for (file, want) in [
            ("overlays/prod/replicas.yaml", FileRole::Part),
            ("./overlays/prod/a.json", FileRole::Part),
            ("overlays/prod/legacy.yaml", FileRole::Part),
            ("overlays/prod/c.yaml", FileRole::Part),
            ("overlays/prod/schema.json", FileRole::Part),
            ("overlays/shared/limits.yaml", FileRole::Part),
            ("overlays/prod/web.yaml", FileRole::Listed),
            ("overlays/prod/both.yaml", FileRole::Listed),
            ("overlays/prod/other.yaml", FileRole::NotListed),
            ("overlays/prod/below/other.yaml", FileRole::Plain),
            ("overlays/dev/replicas.yaml", FileRole::Plain),
            // The overlay changes what it gets from others.
            ("overlays/base/x.yaml", FileRole::Listed),
            ("overlays/deep/y.yaml", FileRole::Listed),
            ("plain/z.yaml", FileRole::Applied),
            ("with/part/c.yaml", FileRole::Listed),
        ] {
            assert_eq!(all.role(file), want, "{file}");
        }
    }
}
