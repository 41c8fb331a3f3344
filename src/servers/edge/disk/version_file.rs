//! The file in which resourceVersions are reserved across restarts.

use std::path::PathBuf;

use super::atomic_file;
use crate::servers::edge::{access::digest::checksum, cache::versions::Reservation};

/// The first line: what the file is, and its version.
const HEAD: &str = "roster edge resourceVersions v1";

/// A file with the last version that may be in use.
#[derive(Clone, Debug)]
pub(crate) struct VersionFile(PathBuf);

impl VersionFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The last version that was reserved; `None` if there is none, or it cannot be read.
    pub(crate) fn read(&self) -> Option<u64> {
        let path = self.0.display();
        match atomic_file::read(&self.0) {
            Ok(None) => None,
            Ok(Some(text)) => {
                let reserved = parse(&text);
                if reserved.is_none() {
                    tracing::error!(%path, "the state file is damaged; versions begin at the clock");
                }
                reserved
            }
            Err(error) => {
                tracing::error!(%path, %error, "the state file cannot be read; versions begin at the clock");
                None
            }
        }
    }
}

impl Reservation for VersionFile {
    fn reserve(&self, until: u64) {
        if let Err(error) = atomic_file::write(&self.0, text(until).as_bytes()) {
            tracing::error!(path = %self.0.display(), %error, "the state file cannot be written; versions depend on the clock");
        }
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
        file.reserve(7);
        file.reserve(9);
        assert_eq!(file.read(), Some(9));
        let nowhere = VersionFile::new(dir.path().join("missing/edge.state"));
        nowhere.reserve(9);
        assert_eq!(nowhere.read(), None);
    }
}
