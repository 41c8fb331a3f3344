//! One process at a time uses a state file.

use std::path::Path;

use anyhow::bail;

use crate::runtime::file_lock::{FileLock, FileLockError};

/// Takes the lock of a state file. An error means that another process has it: two would overwrite each other's files. Where
/// files cannot be locked, there is none.
pub(crate) fn take(state_file: &Path) -> anyhow::Result<Option<FileLock>> {
    match FileLock::beside(state_file) {
        Ok(lock) => Ok(Some(lock)),
        Err(FileLockError::Held) => bail!("--state-file: another process uses {}", state_file.display()),
        Err(FileLockError::Io(error)) => {
            tracing::warn!(path = %state_file.display(), %error, "the state file cannot be locked");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_uses_a_state_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edge.state");
        let first = take(&path).unwrap();
        assert!(first.is_some());
        let error = take(&path).unwrap_err().to_string();
        assert!(error.starts_with("--state-file: another process uses "), "{error}");
        drop(first);
        assert!(take(&path).unwrap().is_some());
        assert!(take(&dir.path().join("missing/edge.state")).unwrap().is_none());
    }
}
