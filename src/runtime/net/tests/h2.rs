//! A minimal HTTP/2 client that can misbehave.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::{Instant, timeout_at},
};

use super::{
    super::{
        connection::{ArrivedClient, Connections, OpenedStream},
        peer::Peer,
    },
    LONG,
};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

pub(super) struct Client {
    io: DuplexStream,
    /// A deadline, so that a server that never closes fails the test.
    until: Instant,
    pub answers_pings: bool,
}

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Client {
    /// Sends the preface and a SETTINGS frame with this initial window.
    pub(super) async fn open(connections: &Connections, window: u32) -> Self {
        let (client, server) = duplex(64 << 10);
        connections.spawn(
            ArrivedClient::new(Peer::UNKNOWN),
            Box::pin(std::future::ready(Some(OpenedStream { io: Box::new(server), client: None }))),
        );
        let mut client = Self { io: client, until: Instant::now() + LONG, answers_pings: true };
        client.io.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let [a, b, c, d] = window.to_be_bytes();
        client.frame(SETTINGS, 0, 0, &[0, 4, a, b, c, d]).await;
        client
    }

    async fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut bytes = vec![length[1], length[2], length[3], kind, flags];
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        // The server may have closed.
        let _ = self.io.write_all(&bytes).await;
    }

    pub(super) async fn get(&mut self, stream: u32, path: &str) {
        // Fields of the static table: GET, http; and literals: :path, :authority.
        let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
        block.extend(path.bytes());
        block.extend([0x01, 1, b'x']);
        self.frame(HEADERS, END_STREAM | END_HEADERS, stream, &block).await;
    }

    pub(super) async fn window_update(&mut self, stream: u32, bytes: u32) {
        self.frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes()).await;
    }

    /// The next frame; `None` when the server has closed.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            let mut head = [0; 9];
            timeout_at(self.until, self.io.read_exact(&mut head)).await.expect("the server closes").ok()?;
            let [l1, l2, l3, kind, flags, stream @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, l1, l2, l3]) as usize];
            self.io.read_exact(&mut payload).await.ok()?;
            match kind {
                PING if self.answers_pings && flags != ACK => self.frame(PING, ACK, 0, &payload).await,
                SETTINGS if flags != ACK => self.frame(SETTINGS, ACK, 0, &[]).await,
                _ => return Some(Frame { kind, flags, stream: u32::from_be_bytes(stream), payload }),
            }
        }
    }

    /// The payload of the first frame that `wanted` accepts by kind and stream.
    pub(super) async fn until(&mut self, wanted: impl Fn(u8, u32) -> bool) -> Vec<u8> {
        loop {
            let frame = self.next().await.expect("the server closed");
            if wanted(frame.kind, frame.stream) {
                return frame.payload;
            }
        }
    }

    /// The body of an answer.
    pub(super) async fn data(&mut self, stream: u32) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let frame = self.next().await.expect("the server closed");
            assert!(frame.kind != RST_STREAM, "stream {} was reset", frame.stream);
            if frame.kind == DATA && frame.stream == stream {
                body.extend(frame.payload);
                if frame.flags & END_STREAM != 0 {
                    return body;
                }
            }
        }
    }

    /// Reads until the server closes.
    pub(super) async fn end(&mut self) {
        while self.next().await.is_some() {}
    }
}
