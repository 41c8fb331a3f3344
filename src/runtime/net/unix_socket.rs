//! A bound Unix socket: a file, whose mode says who may connect.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, anyhow, bail};
use tokio::{
    net::{UnixListener, UnixStream},
    time::timeout,
};

use super::socket::BACKLOG;
use crate::runtime::file_lock::{FileLock, FileLockError};

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
        // Of two servers that start, only one may find that the file is of no use.
        let lock = take_lock(path).with_context(context)?;
        check_unused(path).await.with_context(context)?;
        Self::listen(path, mode, lock).with_context(context)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file.identity.path
    }

    /// The file, as it can be found again.
    pub(super) fn identity(&self) -> FileIdentity {
        self.file.identity.clone()
    }

    /// Makes the file where nobody else can come, and moves it into its place when it has its mode. The mode of a file is set
    /// by its path, where others might have put another one; and nobody is refused who comes in between.
    fn listen(path: &Path, mode: u32, lock: FileLock) -> io::Result<Self> {
        let socket = tokio::net::UnixSocket::new_stream()?;
        let folder = PrivateFolder::beside(path)?;
        let made = folder.socket();
        socket.bind(&made)?;
        fs::set_permissions(&made, Permissions::from_mode(mode))?;
        let listener = socket.listen(BACKLOG)?;
        let metadata = fs::symlink_metadata(&made)?;
        fs::rename(&made, path)?;
        let identity = FileIdentity { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino() };
        Ok(Self { listener, file: SocketFile { identity, lock } })
    }
}

/// The lock of a socket, `PATH.lock`.
fn take_lock(path: &Path) -> anyhow::Result<FileLock> {
    FileLock::beside(path).map_err(|error| match error {
        FileLockError::Held => anyhow!("another server uses this socket, or is about to"),
        FileLockError::Io(error) => anyhow!(error).context("the lock beside it cannot be taken"),
    })
}

/// A folder that only this user can enter, beside a socket. It is removed with the value.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes the folder. Who has the lock of the socket is the only one to do so.
    fn beside(path: &Path) -> io::Result<Self> {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(".new");
        let folder = Self(path.with_file_name(name));
        folder.remove();
        DirBuilder::new().mode(0o700).create(&folder.0)?;
        Ok(folder)
    }

    /// A socket in it.
    fn socket(&self) -> PathBuf {
        self.0.join("s")
    }

    /// Removes it, if it is there: a process that was killed may leave it. No link is followed.
    fn remove(&self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// An error unless there is no file, or that of a server that runs no more: nobody accepts a connection there.
async fn check_unused(path: &Path) -> anyhow::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
        Ok(metadata) if !metadata.file_type().is_socket() => bail!("the file exists, and is not a socket"),
        Ok(_) => {}
    }
    match timeout(ACCEPT, UnixStream::connect(path)).await {
        Ok(Err(error)) if [ErrorKind::ConnectionRefused, ErrorKind::NotFound].contains(&error.kind()) => Ok(()),
        // Its queue is full.
        Ok(Err(error)) if error.kind() != ErrorKind::WouldBlock => {
            Err(error).context("the file exists, and whether a server listens there is not known")
        }
        Ok(_) | Err(_) => bail!("another server listens there"),
    }
}

/// The file of a socket, which is removed when this is dropped, unless another one has replaced it. The lock lasts longer.
#[derive(Debug)]
struct SocketFile {
    identity: FileIdentity,
    #[expect(dead_code, reason = "held, never read")]
    lock: FileLock,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let path = &self.identity.path;
        if self.identity.check().is_ok()
            && let Err(error) = fs::remove_file(path)
        {
            tracing::warn!(path = %path.display(), %error, "the file of the socket cannot be removed");
        }
    }
}

/// A file at a path.
#[derive(Clone, Debug)]
pub(super) struct FileIdentity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// An error if the file is not there any more: nobody finds the server.
    pub(super) fn check(&self) -> Result<(), String> {
        let path = self.path.display();
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if (metadata.dev(), metadata.ino()) == (self.device, self.inode) => Ok(()),
            Ok(_) => Err(format!("{path}: another file has replaced the socket; restart the server")),
            Err(error) => Err(format!("{path}: the socket cannot be found; restart the server: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

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
        let other = || std::os::unix::net::UnixListener::bind(&path).unwrap();

        // A server that was killed leaves its file.
        drop(other());
        assert!(path.exists());
        let first = bind().await.unwrap();
        assert!(refused().await.ends_with(": another server uses this socket, or is about to"));
        UnixStream::connect(&path).await.unwrap();

        // Somebody removed the file, and another program made one of its own, which stays.
        fs::remove_file(&path).unwrap();
        let second = other();
        drop(first);
        UnixStream::connect(&path).await.unwrap();
        assert!(refused().await.ends_with(": another server listens there"));
        drop(second);

        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        assert!(refused().await.ends_with(": the file exists, and is not a socket"));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(refused().await.ends_with(": the file exists, and is not a socket"));
        assert!(path.is_symlink());
    }

    #[tokio::test]
    async fn of_servers_that_start_at_once_one_replaces_the_file_of_a_server_that_was_killed() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let path = dir.path().join(format!("{round}.sock"));
            drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
            let all = join_all((0..8).map(|_| UnixSocket::bind(&path, UnixSocket::MODE))).await;
            let bound: Vec<_> = all.into_iter().filter_map(Result::ok).collect();
            assert_eq!(bound.len(), 1, "{round}");
            UnixStream::connect(&path).await.unwrap();
        }
    }

    #[tokio::test]
    async fn the_mode_is_set_before_others_can_reach_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (path, folder) = (dir.path().join("edge.sock"), dir.path().join(".edge.sock.new"));
        // What a process that was killed leaves.
        fs::create_dir(&folder).unwrap();
        drop(std::os::unix::net::UnixListener::bind(folder.join("s")).unwrap());
        let private = PrivateFolder::beside(&path).unwrap();
        assert_eq!((mode(&folder), fs::read_dir(&folder).unwrap().count()), (0o700, 0));
        drop(private);
        assert!(!folder.exists());

        // Somebody else has put a link there.
        let elsewhere = tempfile::tempdir().unwrap();
        drop(std::os::unix::net::UnixListener::bind(elsewhere.path().join("s")).unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
        let socket = UnixSocket::bind(&path, 0o600).await.unwrap();
        assert_eq!((mode(&path), fs::read_dir(elsewhere.path()).unwrap().count()), (0o600, 1));
        drop(socket);
    }

    #[tokio::test]
    async fn a_file_that_is_gone_or_replaced_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edge.sock");
        let socket = UnixSocket::bind(&path, UnixSocket::MODE).await.unwrap();
        let check = || socket.identity().check().err().unwrap_or_default();
        assert_eq!(check(), "");
        fs::remove_file(&path).unwrap();
        assert!(check().contains("the socket cannot be found"), "{}", check());
        let _other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(check().contains("another file has replaced the socket"), "{}", check());
    }
}
