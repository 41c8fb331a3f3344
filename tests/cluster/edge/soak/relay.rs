//! A TCP relay that cuts connections.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    sync::Notify,
};

/// Passes on what arrives at its address, until the connection is cut.
#[derive(Clone)]
pub(super) struct Relay {
    pub(super) address: SocketAddr,
    cut: Arc<Notify>,
}

impl Relay {
    pub(super) fn start(runtime: &Runtime, to: String) -> Self {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let relay = Self { address: listener.local_addr().unwrap(), cut: Arc::default() };
        let cut = relay.cut.clone();
        runtime.spawn(async move {
            loop {
                let (mut from, _) = listener.accept().await.unwrap();
                let (to, cut) = (to.clone(), cut.clone());
                tokio::spawn(async move {
                    // Nobody listens while the server behind it is away.
                    let Ok(mut to) = TcpStream::connect(to).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut from, &mut to) => {}
                        () = cut.notified() => {}
                    }
                });
            }
        });
        relay
    }

    /// Cuts one connection after another, with this pause.
    pub(super) fn cut_every(&self, runtime: &Runtime, pause: Duration) {
        let cut = self.cut.clone();
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                // The connection that has waited longest, which is the oldest.
                cut.notify_one();
            }
        });
    }
}
