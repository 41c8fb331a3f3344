//! An open socket, and what is served behind it.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use tokio::{
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep,
};

use super::connection::Connections;
use crate::runtime::tls::{Probe, Served, handshake};

/// The back-off after an accept that failed: out of file descriptors, most likely. Connections end meanwhile.
const BACK_OFF: Duration = Duration::from_millis(50);

/// A listener, its connections, and how many there may be.
pub(super) struct Door {
    listener: TcpListener,
    pub(super) connections: Connections,
    slots: Arc<Semaphore>,
    tls: Option<Tls>,
}

/// What a door with TLS needs for each handshake.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) served: Arc<Served>,
    pub(super) probe: Arc<Probe>,
}

/// Opens a socket: from here on connections queue, and nothing answers. `[::]` takes IPv4 as well; on a machine
/// without IPv6 it is `0.0.0.0`.
pub(super) async fn open(address: SocketAddr) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let context = || format!("cannot listen on {address}");
    let listener = match TcpListener::bind(address).await {
        Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != ErrorKind::AddrInUse => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    };
    let listener = listener.with_context(context)?;
    let address = listener.local_addr().with_context(context)?;
    Ok((listener, address))
}

impl Door {
    pub(super) fn new(listener: TcpListener, connections: Connections, most: usize, tls: Option<Tls>) -> Self {
        Self { listener, connections, slots: Arc::new(Semaphore::new(most)), tls }
    }

    /// Takes connections until it is dropped.
    pub(super) async fn accept(&self) {
        // Without a certificate connections wait, as they do before the first accept.
        if let Some(tls) = &self.tls {
            tls.served.first().await;
        }
        loop {
            let (tcp, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "accept");
                    sleep(BACK_OFF).await;
                    continue;
                }
            };
            let Some(slot) = self.slot().await else { return };
            // Without it small answers may wait for an acknowledgement; they are right all the same.
            let _ = tcp.set_nodelay(true);
            match self.tls.clone() {
                None => self.connections.spawn(std::future::ready(Some(tcp)), slot),
                Some(Tls { served, probe }) => {
                    let opening = async move { handshake(tcp, peer, &served, &probe).await };
                    self.connections.spawn(opening, slot);
                }
            }
        }
    }

    /// A place for one more connection. Where all are taken, it waits; behind TLS the oldest that has had no answer
    /// yet goes for it.
    async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        if self.slots.available_permits() == 0
            && let Some(tls) = &self.tls
            && self.connections.push_out()
        {
            tls.served.metrics().displaced.inc();
        }
        self.slots.clone().acquire_owned().await.ok()
    }
}
