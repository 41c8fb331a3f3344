//! Files that are whole at any time.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Writes another file beside it, and renames that one: a crash, or a full disk, leaves what was there. Only the owner
/// may read it.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(content))
}

/// The same, with what `fill` writes.
pub(super) fn write_with<T>(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>) -> io::Result<T> {
    let mut next = path.as_os_str().to_owned();
    next.push(".next");
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
    let mut buffer = BufWriter::new(file);
    let written = fill(&mut buffer).and_then(|filled| {
        buffer.flush()?;
        buffer.get_ref().sync_all()?;
        Ok(filled)
    });
    let filled = match written {
        Ok(filled) => filled,
        Err(error) => {
            // What was written takes space that is missing.
            let _ = fs::remove_file(&next);
            return Err(error);
        }
    };
    fs::rename(&next, path)?;
    // The file is in its place, whatever becomes of it without power.
    if let Err(error) = sync_folder(path) {
        tracing::warn!(path = %path.display(), %error, "a folder cannot be synced");
    }
    Ok(filled)
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
