//! The folder of the state file: others must not write in it, because what is there says who may read.

use std::{
    fs::{self, DirBuilder, Metadata},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
};

use anyhow::bail;

use super::atomic_file;

/// What a group or others need to put files of their own in the place of others.
const WRITABLE: u32 = 0o022;
/// The user to whom everything belongs anyway.
const ROOT: u32 = 0;

/// Checks the folder of a state file, and makes it if it is missing. Where that is not possible, the proxy runs without its
/// files, and says so.
pub(crate) fn check(state_file: &Path) -> anyhow::Result<()> {
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
            let error = check(&dir.path().join("edge.state")).err().map(|error| error.to_string());
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
        check(&folder.join("edge.state")).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
        // The proxy runs without files.
        check(&dir.path().join("missing/edge/edge.state")).unwrap();
    }
}
