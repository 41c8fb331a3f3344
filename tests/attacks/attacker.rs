//! The attackers' side: their addresses, connections and counts.

use std::{
    fmt,
    future::Future,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::{TcpSocket, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{request::Request, site::Site, tls};

/// The address of the genuine client.
pub(crate) const GENUINE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The longest time to connect, with the handshake.
const CONNECT: Duration = Duration::from_secs(10);
/// The pause before a client that was disconnected comes again.
const PAUSE: Duration = Duration::from_millis(20);

/// What is attacked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Targets {
    pub(crate) site: Site,
    /// The listener with TLS: the webhook, or the node proxy.
    pub(crate) served: SocketAddr,
    pub(crate) admin: SocketAddr,
    /// The REST API, if the server has one.
    pub(crate) rest: Option<SocketAddr>,
    /// How soon probes and the events of watches must come.
    pub(crate) soon: Duration,
}

impl Targets {
    /// How long a kubelet waits for a probe by default.
    pub(crate) const SOON: Duration = Duration::from_secs(1);
    /// The same where other programs use the machine: that a client starves is seen, and how fast it is served is not judged.
    pub(crate) const SOON_SHARED: Duration = Duration::from_secs(5);
}

/// From where the attackers connect.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sources {
    /// From this many addresses, none of them the genuine client's.
    Others(u8),
    /// From the address of the genuine client.
    Genuine,
}

impl Sources {
    /// The address of the attacker with this number.
    fn address(self, number: usize) -> Ipv4Addr {
        match self {
            Self::Genuine => GENUINE,
            Self::Others(count) => {
                let last = number % usize::from(count.clamp(1, 249));
                Ipv4Addr::new(127, 0, 0, 2 + u8::try_from(last).unwrap_or(0))
            }
        }
    }
}

/// What the attackers did: an attack that never reached the server shows nothing.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    connections: AtomicU64,
    /// Requests, or frames of a flood.
    requests: AtomicU64,
    answers: AtomicU64,
    /// Objects that should have been refused.
    let_in: AtomicU64,
}

impl Counts {
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn let_in(&self) -> u64 {
        self.let_in.load(Ordering::Relaxed)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (connections, requests, answers) = (of(&self.connections), of(&self.requests), of(&self.answers));
        write!(f, "{connections} connections, {requests} requests or frames, {answers} answers")
    }
}

/// The attackers of one attack. A clone shares the counts.
#[derive(Clone)]
pub(crate) struct Attacker {
    pub(crate) targets: Targets,
    sources: Sources,
    http1: TlsConnector,
    http2: TlsConnector,
    pub(crate) counts: Arc<Counts>,
}

impl Attacker {
    /// An error if a target is not an address of this machine: attacks are for servers of its own.
    pub(crate) fn new(targets: Targets, sources: Sources) -> Result<Self> {
        for target in [Some(targets.served), Some(targets.admin), targets.rest].into_iter().flatten() {
            TcpListener::bind((target.ip(), 0))
                .with_context(|| format!("{target} is not an address of this machine"))?;
        }
        let (http1, http2) = (tls::connector(&[])?, tls::connector(&[b"h2"])?);
        Ok(Self { targets, sources, http1, http2, counts: Arc::default() })
    }

    /// Starts `count` clients. Each runs `client` again and again, with its number.
    pub(crate) fn clients<F, R>(&self, count: usize, client: F)
    where
        F: Fn(Self, usize) -> R + Clone + Send + 'static,
        R: Future<Output = Result<()>> + Send,
    {
        for number in 0..count {
            let (attacker, client) = (self.clone(), client.clone());
            tokio::spawn(async move {
                loop {
                    // How a connection ends is the server's affair.
                    let _ = client(attacker.clone(), number).await;
                    sleep(PAUSE).await;
                }
            });
        }
    }

    /// A connection to `target`, from the address of client `number`.
    pub(crate) async fn tcp(&self, number: usize, target: SocketAddr) -> Result<TcpStream> {
        self.tcp_with(number, target, None).await
    }

    /// A connection whose client side buffers few bytes.
    pub(crate) async fn tcp_with(&self, number: usize, target: SocketAddr, buffer: Option<u32>) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        // Closed by a reset: ports that wait would run out.
        socket.set_zero_linger()?;
        socket.bind(SocketAddr::new(IpAddr::V4(self.sources.address(number)), 0))?;
        let tcp = timeout(CONNECT, socket.connect(target)).await.context("no connection in time")??;
        tcp.set_nodelay(true)?;
        self.counts.connections.fetch_add(1, Ordering::Relaxed);
        Ok(tcp)
    }

    /// A connection to the listener with TLS that speaks HTTP/1.1.
    pub(crate) async fn http1(&self, number: usize) -> Result<TlsStream<TcpStream>> {
        handshake(&self.http1, self.tcp(number, self.targets.served).await?).await
    }

    /// The same on a connection of the caller.
    pub(crate) async fn http1_on(&self, tcp: TcpStream) -> Result<TlsStream<TcpStream>> {
        handshake(&self.http1, tcp).await
    }

    /// A connection to the listener with TLS that speaks HTTP/2.
    pub(crate) async fn http2(&self, number: usize) -> Result<TlsStream<TcpStream>> {
        handshake(&self.http2, self.tcp(number, self.targets.served).await?).await
    }

    /// A request whose body may take its time.
    pub(crate) fn post(&self) -> Request {
        self.targets.site.post()
    }

    pub(crate) fn requested(&self, count: u64) {
        self.counts.requests.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn answered(&self, count: u64) {
        self.counts.answers.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn let_in(&self) {
        self.counts.let_in.fetch_add(1, Ordering::Relaxed);
    }
}

async fn handshake(connector: &TlsConnector, tcp: TcpStream) -> Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from("localhost")?;
    Ok(timeout(CONNECT, connector.connect(name, tcp)).await.context("no handshake in time")??)
}

/// Waits until the server closes the connection.
pub(crate) async fn until_closed(io: &mut (impl AsyncRead + Unpin)) {
    let mut discarded = [0; 1024];
    while io.read(&mut discarded).await.is_ok_and(|n| n > 0) {}
}
