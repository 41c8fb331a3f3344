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

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{SocketAddr, TcpStream},
        thread,
    };

    use futures::StreamExt;
    use tokio::{sync::oneshot, task::spawn_blocking};

    use crate::runtime::net::{Health, Server, ServerOptions, Socket};

    /// The status of the response, asked without a runtime.
    fn status(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.split(' ').nth(1).unwrap_or_default().to_owned()
    }

    /// The only thread of this runtime waits for the probes, and runs nothing meanwhile.
    #[tokio::test]
    async fn probes_are_answered_while_the_server_runs_nothing() {
        let mut server = Server::new(ServerOptions::default(), Health::default());
        let socket = Socket::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = socket.address();
        server.add_admin(socket);
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(server.run(futures::stream::once(stopped).map(|_| ())));
        // Until it accepts connections.
        while spawn_blocking(move || status(address, "/readyz")).await.unwrap() != "200" {}
        for path in ["/livez", "/healthz", "/readyz", "/metrics"] {
            assert_eq!(thread::spawn(move || status(address, path)).join().unwrap(), "200", "{path}");
        }
        drop(stop);
        running.await.unwrap().unwrap();
        // The thread closes the socket by itself, a moment later.
        while TcpStream::connect(address).is_ok() {
            tokio::task::yield_now().await;
        }
    }
}
