//! Files that are whole at any time.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Writes another file beside it, and renames that one: a crash, or a full disk, leaves what was there. Only the owner
/// may read it.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut next = path.as_os_str().to_owned();
    next.push(".next");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // What was written takes space that is missing.
        let _ = fs::remove_file(&next);
        return Err(error);
    }
    fs::rename(&next, path)?;
    sync_folder(path)
}

/// Without it, the rename may be lost with the power.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    #[expect(clippy::disallowed_methods, reason = "the state of the node proxy is a file of the shell")]
    File::open(folder)?.sync_all()
}

/// The text of a file; `None` if there is none.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    #[expect(clippy::disallowed_methods, reason = "the state of the node proxy is a file of the shell")]
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
