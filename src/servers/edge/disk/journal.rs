//! What changed since the last snapshot, on disk before clients see it.

use std::{
    fs::File,
    io::{self, Write},
    path::PathBuf,
};

use super::{atomic_file, state_files::StateFiles, state_record::StateRecord};

/// The least size of a journal, in bytes, that is worth a snapshot. The disks of edge nodes wear out: a larger state waits for
/// a larger journal.
const WORTHWHILE: u64 = 4 << 20;
/// About how many bytes are written at once.
const PIECE: usize = 1 << 20;
/// How many journals there may be: each start begins one.
const MOST_JOURNALS: u64 = 4;

/// A journal that is to be on the disk.
#[derive(Debug)]
pub(crate) struct JournalSync {
    file: File,
    path: PathBuf,
}

/// Appends what changes to a file. The system writes it to the disk when it likes to: what a process wrote is there after
/// SIGKILL, and the last changes may be lost with the power.
#[derive(Debug)]
pub(crate) struct Journal {
    files: StateFiles,
    /// The generation of the snapshot.
    base: u64,
    generation: u64,
    /// `None`: the journal is broken.
    file: Option<File>,
    size: u64,
    /// The size of the last snapshot.
    snapshot: u64,
    /// A journal before this one lacks changes: this one is of use with its snapshot only.
    follows_gap: bool,
}

impl Journal {
    /// A journal after the snapshot of generation `base`. `is_damaged`: so are the files before it.
    pub(crate) fn new(files: StateFiles, base: u64, generation: u64, is_damaged: bool) -> Self {
        let mut journal = Self { files, base, generation, file: None, size: 0, snapshot: 0, follows_gap: is_damaged };
        if !is_damaged {
            journal.open();
        }
        journal
    }

    /// Begins the file. Each generation has one, so that one that is missing is noticed.
    fn open(&mut self) {
        match self.files.begin_journal(self.generation) {
            Ok(file) => self.file = Some(file),
            Err(error) => self.fail(&error),
        }
        self.size = 0;
    }

    /// A change cannot be written: the journal is of no use any more, until there is a snapshot.
    fn fail(&mut self, error: &io::Error) {
        tracing::error!(path = %self.files.journal(self.generation).display(), %error, "the state cannot be saved");
        self.file = None;
        self.files.mark_gap(self.generation);
    }

    /// Appends records. A write that fails is logged, once until the next snapshot; that refusals are missing is marked.
    pub(crate) fn append(&mut self, records: &[StateRecord]) {
        self.write(records);
        let is_refusal = |record: &StateRecord| matches!(record, StateRecord::AccessEnded(..));
        if self.file.is_none() && records.iter().any(is_refusal) {
            self.files.mark_refusal(self.generation);
        }
    }

    fn write(&mut self, records: &[StateRecord]) {
        let mut text = String::new();
        for (number, record) in records.iter().enumerate() {
            let Some(file) = &mut self.file else { return };
            record.write(&mut text);
            // A first list may have a hundred megabytes.
            if text.len() < PIECE && number + 1 < records.len() {
                continue;
            }
            match file.write_all(text.as_bytes()) {
                Ok(()) => self.size += text.len() as u64,
                Err(error) => self.fail(&error),
            }
            text.clear();
        }
    }

    /// What writes it to the disk; `None`: it is broken.
    pub(crate) fn to_sync(&self) -> Option<JournalSync> {
        let file = self.file.as_ref()?.try_clone().ok()?;
        Some(JournalSync { file, path: self.files.journal(self.generation) })
    }

    /// Whether a snapshot should be written.
    pub(crate) fn is_snapshot_due(&self) -> bool {
        self.file.is_none() || self.size > WORTHWHILE.max(self.snapshot) || self.generation - self.base >= MOST_JOURNALS
    }

    /// Begins the journal after the next snapshot, and returns its generation.
    pub(crate) fn rotate(&mut self) -> u64 {
        self.follows_gap |= self.file.is_none();
        self.file = None;
        self.generation += 1;
        self.open();
        self.generation
    }

    /// The snapshot of this generation was written, with this size; or it was not.
    pub(crate) fn end_snapshot(&mut self, size: Option<u64>) {
        match size {
            Some(size) => (self.base, self.snapshot, self.follows_gap) = (self.generation, size, false),
            // Nothing can follow the gap but a snapshot.
            None if self.follows_gap => self.file = None,
            None => {}
        }
    }
}

impl JournalSync {
    /// Writes what was appended to the disk. It may take long.
    pub(crate) fn sync(self) -> io::Result<()> {
        self.file.sync_data()?;
        atomic_file::sync_folder(&self.path)
    }
}
