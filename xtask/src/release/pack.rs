//! Bytes that are the same in every run: tar archives, gzip and digests.

use std::io::Write;

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use ring::digest::{SHA256, digest};
use tar::{EntryType, Header};

/// A tar archive, whose entries belong to root and have one time.
pub(super) struct Tar {
    archive: tar::Builder<Vec<u8>>,
    epoch: u64,
}

impl Tar {
    pub(super) fn new(epoch: u64) -> Self {
        Self { archive: tar::Builder::new(Vec::new()), epoch }
    }

    pub(super) fn folder(&mut self, path: &str) -> Result<()> {
        self.entry(EntryType::Directory, path, 0o755, &[])
    }

    pub(super) fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> Result<()> {
        self.entry(EntryType::Regular, path, mode, bytes)
    }

    fn entry(&mut self, kind: EntryType, path: &str, mode: u32, bytes: &[u8]) -> Result<()> {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(self.epoch);
        header.set_size(bytes.len().try_into()?);
        Ok(self.archive.append_data(&mut header, path, bytes)?)
    }

    pub(super) fn finish(self) -> Result<Vec<u8>> {
        Ok(self.archive.into_inner()?)
    }
}

/// The bytes as gzip writes them, without a name and a time.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::default());
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}

/// The SHA-256 in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let digest = digest(&SHA256, bytes);
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or_default());
    digest.as_ref().iter().flat_map(digits).collect()
}
