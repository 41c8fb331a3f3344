//! A listener: it accepts connections, and performs TLS handshakes.

use std::{net::SocketAddr, time::Duration};

use futures::FutureExt;
use tokio::time::sleep;

use super::{
    activity::ActivityStage,
    bound_socket::{BoundSocket, ListenAddress},
    connection::{ArrivedClient, Connections, OpenedStream},
    connection_stream::ConnectionStream,
    peer::Peer,
    socket::set_options,
    tcp_stream::WatchedTcpStream,
    tls_options::TlsOptions,
};
use crate::runtime::tls::{ClientChain, handshake};

/// The pause after a failed accept, most likely for lack of file descriptors. Connections end meanwhile.
const BACK_OFF: Duration = Duration::from_millis(50);

/// A socket and its connections.
pub(super) struct Listener {
    socket: BoundSocket,
    pub(super) connections: Connections,
    tls: Option<TlsOptions>,
}

impl Listener {
    pub(super) fn new(socket: BoundSocket, connections: Connections, tls: Option<TlsOptions>) -> Self {
        Self { socket, connections, tls }
    }

    pub(super) fn address(&self) -> ListenAddress {
        self.socket.address()
    }

    /// Accepts connections until it is dropped.
    pub(super) async fn accept(&self) {
        // Without a certificate connections wait, as they do before the first accept.
        if let Some(tls) = &self.tls {
            tls.certificate.first().await;
        }
        loop {
            if let Err(error) = self.accept_one().await {
                tracing::warn!(%error, "accept failed");
                sleep(BACK_OFF).await;
            }
        }
    }

    async fn accept_one(&self) -> std::io::Result<()> {
        match &self.socket {
            BoundSocket::Tcp(socket) => {
                let (tcp, address) = socket.listener.accept().await?;
                set_options(&tcp);
                let tcp = WatchedTcpStream::new(tcp);
                let client = ArrivedClient { hang_up: tcp.hang_up(), ..ArrivedClient::new(Peer::of(address)) };
                self.open(Box::new(tcp), client, Some(address));
            }
            BoundSocket::Unix(socket) => {
                let (stream, _) = socket.listener.accept().await?;
                let client = ArrivedClient::new(Peer::of_user(&stream));
                self.open(Box::new(stream), client, None);
            }
        }
        Ok(())
    }

    /// Serves a connection, after its handshake.
    fn open(&self, stream: ConnectionStream, client: ArrivedClient, address: Option<SocketAddr>) {
        match self.tls.clone() {
            None => {
                let opened = OpenedStream { io: stream, client: None };
                self.connections.spawn(client, std::future::ready(Some(opened)).boxed());
            }
            Some(TlsOptions { certificate, probe, .. }) => {
                let activity = client.activity.clone();
                let opening = async move {
                    let greeted = || activity.set(ActivityStage::Opening);
                    let tls = handshake(stream, address, &certificate, &probe, greeted).await?;
                    let client = tls.get_ref().1.peer_certificates().and_then(ClientChain::of);
                    Some(OpenedStream { io: Box::new(tls), client })
                };
                self.connections.spawn(client, opening.boxed());
            }
        }
    }
}
