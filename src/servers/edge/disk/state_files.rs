//! The files from which a node proxy starts again: a snapshot, and journals of what changed since.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::{
    atomic_file,
    saved_state::SavedState,
    state_record::{DamagedRecord, StateRecord},
};

/// Where the state is. Beside `PATH`, `PATH.objects` is the snapshot of some generation, and `PATH.journal.N` has what changed
/// since the snapshot of generation N. A snapshot begins a journal before it is written, so that there may be several. Where
/// `PATH.journal.N.gap` exists, changes are missing after that journal: they could not be written. Where
/// `PATH.journal.N.refused` does, there is a refusal among them, and no permission counts.
#[derive(Clone, Debug)]
pub(crate) struct StateFiles {
    path: PathBuf,
    node: String,
}

/// What the files have.
#[derive(Debug, Default)]
pub(crate) struct LoadedState {
    /// What was known; `None` if there are no files, or they cannot be used.
    pub(crate) state: Option<SavedState>,
    /// The generation of the snapshot.
    pub(crate) base: u64,
    /// The generation of the next journal.
    pub(crate) next: u64,
    /// What is wrong with the files: what follows it is lost.
    pub(super) damage: Option<String>,
}

/// Why a file is not read to its end.
#[derive(Debug, thiserror::Error)]
enum FileDamage {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Record(#[from] DamagedRecord),
    #[error("it is cut")]
    Cut,
    #[error("it is missing")]
    Missing,
    #[error("changes after it could not be saved")]
    Gap,
    #[error("it is of another node")]
    OtherNode,
}

/// What was read of a file.
#[derive(Debug, Default)]
struct FileContent {
    generation: u64,
    /// Whether the last record was read.
    is_ended: bool,
    /// The size of the records that were read in bytes.
    size: u64,
    damage: Option<FileDamage>,
}

impl StateFiles {
    pub(crate) fn new(path: PathBuf, node: &str) -> Self {
        Self { path, node: node.to_owned() }
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(suffix);
        path.into()
    }

    fn snapshot(&self) -> PathBuf {
        self.beside(".objects")
    }

    /// The path of a journal.
    pub(crate) fn journal(&self, generation: u64) -> PathBuf {
        self.beside(&format!(".journal.{generation}"))
    }

    /// The mark that changes are missing after a journal.
    fn gap(&self, generation: u64) -> PathBuf {
        self.beside(&format!(".journal.{generation}.gap"))
    }

    /// The mark that a refusal is missing after a journal.
    fn refused(&self, generation: u64) -> PathBuf {
        self.beside(&format!(".journal.{generation}.refused"))
    }

