//! Files that are read again when they change: certificates and policies.
//!
//! The files are read once a second and compared with what was read before. Polling needs no support of the file
//! system, and sees the swapped symlink of a mounted Secret or `ConfigMap` as well as an edit. A change counts once two
//! reads in a row have seen the same: half a file may be valid YAML, and a key is written after its certificate.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::{MissedTickBehavior, interval};

/// How often files are read. The kubelet takes about a minute to update a mounted Secret or `ConfigMap`.
pub(crate) const POLL: Duration = Duration::from_secs(1);

/// Files that are read, and change, together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSet {
    paths: Vec<PathBuf>,
    max_bytes: u64,
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Why it cannot be read.
    pub error: io::Error,
}

/// The contents of a [`FileSet`], in the order of its paths. `Debug` shows only how long they are: some are keys.
#[derive(Clone, PartialEq, Eq)]
pub struct FileContents(pub Vec<Vec<u8>>);

impl fmt::Debug for FileContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(Vec::len)).finish()
    }
}

impl FileSet {
    /// The files at `paths`, each of at most `max_bytes`.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>, max_bytes: u64) -> Self {
        Self { paths: paths.into_iter().collect(), max_bytes }
    }

    /// Reads all of them.
    pub async fn read(&self) -> Result<FileContents, FileError> {
        let mut contents = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            let read = read(path, self.max_bytes).await;
            contents.push(read.map_err(|error| FileError { path: path.clone(), error })?);
        }
        Ok(FileContents(contents))
    }

    /// Reads the files again and again, and reports every change from `known`. It never ends.
    pub async fn watch(self, known: FileContents, mut changed: impl FnMut(Result<&FileContents, &FileError>)) {
        // `None`: the files cannot be read.
        let mut known = Some(known);
        let mut last = known.clone();
        let mut tick = interval(POLL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let read = self.read().await;
            let now = read.as_ref().ok().cloned();
            let is_settled = now == last;
            last = now;
            if !is_settled || last == known {
                continue;
            }
            known.clone_from(&last);
            changed(read.as_ref());
        }
    }
}

async fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let length = tokio::fs::metadata(path).await?.len();
    if length > max_bytes {
        return Err(io::Error::other(format!("the file has more than {max_bytes} bytes")));
    }
    tokio::fs::read(path).await
}
