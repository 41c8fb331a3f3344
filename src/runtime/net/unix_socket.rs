//! A bound Unix socket: a file, whose mode says who may connect.

use std::{
    fs::{self, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use tokio::{
    net::{UnixListener, UnixStream},
    time::timeout,
};

use super::socket::BACKLOG;

/// How long another server may take to accept. The system does it for one that runs.
const ACCEPT: Duration = Duration::from_secs(1);

/// A bound Unix socket: connections queue, and no one answers yet. Its file is removed with it.
#[derive(Debug)]
pub struct UnixSocket {
    pub(super) listener: UnixListener,
    file: SocketFile,
}

impl UnixSocket {
    /// The default mode of the file: only the user of the server connects, and root.
    pub const MODE: u32 = 0o600;

    /// Binds a socket, within a runtime. The file of a server that runs no more is replaced; any other file stays.
    pub async fn bind(path: &Path, mode: u32) -> anyhow::Result<Self> {
        let context = || format!("cannot listen on {}", path.display());
        remove_stale(path).await.with_context(context)?;
        Self::listen(path, mode).with_context(context)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    fn listen(path: &Path, mode: u32) -> io::Result<Self> {
        let socket = tokio::net::UnixSocket::new_stream()?;
        socket.bind(path)?;
        let file = SocketFile::of(path)?;
        // Nobody can connect before it listens, whatever mode the file has until then.
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        Ok(Self { listener: socket.listen(BACKLOG)?, file })
    }
}

/// Removes the file of a server that runs no more: nobody accepts a connection there.
async fn remove_stale(path: &Path) -> anyhow::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
        Ok(metadata) if !metadata.file_type().is_socket() => bail!("the file exists, and is not a socket"),
        Ok(_) => {}
    }
    match timeout(ACCEPT, UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Ok(fs::remove_file(path)?),
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => Ok(()),
        // Its queue is full.
        Ok(Err(error)) if error.kind() != ErrorKind::WouldBlock => {
            Err(error).context("the file exists, and whether a server listens there is not known")
        }
        Ok(_) | Err(_) => bail!("another server listens there"),
    }
}

/// The file of a socket, which is removed when this is dropped, unless another one has replaced it.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino() })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_same = |metadata: fs::Metadata| (metadata.dev(), metadata.ino()) == (self.device, self.inode);
        if fs::symlink_metadata(&self.path).is_ok_and(is_same)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "the file of the socket cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[tokio::test]
    async fn a_socket_has_its_mode_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edge.sock");
        for wanted in [UnixSocket::MODE, 0o660, 0o666] {
            let socket = UnixSocket::bind(&path, wanted).await.unwrap();
            assert_eq!((mode(&path), socket.path()), (wanted, path.as_path()));
            UnixStream::connect(&path).await.unwrap();
            drop(socket);
            assert!(!path.exists(), "{wanted:o}");
        }
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "it is about a file")]
    async fn a_file_is_replaced_only_if_nobody_listens_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edge.sock");
        let bind = async || UnixSocket::bind(&path, UnixSocket::MODE).await;
        let refused = async || format!("{:#}", bind().await.unwrap_err());

        // A server that was killed leaves its file.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let first = bind().await.unwrap();
        assert!(refused().await.ends_with(": another server listens there"));
        UnixStream::connect(&path).await.unwrap();

        // Somebody removed the file, and another server made one of its own, which stays.
        fs::remove_file(&path).unwrap();
        let second = bind().await.unwrap();
        drop(first);
        UnixStream::connect(&path).await.unwrap();
        drop(second);

        fs::write(&path, "mine").unwrap();
        assert!(refused().await.ends_with(": the file exists, and is not a socket"));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(refused().await.ends_with(": the file exists, and is not a socket"));
        assert!(path.is_symlink());
    }
}
