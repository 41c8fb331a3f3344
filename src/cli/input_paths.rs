//! The files that arguments name: directories replaced by the files in them, and standard input.

use std::{
    collections::{
        HashSet,
        hash_map::{Entry, HashMap},
    },
    ffi::OsStr,
    fs::File,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, ensure};
use roster_engine::model::{HashSeed, spelling::nearest};
use roster_manifests::lint::{Skip, is_kustomization, path_within};

use super::messages;

/// The files that the arguments name, with directories replaced by the files in them.
#[derive(Debug, Default)]
pub(super) struct ExpandedPaths {
    /// The files.
    pub(super) files: Vec<PathBuf>,
    /// What is in a directory under the name of a manifest and cannot be read as a file: links to nothing, named pipes,
    /// sockets and devices.
    pub(super) special: Vec<PathBuf>,
}

impl ExpandedPaths {
    /// Expands these arguments.
    pub(super) fn of(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut all = Self::default();
        let here = working_directory();
        for path in paths {
            if path.is_dir() {
                let before = all.files.len();
                all.walk(path)?;
                all.files[before..].iter_mut().for_each(|file| *file = shortest(file, &here));
                ensure!(all.files.len() > before, "{}: contains no *.yaml, *.yml or *.json files", path.display());
            } else {
                all.files.push(path.clone());
            }
        }
        ensure!(all.files.iter().filter(|f| is_stdin(f)).count() <= 1, "standard input (-) can be read only once");
        all.drop_repeated(paths);
        Ok(all)
    }

    /// Leaves each file once, however many of the arguments have it: no object replaces itself. Of `./web.yaml`, which a
    /// directory has, and the argument `web.yaml`, the argument stays, because it says that the file is meant.
    fn drop_repeated(&mut self, paths: &[PathBuf]) {
        let named = named_paths(paths);
        let mut places: HashMap<PathBuf, usize, HashSeed> = HashMap::default();
        let mut files: Vec<PathBuf> = Vec::with_capacity(self.files.len());
        for file in std::mem::take(&mut self.files) {
            // Links stay apart: directories may share a file, and each of them describes a cluster.
            match places.entry(std::path::absolute(&file).unwrap_or_else(|_| file.clone())) {
                Entry::Vacant(place) => {
                    place.insert(files.len());
                    files.push(file);
                }
                Entry::Occupied(place) if named.contains(file.as_path()) => files[*place.get()] = file,
                Entry::Occupied(_) => {}
            }
        }
        self.files = files;
    }

    /// Adds the files below a directory in order of their names. Links to directories are not followed: they may form a
    /// circle.
    fn walk(&mut self, directory: &Path) -> anyhow::Result<()> {
        let context = || format!("cannot read {}", directory.display());
        let mut entries =
            directory.read_dir().and_then(Iterator::collect::<io::Result<Vec<_>>>).with_context(context)?;
        entries.sort_unstable_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if entry.file_type().with_context(context)?.is_dir() {
                self.walk(&path)?;
            } else if is_read(&path) && path.is_file() {
                self.files.push(path);
            } else if is_read(&path) && !path.is_dir() {
                self.special.push(path);
            }
        }
        Ok(())
    }
}

/// What the arguments name: a shell makes a hundred thousand of a pattern.
pub(super) fn named_paths(paths: &[PathBuf]) -> HashSet<&Path, HashSeed> {
    paths.iter().map(PathBuf::as_path).collect()
}

/// The files that the arguments name. Warns of what directories have that cannot be read as a file.
pub(super) fn expand(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let ExpandedPaths { mut files, special } = ExpandedPaths::of(paths)?;
    let named = named_paths(paths);
    files.retain(|file| has_known_extension(file) || named.contains(file.as_path()));
    for path in special {
        messages::warning(&format!("{}: not read: {}", path.display(), Skip::SpecialFile.word()));
    }
    Ok(files)
}

/// The path of a file, so that it has the same name whether the argument leads out of the working directory and back, or not.
pub(super) fn shortest(file: &Path, working_directory: &Path) -> PathBuf {
    let leads_out = file.starts_with("..") || file.is_absolute();
    if leads_out { path_within(working_directory, file) } else { file.to_owned() }
}

/// The working directory; empty if it is not known.
pub(super) fn working_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// Whether a file of a directory may hold manifests, or is a kustomization, which says more of them.
fn is_read(path: &Path) -> bool {
    has_known_extension(path) || path.file_name().and_then(|n| n.to_str()).is_some_and(is_kustomization)
}

/// Whether the name of a file says that it holds manifests.
pub(super) fn has_known_extension(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    [".yaml", ".yml", ".json", ".ndjson"].iter().any(|extension| name.ends_with(extension))
}

/// Whether the path is `-`.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of standard input in messages.
pub(super) const STDIN: &str = "<stdin>";

/// Opens a file or standard input, and returns its name for messages. A named pipe, as shells make one for `<(command)`, is
/// read once, when somebody writes to it.
pub(super) fn open(path: &Path) -> anyhow::Result<(String, Box<dyn Read + Send>)> {
    if is_stdin(path) {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            messages::warning("reading standard input; press Ctrl-D to end it");
        }
        return Ok((STDIN.to_owned(), Box::new(stdin)));
    }
    let name = path.display().to_string();
    #[expect(clippy::disallowed_methods, reason = "the command line is a shell: it reads files")]
    let file = File::open(path).map_err(|error| anyhow!("cannot open {name}: {error}{}", did_you_mean(path)))?;
    Ok((name, Box::new(file)))
}

/// The file beside a missing one that was most likely meant.
fn did_you_mean(missing: &Path) -> String {
    let folder = missing.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let typed = missing.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let beside =
        folder.read_dir().into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = beside.filter(|name| has_known_extension(Path::new(name))).collect();
    names.sort_unstable();
    let meant = nearest(typed, &names, |name| name.as_str());
    meant.map(|name| format!("; did you mean {}?", missing.with_file_name(name).display())).unwrap_or_default()
}
