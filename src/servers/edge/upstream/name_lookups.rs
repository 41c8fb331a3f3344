//! The look-ups of the name of an API server, a few at a time.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs},
    sync::Arc,
    task::{Context, Poll},
};

use futures::future::{BoxFuture, FutureExt};
use hyper_util::client::legacy::connect::dns::Name;
use tokio::{sync::Semaphore, task::spawn_blocking};
use tower::Service;

/// Look-ups at once. All of them are of the same name.
const AT_ONCE: usize = 4;

/// Looks up names. Each look-up blocks a thread, for half a minute if no resolver responds, and every request of a client may
/// need one.
#[derive(Clone)]
pub(super) struct NameLookups(Arc<Semaphore>);

impl Default for NameLookups {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Service<Name> for NameLookups {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let places = self.0.clone();
        async move {
            let place = places.acquire_owned().await.map_err(io::Error::other)?;
            let addresses = spawn_blocking(move || {
                // The thread is taken until the resolver responds, even if nobody waits any more.
                let _place = place;
                (name.as_str(), 0).to_socket_addrs()
            });
            addresses.await.map_err(io::Error::other)?
        }
        .boxed()
    }
}
