//! The watches of the genuine client: each must see every change of an object, in order and soon.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::watch,
    time::{sleep, timeout},
};

use crate::{
    genuine::{Client, Connection, Probe},
    http2::{DATA, Http2, Scheme},
    request::Request,
    upstream::{Changes, GENUINE, SHOP},
};

/// The pause before a watch that has ended begins again.
const PAUSE: Duration = Duration::from_millis(50);

/// A watch, over one connection after the other.
pub(crate) struct GenuineWatch {
    pub(crate) client: Client,
    pub(crate) changes: Changes,
    pub(crate) http2: bool,
    /// The last change that it saw. `None`: no event so far.
    pub(crate) last: Option<usize>,
    /// The version to go on from.
    pub(crate) version: Option<String>,
}

/// The connection of a watch.
enum WatchConnection {
    Http1(Box<Connection>),
    Http2(Box<Http2<Connection>>),
}

impl GenuineWatch {
    /// Watches until it is stopped and has seen all changes before, or does not get them.
    pub(crate) async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        tokio::select! {
            () = self.follow() => {}
            _ = stopped.changed() => {}
        }
        let last = self.changes.count();
        let soon = self.client.targets.soon;
        let rest = async {
            while self.last < Some(last) {
                let _ = self.watch(Some(last)).await;
                sleep(PAUSE).await;
            }
        };
        if timeout(soon, rest).await.is_err() {
            for change in self.last.unwrap_or(0)..last {
                self.see(change + 1, Some("a watch did not get an event".to_owned()));
            }
        }
    }

    async fn follow(&mut self) {
        loop {
            if let Err(error) = self.watch(None).await {
                let failed = Some(format!("a watch ended: {error:#}"));
                self.client.see(|seen| seen.calls.push(Probe { began: Instant::now(), failed }));
            }
            sleep(PAUSE).await;
        }
    }

    /// Watches on a connection until it has seen this change, or an error.
    async fn watch(&mut self, until: Option<usize>) -> Result<()> {
        let version = self.version.as_ref().map(|version| format!("&resourceVersion={version}")).unwrap_or_default();
        let path = format!("{SHOP}?watch=true&fieldSelector=metadata.name=moving{version}");
        let mut connection = self.open(&Request::get(path).with_token(GENUINE)).await?;
        let mut text = Vec::new();
        while until.is_none_or(|until| self.last < Some(until)) {
            connection.read(&mut text).await?;
            let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let lines: Vec<u8> = text.drain(..whole).collect();
            for line in String::from_utf8(lines)?.lines() {
                self.event(line)?;
            }
        }
        Ok(())
    }

    async fn open(&self, request: &Request) -> Result<WatchConnection> {
        if self.http2 {
            let tls = self.client.connect_http2().await?;
            let mut http2 = Http2::open(tls, Scheme::Https, &[]).await?;
            http2.send(request).await?;
            return Ok(WatchConnection::Http2(Box::new(http2)));
        }
        let mut tls = self.client.connect_http1().await?;
        // Without chunks, whose heads would be among the lines.
        let text = String::from_utf8(request.http1())?.replacen("HTTP/1.1", "HTTP/1.0", 1);
        tls.write_all(text.as_bytes()).await?;
        tls.flush().await?;
        Ok(WatchConnection::Http1(Box::new(tls)))
    }

    /// An event, or a line of the head.
    fn event(&mut self, line: &str) -> Result<()> {
        ensure!(!line.starts_with("HTTP/1") || line.contains(" 200 "), "{line}");
        if line.starts_with(r#"{"type":"ERROR""#) || line.starts_with(r#"{"kind":"Status""#) {
            self.version = None;
            bail!("{line}");
        }
        let field = |name: &str| line.split_once(&format!(r#""{name}":""#))?.1.split('"').next();
        let (Some(change), Some(version)) = (field("change"), field("resourceVersion")) else { return Ok(()) };
        let change: usize = change.parse()?;
        self.version = Some(version.to_owned());
        let Some(last) = self.last.replace(change) else { return Ok(()) };
        if change <= last {
            self.see(change, Some(format!("a watch went back by {}", last - change)));
        }
        for lost in last + 1..change {
            self.see(lost, Some("a watch lost an event".to_owned()));
        }
        let late = self.changes.made(change).map(|made| made.elapsed()).filter(|late| *late > self.client.targets.soon);
        self.see(change, late.map(|late| format!("an event was late, by seconds: {}", late.as_secs())));
        Ok(())
    }

    fn see(&self, change: usize, failed: Option<String>) {
        let began = self.changes.made(change).unwrap_or_else(Instant::now);
        self.client.see(|seen| seen.calls.push(Probe { began, failed }));
    }
}

impl WatchConnection {
    /// Reads more of the body; over HTTP/1, of the answer.
    async fn read(&mut self, text: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Http1(tls) => ensure!(tls.read_buf(text).await? > 0, "the server closed the connection"),
            Self::Http2(http2) => {
                let frame = http2.next_frame().await?;
                http2.taken(&frame).await?;
                if frame.kind == DATA {
                    text.extend(&frame.payload);
                }
                ensure!(!frame.ends_stream(), "the server ended the stream");
            }
        }
        Ok(())
    }
}