    /// The generations of the journals that exist, or of which only a mark does, in order.
    fn journals(&self) -> io::Result<Vec<u64>> {
        let prefix = self.beside(".journal.").file_name().map(OsString::from).unwrap_or_default();
        let mut found = Vec::new();
        for entry in fs::read_dir(atomic_file::folder(&self.path))? {
            let name = entry?.file_name();
            let number = name.to_str().zip(prefix.to_str()).and_then(|(name, prefix)| name.strip_prefix(prefix));
            let number = number.map(|number| number.strip_suffix(".gap").unwrap_or(number));
            let number = number.map(|number| number.strip_suffix(".refused").unwrap_or(number));
            found.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Reads what is there. A journal whose last line is cut loses that line: the process ended while it wrote, and clients did
    /// not see the change.
    pub(crate) fn load(&self) -> LoadedState {
        let journals = self.journals().unwrap_or_default();
        let mut state = SavedState::default();
        let snapshot = self.read(&self.snapshot(), &mut state);
        let base = snapshot.as_ref().map_or(0, |content| content.generation);
        let next = journals.last().map_or(base, |last| last.saturating_add(1)).max(base);
        let mut loaded = LoadedState { base, next, ..LoadedState::default() };
        match &snapshot {
            None if journals.is_empty() => return loaded,
            None if !journals.contains(&0) => {
                loaded.damage = Some(message(&self.snapshot(), &FileDamage::Missing));
                return loaded;
            }
            Some(FileContent { is_ended: false, damage, .. }) => {
                loaded.damage = Some(message(&self.snapshot(), damage.as_ref().unwrap_or(&FileDamage::Cut)));
                return loaded;
            }
            _ => {}
        }
        let mut since_base = journals.iter().filter(|generation| **generation >= base);
        let mut is_refusal_missing = since_base.any(|generation| is_there(&self.refused(*generation)));
        for generation in base..next {
            let path = self.journal(generation);
            let content = self.read(&path, &mut state);
            loaded.damage = match content {
                _ if is_there(&self.gap(generation)) => Some(message(&path, &FileDamage::Gap)),
                // What it had is lost; what came after it does not fit.
                None => Some(message(&path, &FileDamage::Missing)),
                Some(FileContent { damage: Some(damage), size, .. }) => {
                    let is_last = generation + 1 == next;
                    let is_repaired = is_last && matches!(damage, FileDamage::Cut) && cut(&path, size).is_ok();
                    (!is_repaired).then(|| message(&path, &damage))
                }
                Some(_) => None,
            };
            if loaded.damage.is_some() {
                // There may have been refusals in what cannot be read. Those that could not be written are marked.
                is_refusal_missing |= !is_there(&self.gap(generation));
                break;
            }
        }
        if is_refusal_missing {
            state.permissions.clear();
        }
        loaded.state = Some(state);
        loaded
    }

    /// Reads a file up to what is damaged; `None` if there is none.
    fn read(&self, path: &Path, state: &mut SavedState) -> Option<FileContent> {
        #[expect(clippy::disallowed_methods, reason = "the state of the node proxy is a file of the shell")]
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(FileContent { damage: Some(error.into()), ..FileContent::default() }),
        };
        let mut content = FileContent::default();
        content.damage = self.read_records(BufReader::new(file), state, &mut content).err();
        Some(content)
    }

    fn read_records(
        &self,
        mut file: impl BufRead,
        state: &mut SavedState,
        content: &mut FileContent,
    ) -> Result<(), FileDamage> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if file.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if line.last() != Some(&b'\n') {
                return Err(FileDamage::Cut);
            }
            let text = str::from_utf8(&line).map_err(|_| DamagedRecord::Checksum)?;
            let record = StateRecord::read(text, &self.node)?;
            match record {
                Some(StateRecord::Head { generation, node }) if content.size == 0 => {
                    if node != self.node {
                        return Err(FileDamage::OtherNode);
                    }
                    content.generation = generation;
                }
                _ if content.size == 0 => return Err(DamagedRecord::Format.into()),
                Some(StateRecord::End) => content.is_ended = true,
                Some(record) => state.take(record),
                None => {}
            }
            content.size += line.len() as u64;
        }
    }

    /// Writes the snapshot of a generation, and removes the journals before it. Returns its size in bytes.
    pub(super) fn write_snapshot(
        &self,
        generation: u64,
        records: impl IntoIterator<Item = StateRecord>,
    ) -> io::Result<u64> {
        let size = atomic_file::write_with(&self.snapshot(), |file| {
            let head = StateRecord::Head { generation, node: self.node.clone() };
            let (mut text, mut size) = (String::new(), 0);
            for record in std::iter::once(head).chain(records).chain([StateRecord::End]) {
                text.clear();
                record.write(&mut text);
                file.write_all(text.as_bytes())?;
                size += text.len() as u64;
            }
            Ok(size)
        })?;
        let journals = self.journals().unwrap_or_default();
        journals.into_iter().filter(|old| *old < generation).for_each(|old| self.remove_journal(old));
        Ok(size)
    }

    /// Begins a journal.
    pub(super) fn begin_journal(&self, generation: u64) -> io::Result<File> {
        let path = self.journal(generation);
        let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        let mut head = String::new();
        StateRecord::Head { generation, node: self.node.clone() }.write(&mut head);
        file.write_all(head.as_bytes())?;
        Ok(file)
    }

    /// Marks that changes are missing after a journal. A full disk mostly has room for a name; if not, the journal goes.
    pub(super) fn mark_gap(&self, generation: u64) {
        if atomic_file::create(&self.gap(generation)).is_err() {
            let _ = fs::remove_file(self.journal(generation));
        }
    }

    /// Marks that a refusal is missing after a journal. If there is no room for a name, nothing may be left to start from.
    pub(super) fn mark_refusal(&self, generation: u64) {
        let Err(error) = atomic_file::create(&self.refused(generation)) else { return };
        tracing::error!(%error, "a refusal cannot be saved: the saved state is removed");
        for path in [self.snapshot(), self.journal(0)] {
            let _ = fs::remove_file(path);
        }
    }

    /// Removes a journal, as far as that is possible.
    pub(super) fn remove_journal(&self, generation: u64) {
        for path in [self.journal(generation), self.gap(generation), self.refused(generation)] {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether there is a file of this name, or anything else.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn message(path: &Path, damage: &FileDamage) -> String {
    format!("{}: {damage}", path.display())
}

fn cut(path: &Path, size: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(size)
}
