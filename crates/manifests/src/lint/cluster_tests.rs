//! Files of tests that kuttl and chainsaw run in a cluster, and which of them hold parts of objects to compare with.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use serde_json::{Value, value::RawValue};

use super::file_path::{PathRoom, normal};

/// The API groups of tests.
const GROUPS: [&str; 2] = ["kuttl.dev", "chainsaw.kyverno.io"];

/// The tests of an input.
///
/// In a folder of steps, both programs compare the cluster with `01-assert.yaml` and `01-errors.yaml`. Other files of this kind
/// are named by the fields `assert` and `error` of a `TestStep` or `Test`.
#[derive(Debug, Default)]
pub struct ClusterTests {
    /// How many files of each folder are steps.
    steps: BTreeMap<PathBuf, usize>,
    /// The folders with a test.
    folders: BTreeSet<PathBuf>,
    room: PathRoom,
    /// The files and folders that tests compare with.
    compared: BTreeSet<PathBuf>,
}

/// What a file of a step is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepFile {
    /// Objects to apply.
    Applied,
    /// Parts of objects to compare with.
    Compared,
}

impl ClusterTests {
    /// Whether an object of this version is a test.
    pub(super) fn is_test(api_version: &str) -> bool {
        api_version.split_once('/').is_some_and(|(group, _)| GROUPS.contains(&group))
    }

    /// Adds a file and its documents.
    pub fn add<'a>(&mut self, file: &str, documents: impl Iterator<Item = &'a RawValue>) {
        let file = normal(Path::new(file));
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        for document in documents.filter(|raw| GROUPS.iter().any(|group| raw.get().contains(group))) {
            let Ok(test) = serde_json::from_str::<Value>(document.get()) else { continue };
            if Self::is_test(test["apiVersion"].as_str().unwrap_or_default()) {
                self.add_compared(&folder, &test);
                self.folders.insert(folder.clone());
            }
        }
        if step_file(&file).is_some() {
            *self.steps.entry(folder).or_default() += 1;
        }
    }

    /// Adds what a test names in `assert` and `error`, at any depth.
    fn add_compared(&mut self, folder: &Path, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.add_compared(folder, item)),
            Value::Object(members) => {
                for (name, value) in members {
                    if name == "assert" || name == "error" {
                        let paths = value.as_array().into_iter().flatten().chain([&value["file"]]);
                        let paths = paths.filter_map(Value::as_str).filter(|path| self.room.take(folder, path));
                        self.compared.extend(paths.map(|path| compared(folder, path)));
                    }
                    self.add_compared(folder, value);
                }
            }
            _ => {}
        }
    }

    /// Whether a file holds parts of objects to compare with. `is_test` says whether it is below a folder of tests.
    pub fn is_compared(&self, file: &str, is_test: bool) -> bool {
        let file = normal(Path::new(file));
        let folder = file.parent().unwrap_or(Path::new(""));
        let is_in_test = || self.folders.contains(folder) || self.steps.get(folder).is_some_and(|steps| *steps > 1);
        self.compared.contains(&file)
            || self.compared.contains(folder)
            || step_file(&file) == Some(StepFile::Compared) && (is_test || is_in_test())
    }
}

/// The file or folder that a test in `folder` compares with.
fn compared(folder: &Path, path: &str) -> PathBuf {
    // Other patterns than for a whole folder are rare.
    let whole = ["/*", "/*.yaml", "/*.yml"].iter().find_map(|pattern| path.strip_suffix(pattern));
    let path = if path.starts_with("*.y") { "." } else { whole.unwrap_or(path) };
    normal(&folder.join(path))
}

/// What a file is by its name, as `01-assert.yaml` or `01-install.yaml`; `None` if it is not a step.
fn step_file(file: &Path) -> Option<StepFile> {
    let name = file.file_name()?.to_str()?;
    let name = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"))?;
    let (number, name) = name.split_once('-')?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) || name.is_empty() || name.contains('.') {
        return None;
    }
    let word = name.split_once('-').map_or(name, |(word, _)| word).to_ascii_lowercase();
    Some(if word == "assert" || word == "errors" { StepFile::Compared } else { StepFile::Applied })
}

#[cfg(test)]
mod tests {
    use serde_json::{json, value::to_raw_value};

    use super::*;
    use crate::lint::is_of_test;

    #[test]
    fn files_with_parts_of_objects_are_known_by_name_or_by_their_test() {
        let pod = json!({ "apiVersion": "v1", "kind": "Pod" });
        let step =
            json!({ "apiVersion": "kuttl.dev/v1beta1", "kind": "TestStep", "assert": ["ready.yaml", "../parts"] });
        let chainsaw = |operation: Value| {
            let steps = json!([{ "try": [{ "apply": { "file": "web.yaml" } }, operation] }]);
            json!({ "apiVersion": "chainsaw.kyverno.io/v1alpha1", "kind": "Test", "spec": { "steps": steps } })
        };
        for (name, files, want) in [
            ("a folder of steps", vec![("t/00-web.yaml", &pod), ("t/00-assert.yaml", &pod)], &["t/00-assert.yaml"][..]),
            ("with a name", vec![("1-a.yaml", &pod), ("01-errors-web.yaml", &pod)], &["01-errors-web.yaml"]),
            ("one file", vec![("t/00-assert.yaml", &pod), ("u/00-web.yaml", &pod), ("assert.yaml", &pod)], &[]),
            ("one file among tests", vec![("tests/e2e/00-assert.yaml", &pod)], &["tests/e2e/00-assert.yaml"]),
            ("other names", vec![("1-asserts.yaml", &pod), ("1-b.yaml", &pod), ("1-assert.x.yaml", &pod)], &[]),
            (
                "a step",
                vec![
                    ("./t/a/install.yaml", &step),
                    ("t/a/ready.yaml", &pod),
                    ("t/parts/a.yaml", &pod),
                    ("t/a/b.yaml", &pod),
                ],
                &["t/a/ready.yaml", "t/parts/a.yaml"],
            ),
            (
                "chainsaw",
                vec![
                    ("t/chainsaw-test.yaml", &chainsaw(json!({ "assert": { "file": "web.yaml" } }))),
                    ("t/web.yaml", &pod),
                    ("t/api.yaml", &pod),
                ],
                &["t/web.yaml"],
            ),
            (
                "chainsaw with a pattern",
                vec![
                    ("t/chainsaw-test.yaml", &chainsaw(json!({ "error": { "file": "../no/*.yaml" } }))),
                    ("no/web.yaml", &pod),
                    ("t/web.yaml", &pod),
                ],
                &["no/web.yaml"],
            ),
        ] {
            let mut tests = ClusterTests::default();
            for (file, object) in &files {
                tests.add(file, [&*to_raw_value(object).unwrap()].into_iter());
            }
            let found: Vec<&str> =
                files.iter().map(|(file, _)| *file).filter(|file| tests.is_compared(file, is_of_test(file))).collect();
            assert_eq!(found, want, "{name}");
        }
    }
}
