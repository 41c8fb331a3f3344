//! The TCP stream of a connection, which tells when its client has hung up.
//!
//! hyper notices the end of a connection when it reads up to it. What the client has sent before hides it: a request that
//! waits for its turn, and whose body nobody reads meanwhile, would get its turn although nobody waits for the answer.

use std::{
    io::{self, IoSlice},
    net::Shutdown,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};

use futures::FutureExt;
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready},
    net::TcpStream,
    time::sleep,
};

/// How often somebody who waits looks whether the client is still there: the system tells only who reads.
const EVERY: Duration = Duration::from_millis(100);

/// A TCP stream, of which others may ask whether its client has hung up.
pub(super) struct WatchedTcpStream(Arc<TcpStream>);

/// Whether the client of a connection has hung up. The default is that of a stream that does not tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct HangUp(Weak<TcpStream>);

impl WatchedTcpStream {
    pub(super) fn new(tcp: TcpStream) -> Self {
        Self(Arc::new(tcp))
    }

    pub(super) fn hang_up(&self) -> HangUp {
        HangUp(Arc::downgrade(&self.0))
    }
}

impl HangUp {
    /// Resolves soon after the client has closed the connection, or its own half of it: hyper takes both for the end.
    pub(crate) async fn heard(&self) {
        while !self.is_heard() {
            sleep(EVERY).await;
        }
    }

    fn is_heard(&self) -> bool {
        let Some(tcp) = self.0.upgrade() else { return false };
        let state = tcp.ready(Interest::READABLE).now_or_never();
        state.is_some_and(|state| state.is_ok_and(Ready::is_read_closed))
    }
}

impl AsyncRead for WatchedTcpStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read_buf(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(|_| ())),
            }
        }
    }
}

impl WatchedTcpStream {
    fn poll_write_with(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match write(&self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsyncWrite for WatchedTcpStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |tcp| tcp.try_write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |tcp| tcp.try_write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(socket2::SockRef::from(&*self.0).shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::timeout,
    };

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// A client, and its connection as the server has it.
    async fn connected() -> (TcpStream, WatchedTcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (client, server) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        (client.unwrap(), WatchedTcpStream::new(server.unwrap().0))
    }

    #[tokio::test]
    async fn a_client_that_hangs_up_is_heard_before_what_it_sent_is_read() {
        let (mut client, mut server) = connected().await;
        let hang_up = server.hang_up();
        client.write_all(b"what it sent").await.unwrap();
        let mut first = [0];
        server.read_exact(&mut first).await.unwrap();
        assert!(timeout(3 * EVERY, hang_up.heard()).await.is_err(), "it is still there");
        drop(client);
        timeout(LONG, hang_up.heard()).await.unwrap();
        let mut rest = String::new();
        server.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "hat it sent");
    }

    #[tokio::test]
    async fn it_is_written_to_the_end_and_shut_down() {
        let (mut client, mut server) = connected().await;
        let all = vec![b'x'; 4 << 20];
        let (written, read) = tokio::join!(
            async {
                server.write_all(&all).await?;
                server.shutdown().await
            },
            async {
                let mut read = Vec::new();
                client.read_to_end(&mut read).await.map(|_| read)
            }
        );
        written.unwrap();
        assert!(read.unwrap() == all);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_does_not_tell_is_never_heard() {
        assert!(timeout(LONG, HangUp::default().heard()).await.is_err());
    }
}
