//! One process at a time uses a state file.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use anyhow::bail;

/// The lock of a state file, `PATH.lock`. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct StateLock {
    #[expect(dead_code, reason = "held, never read")]
    file: File,
}

impl StateLock {
    /// Takes the lock. An error means that another process has it: two would overwrite each other's files. Where files cannot
    /// be locked, there is none.
    pub(super) fn take(state_file: &Path) -> anyhow::Result<Option<Self>> {
        let mut path = state_file.as_os_str().to_owned();
        path.push(".lock");
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let error = match opened.map(|file| (file.try_lock(), file)) {
            Ok((Ok(()), file)) => return Ok(Some(Self { file })),
            Ok((Err(TryLockError::WouldBlock), _)) => {
                bail!("--state-file: another process uses {}", state_file.display())
            }
            Ok((Err(TryLockError::Error(error)), _)) | Err(error) => error,
        };
        tracing::warn!(path = %state_file.display(), %error, "the state file cannot be locked");
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edge.state");
        let first = StateLock::take(&path).unwrap();
        assert!(first.is_some());
        let error = StateLock::take(&path).unwrap_err().to_string();
        assert!(error.starts_with("--state-file: another process uses "), "{error}");
        drop(first);
        assert!(StateLock::take(&path).unwrap().is_some());
        assert!(StateLock::take(&dir.path().join("missing/edge.state")).unwrap().is_none());
    }
}
