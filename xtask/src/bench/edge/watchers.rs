//! Clients that watch the slices of a node proxy.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// Longest time until an event.
const LIMIT: Duration = Duration::from_secs(30);
const SLICES: &str = "/apis/discovery.k8s.io/v1/endpointslices";
const HEADERS: &str = "host: localhost\r\nauthorization: Bearer bench\r\n";

/// Watches, each on a connection and a thread of its own.
pub(super) struct Watchers {
    count: usize,
    /// When each event arrived.
    events: Receiver<Instant>,
}

impl Watchers {
    /// Opens them, from the version of a list on.
    pub(super) fn open(address: &SocketAddr, count: usize) -> Result<Self> {
        let version = version(address)?;
        let (sender, events) = channel();
        for _ in 0..count {
            let mut stream = connect(address)?;
            // Without chunks, whose heads would break lines.
            write!(stream, "GET {SLICES}?watch=1&resourceVersion={version} HTTP/1.0\r\n{HEADERS}\r\n")?;
            let mut lines = BufReader::new(stream);
            let mut line = String::new();
            lines.read_line(&mut line)?;
            ensure!(line.contains(" 200 "), "a watch: {line}");
            let sender = sender.clone();
            // It ends with the connection, or with the receiver.
            thread::spawn(move || drop(follow(lines, &sender)));
        }
        Ok(Self { count, events })
    }

    /// Waits until each has had so many events; when the last of them arrived.
    pub(super) fn wait(&self, each: usize) -> Result<Instant> {
        let mut last = Instant::now();
        for number in 0..each * self.count {
            let Ok(at) = self.events.recv_timeout(LIMIT) else {
                bail!("{number} of {} events after {} s", each * self.count, LIMIT.as_secs())
            };
            last = last.max(at);
        }
        Ok(last)
    }
}

fn follow(mut lines: impl BufRead, events: &Sender<Instant>) -> Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.starts_with(br#"{"type":"MODIFIED"#) {
            events.send(Instant::now())?;
        }
    }
}

/// The version of the list of slices.
fn version(address: &SocketAddr) -> Result<String> {
    let mut stream = connect(address)?;
    // One object, so that the body is short.
    let path = format!("{SLICES}?fieldSelector=metadata.name=none");
    write!(stream, "GET {path} HTTP/1.1\r\n{HEADERS}connection: close\r\n\r\n")?;
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer)?;
    let rest = answer.split(r#""resourceVersion":""#).nth(1).with_context(|| format!("no version: {answer}"))?;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}

fn connect(address: &SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).context("connecting to the proxy")?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
