//! A client of an API server: HTTP/1.1 over TLS, one request at a time on each connection, and watches.

use std::{fmt::Write as _, sync::Arc};

use anyhow::{Context, Result, ensure};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::tls;

/// An API server, and the token of a user.
#[derive(Clone)]
pub(crate) struct ApiServer {
    address: String,
    token: Arc<str>,
    connector: TlsConnector,
}

impl ApiServer {
    /// The one of a kubeconfig with a server and a token, as the control plane of tests has it.
    pub(crate) fn of(kubeconfig: &str) -> Result<Self> {
        let value = |key: &str| {
            let line = kubeconfig.lines().find_map(|line| line.trim().strip_prefix(key));
            line.map(|value| value.trim().to_owned()).with_context(|| format!("the kubeconfig has no {key}"))
        };
        let address = value("server: https://")?;
        Ok(Self { address, token: value("token:")?.into(), connector: tls::connector(&[])? })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let tcp = TcpStream::connect(&self.address).await.context("connecting")?;
        tcp.set_nodelay(true)?;
        let stream = self.connector.connect(ServerName::try_from("localhost")?, tcp).await?;
        Ok(Connection { server: self.clone(), stream, buffer: Vec::with_capacity(1 << 16), read: 0 })
    }

    /// Watches a path, and calls `see` for each event, which tells its version. A busy API server ends a watch that falls behind:
    /// another one goes on from there.
    pub(crate) async fn watch(&self, path: &str, see: impl Fn(&[u8]) -> Result<String>) -> Result<()> {
        let mut version = String::new();
        loop {
            let mut connection = self.connect().await?;
            let path = format!("{path}?watch=true&timeoutSeconds=7200&resourceVersion={version}");
            connection.send("GET", &path, "", &[]).await?;
            let head = connection.head().await?;
            ensure!(head.status == 200 && head.length.is_none(), "a watch of {path}: {}", head.status);
            let mut line = Vec::new();
            while let Some(chunk) = connection.chunk().await? {
                for part in chunk.split_inclusive(|byte| *byte == b'\n') {
                    line.extend_from_slice(part);
                    if part.ends_with(b"\n") {
                        version = see(&line).with_context(|| String::from_utf8_lossy(&line).into_owned())?;
                        line.clear();
                    }
                }
            }
        }
    }
}

/// A persistent connection.
pub(crate) struct Connection {
    server: ApiServer,
    stream: TlsStream<TcpStream>,
    /// What has arrived, and how much of it was read.
    buffer: Vec<u8>,
    read: usize,
}

struct Head {
    status: u16,
    /// `None`: the body comes in chunks.
    length: Option<usize>,
}

impl Connection {
    /// Sends a request, and reads the answer, which must be a success.
    pub(crate) async fn call(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> Result<Vec<u8>> {
        self.send(method, path, kind, body).await?;
        let head = self.head().await?;
        let answer = if let Some(length) = head.length {
            self.fill(length).await?;
            self.take(length).to_vec()
        } else {
            let mut all = Vec::new();
            while let Some(chunk) = self.chunk().await? {
                all.extend_from_slice(chunk);
            }
            all
        };
        ensure!(
            (200..300).contains(&head.status),
            "{method} {path}: {} {}",
            head.status,
            String::from_utf8_lossy(&answer)
        );
        Ok(answer)
    }

    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Result<Vec<u8>> {
        self.call("POST", path, "application/json", body.as_bytes()).await
    }

    async fn send(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> Result<()> {
        let ApiServer { address, token, .. } = &self.server;
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\naccept: application/json\r\n"
        );
        if !body.is_empty() {
            write!(request, "content-type: {kind}\r\ncontent-length: {}\r\n", body.len())?;
        }
        let request = [request.as_bytes(), b"\r\n", body].concat();
        self.stream.write_all(&request).await?;
        Ok(self.stream.flush().await?)
    }

    async fn head(&mut self) -> Result<Head> {
        let end = self.find(b"\r\n\r\n").await?;
        let head = std::str::from_utf8(self.take(end + 4))?.to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).context("an answer without a status")?;
        let length = head.lines().find_map(|l| l.strip_prefix("content-length:"));
        Ok(Head { status, length: length.map(|l| l.trim().parse()).transpose()? })
    }

    /// The next chunk of a body; `None` at its end.
    async fn chunk(&mut self) -> Result<Option<&[u8]>> {
        let line = self.find(b"\r\n").await?;
        let length = usize::from_str_radix(std::str::from_utf8(&self.take(line + 2)[..line])?, 16)?;
        self.fill(length + 2).await?;
        let chunk = self.take(length + 2);
        Ok((length > 0).then(|| &chunk[..length]))
    }

    /// What is read next, of this length.
    fn take(&mut self, length: usize) -> &[u8] {
        self.read += length;
        &self.buffer[self.read - length..self.read]
    }

    async fn find(&mut self, part: &[u8]) -> Result<usize> {
        loop {
            if let Some(at) = self.buffer[self.read..].windows(part.len()).position(|w| w == part) {
                return Ok(at);
            }
            self.receive().await?;
        }
    }

    async fn fill(&mut self, length: usize) -> Result<()> {
        while self.buffer.len() - self.read < length {
            self.receive().await?;
        }
        Ok(())
    }

    async fn receive(&mut self) -> Result<()> {
        self.buffer.drain(..std::mem::take(&mut self.read));
        ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the server closed the connection");
        Ok(())
    }
}
