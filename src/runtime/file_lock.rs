//! A lock beside a file: one process at a time uses it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The lock of a file, `PATH.lock`, which stays there. The system releases the lock when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct FileLock {
    #[expect(dead_code, reason = "held, never read")]
    file: File,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileLockError {
    #[error("another process has the lock")]
    Held,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FileLock {
    /// Takes the lock of the file at `path`, which need not exist.
    pub(crate) fn beside(path: &Path) -> Result<Self, FileLockError> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(FileLockError::Held),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edge.state");
        let first = FileLock::beside(&path).unwrap();
        assert!(matches!(FileLock::beside(&path), Err(FileLockError::Held)));
        drop(first);
        FileLock::beside(&path).unwrap();
        assert!(matches!(FileLock::beside(&dir.path().join("missing/edge.state")), Err(FileLockError::Io(_))));
    }
}
