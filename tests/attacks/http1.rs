//! HTTP/1.1 as far as the clients here need it: requests as bytes, and answers that have a length.

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The head of a request with a body of `length` bytes.
pub(crate) fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// A request with its body.
pub(crate) fn post(path: &str, body: &str) -> Vec<u8> {
    (head(path, body.len()) + body).into_bytes()
}

/// A request whose body is compressed, and whose answer is the last one of its connection.
pub(crate) fn post_gzip(path: &str, body: &[u8]) -> Vec<u8> {
    let head = head(path, body.len());
    let head = head.trim_end();
    [head.as_bytes(), b"\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n", body].concat()
}

/// A request without a body.
pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn has(&self, text: &str) -> bool {
        self.body.windows(text.len()).any(|w| w == text.as_bytes())
    }
}

/// Sends a request and reads its answer.
pub(crate) async fn exchange(io: &mut (impl AsyncRead + AsyncWrite + Unpin), request: &[u8]) -> Result<Answer> {
    let sent = async {
        io.write_all(request).await?;
        io.flush().await
    };
    // A server that refuses a body may answer before its end, and close.
    let sent = sent.await;
    match (answer(io).await, sent) {
        (Err(_), Err(error)) => Err(error).context("sending the request"),
        (answer, _) => answer,
    }
}

/// Reads one answer.
async fn answer(io: &mut (impl AsyncRead + Unpin)) -> Result<Answer> {
    let mut buffer = Vec::with_capacity(4 << 10);
    let end = loop {
        ensure!(io.read_buf(&mut buffer).await? > 0, "the server closed the connection");
        if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = std::str::from_utf8(&buffer[..end])?.to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).context("an answer without a status")?;
    let length = head.lines().find_map(|l| l.strip_prefix("content-length:"));
    let length: usize = length.context("an answer without a length")?.trim().parse()?;
    while buffer.len() < end + length {
        ensure!(io.read_buf(&mut buffer).await? > 0, "the server closed the connection");
    }
    Ok(Answer { status, body: buffer.split_off(end) })
}
