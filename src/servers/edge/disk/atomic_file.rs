//! Files that are whole at any time.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Writes another file beside it, and renames that one: a crash, or a full disk, leaves what was there. Only the owner
/// may read it.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(content))
}

/// The same, with what `fill` writes.
pub(super) fn write_with<T>(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>) -> io::Result<T> {
    let mut next = path.as_os_str().to_owned();
    next.push(".next");
    let mut buffer = BufWriter::new(create(Path::new(&next))?);
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

/// Makes an empty file in place of what is there. `O_EXCL` follows no link, so that nothing else is ever written to.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// The folder of a file.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Without it, a new name of a file may be lost with the power.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = folder(path);
    #[expect(clippy::disallowed_methods, reason = "the state of the node proxy is a file of the shell")]
    File::open(folder)?.sync_all()
}

/// The text of a file; `None` if there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    #[expect(clippy::disallowed_methods, reason = "the state of the node proxy is a file of the shell")]
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the state of the node proxy is a file of the shell")]

    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_or_another_file_in_its_place_is_not_written_to() {
        for is_link in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let [path, next, other] = ["a", "a.next", "other"].map(|name| dir.path().join(name));
            fs::write(&other, "precious").unwrap();
            if is_link {
                symlink(&other, &next).unwrap();
            } else {
                fs::hard_link(&other, &next).unwrap();
            }
            write(&path, b"text").unwrap();
            assert_eq!(
                (read(&path).unwrap().unwrap(), read(&other).unwrap().unwrap()),
                ("text".into(), "precious".into())
            );
            assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
            assert!(!next.exists());
        }
        // A folder there is not removed.
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a.next")).unwrap();
        assert!(write(&dir.path().join("a"), b"text").is_err());
    }
}
