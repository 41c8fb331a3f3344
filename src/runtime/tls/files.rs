//! Certificates in files, read again when they change.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{sync::mpsc, time};

use super::{Pair, PairError, Served};

/// Certificate and key are written one after the other: so long is waited for the second.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Events can be lost, and some file systems have none: so often the files are looked at anyway.
const POLL: Duration = Duration::from_mins(1);
/// Bytes of a file; no certificate has more.
const MAX_FILE: u64 = 1 << 20;

/// Files that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Files {
    /// A certificate with those between it and its CA, and its key.
    Pair {
        /// PEM.
        certificate: PathBuf,
        /// PEM.
        key: PathBuf,
    },
    /// CAs whose clients are let in, in PEM.
    ClientCa(PathBuf),
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It can be read, and not be served.
    #[error("{files}: {error}")]
    Use {
        /// Which one, or both.
        files: String,
        /// Why.
        #[source]
        error: PairError,
    },
}

/// What was read.
#[derive(PartialEq, Eq)]
enum Content {
    Pair(Pair),
    ClientCa(Vec<u8>),
}

impl Files {
    /// Reads them, serves what they hold, and gives the task that does it again at every change. It never ends.
    pub async fn serve(self, served: Arc<Served>) -> Result<impl Future<Output = ()> + Send + use<>, FileError> {
        let content = self.read().await?;
        self.apply(&content, &served)?;
        Ok(watch(self, content, served))
    }

    async fn read(&self) -> Result<Content, FileError> {
        Ok(match self {
            Self::Pair { certificate, key } => {
                Content::Pair(Pair { certificate: read(certificate).await?, key: read(key).await? })
            }
            Self::ClientCa(path) => Content::ClientCa(read(path).await?),
        })
    }

    fn apply(&self, content: &Content, served: &Served) -> Result<(), FileError> {
        let applied = match content {
            Content::Pair(pair) => served.replace(pair),
            Content::ClientCa(ca) => served.let_in(ca),
        };
        applied.map_err(|error| FileError::Use { files: self.blamed(&error), error })
    }

    /// Which of them an error is about.
    fn blamed(&self, error: &PairError) -> String {
        match (self, error) {
            (Self::ClientCa(path), _)
            | (Self::Pair { certificate: path, .. }, PairError::Certificate(_))
            | (Self::Pair { key: path, .. }, PairError::Key(_)) => path.display().to_string(),
            (Self::Pair { certificate, key }, _) => format!("{}, {}", certificate.display(), key.display()),
        }
    }

    /// The folders they are in. A Secret volume swaps a symlink there; the files themselves see no event.
    fn folders(&self) -> Vec<PathBuf> {
        let mut folders = match self {
            Self::Pair { certificate, key } => vec![folder(certificate), folder(key)],
            Self::ClientCa(path) => vec![folder(path)],
        };
        folders.dedup();
        folders
    }
}

fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let fail = |error| FileError::Read { path: path.to_owned(), error };
    let length = tokio::fs::metadata(path).await.map_err(fail)?.len();
    if length > MAX_FILE {
        return Err(fail(io::Error::other("the file has more than 1 MiB: it is no certificate")));
    }
    tokio::fs::read(path).await.map_err(fail)
}

async fn watch(files: Files, mut last: Content, served: Arc<Served>) {
    let (tell, mut told) = mpsc::channel::<()>(1);
    // Kept as long as it is to watch.
    let watcher = watcher(&files, tell);
    if let Err(error) = &watcher {
        tracing::warn!(%error, "changes of certificates are seen once a minute only");
    }
    let mut poll = time::interval(POLL);
    loop {
        tokio::select! {
            Some(()) = told.recv() => {
                time::sleep(DEBOUNCE).await;
                while told.try_recv().is_ok() {}
            }
            _ = poll.tick() => {}
        }
        match files.read().await {
            Ok(content) if content == last => {}
            Ok(content) => {
                if let Err(error) = files.apply(&content, &served) {
                    tracing::error!(error = text(&error), "the new files are bad: what was served before stays");
                }
                last = content;
            }
            Err(error) => {
                served.metrics().reloaded("kept");
                tracing::error!(error = text(&error), "the files cannot be read: what was served before stays");
            }
        }
    }
}

fn watcher(files: &Files, tell: mpsc::Sender<()>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Our own reading raises access events: with them it would go on for ever.
        if event.is_ok_and(|e| !e.kind.is_access()) {
            // Full: somebody has been told already.
            let _ = tell.try_send(());
        }
    })?;
    for folder in files.folders() {
        watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

/// An error with its causes, each said once.
fn text(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
