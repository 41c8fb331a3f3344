//! What changed since the last snapshot, on disk before clients see it.

use std::{fs::File, io::Write};

use super::{state_files::StateFiles, state_record::StateRecord};

/// The least size of a journal, in bytes, that is worth a snapshot. The disks of edge nodes wear out: a larger state waits for
/// a larger journal.
const WORTHWHILE: u64 = 4 << 20;
/// About how many bytes are written at once.
const PIECE: usize = 1 << 20;
/// How many journals there may be: each start begins one.
const MOST_JOURNALS: u64 = 4;

/// Appends what changes to a file. The system writes it to the disk when it likes to: what a process wrote is there after
/// SIGKILL, and the last changes may be lost with the power.
#[derive(Debug)]
pub(super) struct Journal {
    files: StateFiles,
    /// The generation of the snapshot.
    base: u64,
    generation: u64,
    /// Opened by the first record.
    file: Option<File>,
    size: u64,
    /// The size of the last snapshot.
    snapshot: u64,
    /// A record is missing: what follows it does not fit, until there is a snapshot.
    is_broken: bool,
    /// A journal before this one is broken.
    follows_gap: bool,
}

impl Journal {
    /// A journal after the snapshot of generation `base`. `is_broken`: what the files have is damaged.
    pub(super) fn new(files: StateFiles, base: u64, generation: u64, is_broken: bool) -> Self {
        Self { files, base, generation, file: None, size: 0, snapshot: 0, is_broken, follows_gap: false }
    }

    /// Appends records. A write that fails is logged, once until the next snapshot.
    pub(super) fn append(&mut self, records: &[StateRecord]) {
        if self.is_broken || records.is_empty() {
            return;
        }
        if let Err(error) = self.write_all(records) {
            tracing::error!(path = %self.files.journal(self.generation).display(), %error, "the state cannot be saved");
            self.is_broken = true;
            self.file = None;
        }
    }

    /// Writes records piece by piece: a first list may have a hundred megabytes.
    fn write_all(&mut self, records: &[StateRecord]) -> std::io::Result<()> {
        let mut text = String::new();
        for (number, record) in records.iter().enumerate() {
            record.write(&mut text);
            if text.len() >= PIECE || number + 1 == records.len() {
                self.write(text.as_bytes())?;
                self.size += text.len() as u64;
                text.clear();
            }
        }
        Ok(())
    }

    fn write(&mut self, text: &[u8]) -> std::io::Result<()> {
        if self.file.is_none() {
            self.file = Some(self.files.begin_journal(self.generation)?);
        }
        match &mut self.file {
            Some(file) => file.write_all(text),
            None => Ok(()),
        }
    }

    /// Whether a snapshot should be written.
    pub(super) fn is_snapshot_due(&self) -> bool {
        self.is_broken || self.size > WORTHWHILE.max(self.snapshot) || self.generation - self.base >= MOST_JOURNALS
    }

    /// Begins the journal after the next snapshot, and returns its generation.
    pub(super) fn rotate(&mut self) -> u64 {
        self.generation += 1;
        self.follows_gap = std::mem::take(&mut self.is_broken);
        (self.file, self.size) = (None, 0);
        self.generation
    }

    /// The snapshot of this generation was written, with this size; or it was not.
    pub(super) fn end_snapshot(&mut self, size: Option<u64>) {
        match size {
            Some(size) => (self.base, self.snapshot) = (self.generation, size),
            None if self.follows_gap => {
                (self.is_broken, self.file) = (true, None);
                self.files.remove_journal(self.generation);
            }
            None => {}
        }
    }
}
