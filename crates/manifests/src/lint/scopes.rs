//! Which files describe one cluster: directories often hold several versions of the same objects.

use std::collections::{BTreeMap, HashMap};

use roster_engine::model::{HashSeed, ObjectKey};

use super::finding_key::plain;

/// The number of the group of each file, from 0.
///
/// Files belong together unless directories have objects of the same kind, namespace and name, such as `dev/` and
/// `prod/`: these are groups of their own, each with its subdirectories. Two files of one directory stay together.
pub fn scopes(files: &[(&str, Vec<ObjectKey>)]) -> Vec<usize> {
    let folders = files.iter().map(|(name, _)| directory(name).take(MAX_DEPTH).collect()).collect();
    let mut groups = ScopeGroups { files, folders, scopes: vec![0; files.len()], count: 0 };
    groups.split((0..files.len()).collect(), 0);
    groups.scopes
}

/// Directories below this depth are taken for one: each level compares all objects below it.
const MAX_DEPTH: usize = 64;

struct ScopeGroups<'a> {
    files: &'a [(&'a str, Vec<ObjectKey>)],
    /// The parts of the path to the directory of each file.
    folders: Vec<Vec<&'a str>>,
    scopes: Vec<usize>,
    count: usize,
}

impl<'a> ScopeGroups<'a> {
    /// Splits files whose directories have the first `depth` parts in common.
    fn split(&mut self, files: Vec<usize>, depth: usize) {
        // Those of the directory itself come first: no part is empty.
        let mut parts: BTreeMap<&'a str, Vec<usize>> = BTreeMap::new();
        for &file in &files {
            parts.entry(self.folders[file].get(depth).copied().unwrap_or_default()).or_default().push(file);
        }
        if parts.keys().all(|part| part.is_empty()) || !self.conflict(&files) {
            for file in files {
                self.scopes[file] = self.count;
            }
            self.count += 1;
            return;
        }
        for part in parts.into_values() {
            self.split(part, depth + 1);
        }
    }

    /// Whether two directories have the same object.
    fn conflict(&self, files: &[usize]) -> bool {
        let mut first: HashMap<&ObjectKey, &str, HashSeed> = HashMap::default();
        files.iter().any(|&file| {
            let (name, objects) = &self.files[file];
            let folder = plain(name).rsplit_once('/').map_or("", |(folder, _)| folder);
            objects.iter().any(|key| *first.entry(key).or_insert(folder) != folder)
        })
    }
}

/// The parts of the path to the directory of a file.
fn directory(file: &str) -> impl Iterator<Item = &str> {
    plain(file).rsplit_once('/').map_or("", |(folder, _)| folder).split('/').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_with_the_same_objects_are_apart() {
        let key = |name: &str| ObjectKey::new("Service", &"default".into(), &name.into());
        for (files, want) in [
            (&[("a/web.yaml", "web"), ("b/api.yaml", "api")][..], &[0, 0][..]),
            (&[("dev/web.yaml", "web"), ("prod/web.yaml", "web"), ("dev/api.yaml", "api")], &[0, 1, 0]),
            (
                &[("x/dev/a.yaml", "web"), ("x/prod/a.yaml", "web"), ("common/b.yaml", "b"), ("./x/dev/c/c.yaml", "c")],
                &[1, 2, 0, 1],
            ),
            (&[("a/web.yaml", "web"), ("a/old.yaml", "web")], &[0, 0]),
            (&[("web.yaml", "web"), ("old/web.yaml", "web"), ("<stdin>", "api")], &[0, 1, 0]),
        ] {
            let objects: Vec<_> = files.iter().map(|(file, name)| (*file, vec![key(name)])).collect();
            assert_eq!(scopes(&objects), want, "{files:?}");
        }
    }
}
