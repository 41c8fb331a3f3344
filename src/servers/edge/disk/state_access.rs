//! Who may use the state file: one process at a time, in a folder where nobody else writes, because what is there says who may
//! read.

use std::{
    fs::{self, DirBuilder, Metadata},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
};

use anyhow::bail;

use super::atomic_file;
use crate::runtime::file_lock::{FileLock, FileLockError};

/// What a group or others need to put files of their own in the place of others.
const WRITABLE: u32 = 0o022;
/// The user to whom everything belongs anyway.
const ROOT: u32 = 0;

/// Checks the folder of a state file, and makes it if it is missing. Where that is not possible, the proxy runs without its
/// files, and says so.
pub(crate) fn check_folder(state_file: &Path) -> anyhow::Result<()> {
    let folder = atomic_file::folder(state_file);
    let metadata = match metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) => {
            tracing::warn!(path = %folder.display(), %error, "the folder of the state file cannot be used");
            return Ok(());
        }
    };
    let (folder, mode) = (folder.display(), metadata.mode() & 0o7777);
    if mode & WRITABLE != 0 {
        bail!(
            "--state-file: others may write in {folder} (mode {mode:04o}), and could say who may read: use a folder in which \
             only the user of the proxy writes (chmod go-w), or one that does not exist yet"
        );
    }
    if let Some(own) = own_user(state_file).filter(|own| ![*own, ROOT].contains(&metadata.uid())) {
        let owner = metadata.uid();
        bail!(
            "--state-file: {folder} belongs to the user {owner}, who could say who may read, and not to the user of the \
             proxy ({own}) or root"
        );
    }
    Ok(())
}

fn metadata(folder: &Path) -> io::Result<Metadata> {
    match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().mode(0o700).create(folder)?;
            fs::metadata(folder)
        }
        found => found,
    }
}

/// The user of this process: who owns a file that it makes. `None`: it can make none, and neither can it be deceived.
fn own_user(state_file: &Path) -> Option<u32> {
    let mut probe = state_file.as_os_str().to_owned();
    probe.push(".owner");
    let probe = Path::new(&probe);
    let owner = atomic_file::create(probe).and_then(|file| file.metadata()).ok()?.uid();
    let _ = fs::remove_file(probe);
    Some(owner)
}

/// Takes the lock of a state file. An error means that another process has it: two would overwrite each other's files. Where
/// files cannot be locked, there is none.
pub(crate) fn take_lock(state_file: &Path) -> anyhow::Result<Option<FileLock>> {
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
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn others_must_not_write_where_the_state_is() {
        for (mode, is_refused) in
            [(0o700, false), (0o755, false), (0o775, true), (0o707, true), (0o777, true), (0o1777, true)]
        {
            let dir = tempfile::tempdir().unwrap();
            fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
            let error = check_folder(&dir.path().join("edge.state")).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), is_refused, "{mode:o}: {error:?}");
            let named = format!("--state-file: others may write in {} (mode {mode:04o})", dir.path().display());
            assert!(error.is_none_or(|error| error.starts_with(&named)));
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_folder_that_is_missing_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("edge");
        check_folder(&folder.join("edge.state")).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
        // The proxy runs without files.
        check_folder(&dir.path().join("missing/edge/edge.state")).unwrap();
    }

    #[test]
    fn one_process_uses_a_state_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edge.state");
        let first = take_lock(&path).unwrap();
        assert!(first.is_some());
        let error = take_lock(&path).unwrap_err().to_string();
        assert!(error.starts_with("--state-file: another process uses "), "{error}");
        drop(first);
        assert!(take_lock(&path).unwrap().is_some());
        assert!(take_lock(&dir.path().join("missing/edge.state")).unwrap().is_none());
    }
}
