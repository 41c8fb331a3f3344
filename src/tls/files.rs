//! Certificates in files, read again when they change.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{sync::mpsc, time};

use super::{Pair, Served};

/// Certificate and key are written one after the other: so long is waited for the second.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Events can be lost, and some file systems have none: so often the files are looked at anyway.
const POLL: Duration = Duration::from_mins(1);
/// More than any certificate has.
const MAX_FILE: u64 = 1 << 20;

/// Where the files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// PEM: the certificate, and those between it and its CA.
    pub certificate: PathBuf,
    /// PEM: the key.
    pub key: PathBuf,
    /// PEM: CAs whose clients are let in.
    pub client_ca: Option<PathBuf>,
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct FileError {
    path: PathBuf,
    #[source]
    error: io::Error,
}

impl Files {
    /// Reads all of them.
    pub async fn read(&self) -> Result<Pair, FileError> {
        let client_ca = match &self.client_ca {
            Some(path) => Some(read(path).await?),
            None => None,
        };
        Ok(Pair { certificate: read(&self.certificate).await?, key: read(&self.key).await?, client_ca })
    }

    /// The folders they are in. A Secret volume swaps a symlink there; the files themselves see no event.
    fn folders(&self) -> Vec<PathBuf> {
        let files = [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()];
        let mut folders: Vec<PathBuf> = files.into_iter().flatten().map(|f| folder(f)).collect();
        folders.sort();
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
    let fail = |error| FileError { path: path.to_owned(), error };
    let length = tokio::fs::metadata(path).await.map_err(fail)?.len();
    if length > MAX_FILE {
        return Err(fail(io::Error::other("the file is over 1 MiB: it is no certificate")));
    }
    tokio::fs::read(path).await.map_err(fail)
}

/// Serves what is in the files whenever it has changed; `last` is what was read before. Never ends.
pub async fn watch(files: Files, mut last: Option<Pair>, served: Arc<Served>) {
    let (tell, mut told) = mpsc::channel::<()>(1);
    let _watcher = watcher(&files, tell).inspect_err(|error| {
        tracing::warn!(%error, "changes of certificates are seen once a minute only");
    });
    let mut poll = time::interval(POLL);
    loop {
        tokio::select! {
            event = told.recv() => match event {
                Some(()) => {
                    time::sleep(DEBOUNCE).await;
                    while told.try_recv().is_ok() {}
                }
                None => { poll.tick().await; }
            },
            _ = poll.tick() => {}
        }
        match files.read().await {
            Ok(pair) if last.as_ref() == Some(&pair) => {}
            Ok(pair) => {
                if let Err(error) = served.replace(&pair) {
                    tracing::error!(error = %chain(&error), "the new certificate is bad: the old one is served still");
                }
                last = Some(pair);
            }
            Err(error) => {
                served.metrics().reloaded("kept");
                tracing::error!(%error, "the certificate cannot be read: the old one is served still");
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

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) if !error.to_string().contains(&source.to_string()) => format!("{error}: {}", chain(source)),
        _ => error.to_string(),
    }
}
