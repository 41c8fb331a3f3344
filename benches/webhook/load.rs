//! Sends reviews over TLS as fast as a webhook answers them, and prints the latencies as a line of JSON:
//! `webhook_load ADDRESS PATH BODY CONNECTIONS SECONDS`.
//!
//! Each connection is persistent and sends one request at a time. The load runs on the same machine as the webhook, so it
//! does as little as possible: it sends fixed bytes, reads each answer to its length, and looks closer at an answer only if
//! it differs from the one before.

#[path = "../../tests/attacks/tls.rs"]
mod tls;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use hdrhistogram::Histogram;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

#[derive(Clone)]
struct Load {
    address: String,
    request: Arc<Vec<u8>>,
    connector: TlsConnector,
    end: Instant,
}

#[expect(clippy::disallowed_methods, reason = "a program that reads a file")]
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, path, body, connections, seconds] = arguments.as_slice() else {
        bail!("ADDRESS PATH BODY CONNECTIONS SECONDS");
    };
    let body = std::fs::read(body).with_context(|| format!("reading {body}"))?;
    let (connections, seconds): (usize, u64) = (connections.parse()?, seconds.parse()?);
    let head = format!(
        "POST {path}?timeout=10s HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let load = Load {
        address: address.clone(),
        request: Arc::new([head.as_bytes(), &body].concat()),
        connector: tls::connector(&[])?,
        end: Instant::now() + Duration::from_secs(seconds),
    };
    let began = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let latencies = runtime.block_on(async {
        let tasks: Vec<_> = (0..connections).map(|_| tokio::spawn(one(load.clone()))).collect();
        let mut all = new_histogram()?;
        for task in tasks {
            all.add(task.await??)?;
        }
        Ok::<_, anyhow::Error>(all)
    })?;
    ensure!(!latencies.is_empty(), "no request was answered");
    #[expect(clippy::cast_precision_loss, reason = "rounded for a person")]
    let (rate, millis) = (latencies.len() as f64 / began.elapsed().as_secs_f64(), |quantile| {
        latencies.value_at_quantile(quantile) as f64 / 1e6
    });
    #[expect(clippy::print_stdout, reason = "its result")]
    {
        println!(
            "{{\"reviews\":{},\"rate\":{rate:.0},\"p50\":{:.3},\"p99\":{:.3},\"p999\":{:.3}}}",
            latencies.len(),
            millis(0.5),
            millis(0.99),
            millis(0.999)
        );
    }
    Ok(())
}

/// Latencies in nanoseconds, up to a minute.
fn new_histogram() -> Result<Histogram<u64>> {
    Histogram::new_with_max(60_000_000_000, 3).context("the bounds of a histogram")
}

/// Sends requests on one connection until the time is over. Returns their latencies.
async fn one(load: Load) -> Result<Histogram<u64>> {
    let tcp = TcpStream::connect(&load.address).await?;
    tcp.set_nodelay(true)?;
    let mut tls = load.connector.connect(ServerName::try_from("localhost")?, tcp).await?;
    let (mut latencies, mut buffer, mut last) = (new_histogram()?, Vec::with_capacity(1 << 16), Answer::default());
    while Instant::now() < load.end {
        let began = Instant::now();
        tls.write_all(&load.request).await?;
        tls.flush().await?;
        buffer.clear();
        answer(&mut tls, &mut buffer, &mut last).await?;
        latencies.saturating_record(u64::try_from(began.elapsed().as_nanos())?);
    }
    Ok(latencies)
}

/// An answer that was right.
#[derive(Default)]
struct Answer {
    head: Vec<u8>,
    /// The length of its body, if the head tells it.
    length: Option<usize>,
    body: Vec<u8>,
}

/// Reads one answer, which must be a review that allows and patches, as the last one was.
async fn answer(tls: &mut (impl AsyncReadExt + Unpin), buffer: &mut Vec<u8>, last: &mut Answer) -> Result<()> {
    let head = loop {
        ensure!(tls.read_buf(buffer).await? > 0, "the server closed the connection");
        if !last.head.is_empty() && buffer.starts_with(&last.head) {
            break last.head.len();
        }
        if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            last.see_head(&buffer[..at + 4])?;
            break at + 4;
        }
    };
    let length = last.length;
    let whole = |buffer: &[u8]| match length {
        Some(length) => buffer.len() >= head + length,
        None => buffer.ends_with(b"\r\n0\r\n\r\n"),
    };
    while !whole(buffer) {
        ensure!(tls.read_buf(buffer).await? > 0, "the server closed the connection");
    }
    if buffer[head..] != last.body {
        last.see_body(&buffer[head..])?;
    }
    Ok(())
}

impl Answer {
    fn see_head(&mut self, head: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(head)?.to_ascii_lowercase();
        ensure!(text.starts_with("http/1.1 200"), "{}", text.lines().next().unwrap_or_default());
        // Go sends a long answer in chunks; JSON has no line break of its own before the last.
        let length = text.lines().find_map(|l| l.strip_prefix("content-length:"));
        self.length = length.map(|l| l.trim().parse::<usize>()).transpose()?;
        self.head = head.to_vec();
        Ok(())
    }

    fn see_body(&mut self, body: &[u8]) -> Result<()> {
        let joined = self.length.is_none().then(|| joined(body)).transpose()?;
        let text = joined.as_deref().unwrap_or(body);
        let has = |part: &[u8]| text.windows(part.len()).any(|w| w == part);
        ensure!(has(b"\"allowed\":true") && has(b"\"patch\":"), "{}", String::from_utf8_lossy(text));
        self.body = body.to_vec();
        Ok(())
    }
}

/// The body of a chunked answer: each chunk follows its length and a line break.
fn joined(mut chunks: &[u8]) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let line = chunks.windows(2).position(|w| w == b"\r\n").context("a chunk without a length")?;
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..line])?, 16)?;
        if length == 0 {
            return Ok(all);
        }
        all.extend_from_slice(chunks.get(line + 2..line + 2 + length).context("a chunk is truncated")?);
        chunks = &chunks[(line + 2 + length + 2).min(chunks.len())..];
    }
}
