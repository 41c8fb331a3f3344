//! HTTP/1.1 as far as the clients here need it: requests as bytes, and answers that have a length or come in chunks.

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::request::Request;

/// A request whose body is compressed, and whose answer is the last one of its connection.
pub(crate) fn post_gzip(path: &str, body: &[u8]) -> Vec<u8> {
    Request::post(path, body).with("content-encoding", "gzip").with("connection", "close").http1()
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl std::fmt::Display for Answer {
    /// The status and the beginning of the body.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body: String = String::from_utf8_lossy(&self.body).chars().take(300).collect();
        write!(f, "{}: {body}", self.status)
    }
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
    if head.contains("\r\ntransfer-encoding: chunked\r\n") {
        return Ok(Answer { status, body: chunks(io, buffer.split_off(end)).await? });
    }
    let length = head.lines().find_map(|l| l.strip_prefix("content-length:"));
    let length: usize = length.context("an answer without a length")?.trim().parse()?;
    while buffer.len() < end + length {
        ensure!(io.read_buf(&mut buffer).await? > 0, "the server closed the connection");
    }
    Ok(Answer { status, body: buffer.split_off(end) })
}

/// Reads a body in chunks, of which `buffer` is the beginning.
async fn chunks(io: &mut (impl AsyncRead + Unpin), mut buffer: Vec<u8>) -> Result<Vec<u8>> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        while let Some(line) = buffer[at..].windows(2).position(|w| w == b"\r\n") {
            let length = usize::from_str_radix(std::str::from_utf8(&buffer[at..at + line])?, 16)?;
            let begin = at + line + 2;
            let Some(chunk) = buffer.get(begin..begin + length + 2) else { break };
            body.extend(&chunk[..length]);
            at = begin + length + 2;
            if length == 0 {
                return Ok(body);
            }
        }
        ensure!(io.read_buf(&mut buffer).await? > 0, "the server closed the connection");
    }
}
