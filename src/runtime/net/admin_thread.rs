//! The thread of the admin listener.
//!
//! A probe must be answered whatever the threads do that serve other clients. So this listener has a thread and a runtime of
//! its own.

use std::{io, net, thread};

use anyhow::Context;
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
};

use super::{connection::Connections, listener::Listener, socket::Socket};

/// The admin listener on its own thread. Dropping it ends the thread, with the connections that are still open.
pub(super) struct AdminThread {
    pub(super) connections: Connections,
    /// Dropped when no more connections are accepted.
    accepting: Option<oneshot::Sender<()>>,
    _running: oneshot::Sender<()>,
}

impl AdminThread {
    /// Serves connections on a socket.
    pub(super) async fn start(socket: Socket, connections: Connections) -> anyhow::Result<Self> {
        let context = "the thread of the admin listener";
        let socket = socket.into_std().context(context)?;
        let (accepting, accepts) = oneshot::channel::<()>();
        let (running, runs) = oneshot::channel::<()>();
        let (begins, begun) = oneshot::channel();
        let of_thread = connections.clone();
        let serve = move || match runtime(socket, of_thread) {
            Ok((runtime, listener)) => {
                // The receiver waits for it. An error of the others means that the sender was dropped.
                let _ = begins.send(Ok(()));
                runtime.block_on(async {
                    tokio::select! { () = listener.accept() => {}, _ = accepts => {} }
                    drop(listener);
                    let _ = runs.await;
                });
            }
            Err(error) => drop(begins.send(Err(error))),
        };
        thread::Builder::new().name("roster-admin".to_owned()).spawn(serve).context(context)?;
        begun.await.context(context)?.context(context)?;
        Ok(Self { connections, accepting: Some(accepting), _running: running })
    }

    /// Accepts no more connections.
    pub(super) fn refuse(&mut self) {
        self.accepting = None;
    }
}

/// A runtime of this thread, and a listener in it.
fn runtime(socket: net::TcpListener, connections: Connections) -> io::Result<(Runtime, Listener)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let socket = {
        let _entered = runtime.enter();
        Socket::from_std(socket)?
    };
    let listener = Listener::new(socket.into(), connections, None);
    Ok((runtime, listener))
}
