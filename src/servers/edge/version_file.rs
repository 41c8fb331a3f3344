//! The file in which resourceVersions are reserved across restarts.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::PathBuf,
};

use ring::digest::{SHA256, digest};

use super::versions::Reservation;

/// The first line: what the file is, and its version.
const HEAD: &str = "roster edge resourceVersions v1";

/// A file with the last version that may be in use.
#[derive(Clone, Debug)]
pub(super) struct VersionFile(PathBuf);

impl VersionFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The last version that was reserved; `None` if there is none, or it cannot be read.
    pub(super) fn read(&self) -> Option<u64> {
        #[expect(clippy::disallowed_methods, reason = "the state of the node proxy is a file of the shell")]
        match fs::read_to_string(&self.0) {
            Ok(text) => {
                let reserved = parse(&text);
                if reserved.is_none() {
                    tracing::error!(path = %self.0.display(), "the state file is damaged; versions begin at the clock");
                }
                reserved
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::error!(path = %self.0.display(), %error, "the state file cannot be read; versions begin at the clock");
                None
            }
        }
    }

    /// Writes another file, and renames it: the file is whole at any time.
    fn write(&self, until: u64) -> io::Result<()> {
        let next = self.0.with_extension("next");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&next)?;
        file.write_all(text(until).as_bytes())?;
        file.sync_all()?;
        fs::rename(&next, &self.0)
    }
}

impl Reservation for VersionFile {
    fn reserve(&self, until: u64) -> bool {
        let written = self.write(until);
        if let Err(error) = &written {
            tracing::error!(path = %self.0.display(), %error, "the state file cannot be written; versions depend on the clock");
        }
        written.is_ok()
    }
}

fn text(until: u64) -> String {
    let content = format!("{HEAD}\n{until}\n");
    let checksum = checksum(&content);
    content + &checksum + "\n"
}

fn parse(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let (head, until, sum) = (lines.next()?, lines.next()?, lines.next()?);
    let is_whole = head == HEAD && lines.next().is_none() && sum == checksum(&format!("{head}\n{until}\n"));
    until.parse().ok().filter(|_| is_whole)
}

fn checksum(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_damaged_is_not_believed() {
        let whole = text(1_887_436_800_000_000);
        assert_eq!(parse(&whole), Some(1_887_436_800_000_000));
        for damaged in [
            String::new(),
            whole[..whole.len() - 2].to_owned(),
            whole.replace("18874", "18875"),
            whole.replace("v1", "v2"),
            whole.clone() + "more\n",
        ] {
            assert_eq!(parse(&damaged), None, "{damaged}");
        }
    }

    #[test]
    fn a_reservation_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = VersionFile::new(dir.path().join("edge.state"));
        assert_eq!(file.read(), None);
        assert!(file.reserve(7) && file.reserve(9));
        assert_eq!(file.read(), Some(9));
        assert!(!VersionFile::new(dir.path().join("missing/edge.state")).reserve(9));
    }
}
