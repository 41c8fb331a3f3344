//! Kustomizations: which files of their directories are patches, and thus parts of manifests.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use serde_json::{Value, value::RawValue};

/// The kustomizations of all directories.
#[derive(Clone, Debug, Default)]
pub struct Kustomizations {
    patches: BTreeSet<PathBuf>,
}

/// Whether kustomize reads a file of this name.
pub(super) fn is_kustomization(name: &str) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization"].contains(&name)
}

impl Kustomizations {
    /// Adds the kustomization in a document of `file`, if it is one.
    pub fn add(&mut self, file: &str, object: &RawValue) {
        let path = Path::new(file);
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if !is_kustomization(name) {
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
    }

    /// Whether the file is a patch.
    pub fn is_patch(&self, file: &str) -> bool {
        self.patches.contains(&normal(Path::new(file)))
    }
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
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
