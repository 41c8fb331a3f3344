//! A client of HTTP/2 that writes its frames by hand, because no library sends what the attacks send.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Result, bail, ensure};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

use crate::request::Request;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The largest frame, and the first window, until the server sends other settings.
const FRAME: usize = 16 << 10;
/// The bytes that are written at once.
const MANY: usize = 16 * FRAME;
const WINDOW: i64 = (64 << 10) - 1;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// Flags. `ACK` is for settings and pings.
pub(crate) const END_STREAM: u8 = 1;
const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// The error code of a client that gives up.
pub(crate) const CANCEL: u32 = 8;

/// The setting that says how much of an answer the client takes.
pub(crate) const INITIAL_WINDOW: u16 = 4;

/// A frame as it is sent.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A field whose value nearly fills a frame.
pub(crate) fn long_field() -> Vec<u8> {
    // A literal that no table keeps, the name `x`, and 16 000 as HPACK writes it.
    [&[0x00, 0x01, b'x', 0x7f, 0x81, 0x7c][..], &[b'x'; 16_000]].concat()
}

/// The index of the scheme in the static table.
#[derive(Clone, Copy)]
pub(crate) enum Scheme {
    Http = 0x86,
    Https = 0x87,
}

/// What begins a connection: the preface and these settings.
pub(crate) fn begin(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> =
        settings.iter().flat_map(|(name, value)| name.to_be_bytes().into_iter().chain(value.to_be_bytes())).collect();
    [PREFACE, &frame(SETTINGS, 0, 0, &payload)].concat()
}

/// A frame as it was received.
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// Whether the server sends no more on this stream.
    pub(crate) fn ends_stream(&self) -> bool {
        self.kind == RST_STREAM || matches!(self.kind, HEADERS | DATA) && self.flags & END_STREAM != 0
    }

    /// The status, if it is in the static table; 0 otherwise.
    pub(crate) fn status(&self) -> u16 {
        const STATIC: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
        let index = self.payload.first().and_then(|first| first.checked_sub(0x88));
        index.and_then(|index| STATIC.get(usize::from(index))).copied().unwrap_or(0)
    }

    fn number(&self, at: usize) -> Option<u32> {
        self.payload.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes)
    }
}

/// A connection. It answers settings and pings, and obeys the windows of the server.
pub(crate) struct Http2<S> {
    io: S,
    scheme: Scheme,
    received: Vec<u8>,
    next: u32,
    /// How many bytes of bodies the server still takes on the connection, on a new stream, and on the open streams.
    window: i64,
    initial: i64,
    streams: BTreeMap<u32, i64>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http2<S> {
    pub(crate) async fn open(mut io: S, scheme: Scheme, settings: &[(u16, u32)]) -> Result<Self> {
        io.write_all(&begin(settings)).await?;
        io.flush().await?;
        let (received, streams) = (Vec::new(), BTreeMap::new());
        Ok(Self { io, scheme, received, next: 1, window: WINDOW, initial: WINDOW, streams })
    }

    /// Sends the heads of `count` requests whose bodies follow, or never come. `more` bytes follow in fields of their own.
    pub(crate) async fn heads(&mut self, request: &Request, count: usize, more: usize) -> Result<()> {
        let block = request.http2_fields(self.scheme);
        let field = long_field();
        let pieces = more / field.len();
        for _ in 0..count {
            let stream = self.new_stream();
            let mut bytes = frame(HEADERS, if pieces == 0 { END_HEADERS } else { 0 }, stream, &block);
            for piece in 1..=pieces {
                bytes.extend(frame(CONTINUATION, if piece == pieces { END_HEADERS } else { 0 }, stream, &field));
            }
            self.write(&bytes).await?;
        }
        Ok(())
    }

    /// Sends a small request and reads its answer: the status, if it is a frequent one, and the body.
    pub(crate) async fn exchange(&mut self, request: &Request) -> Result<(u16, Vec<u8>)> {
        let stream = self.next;
        ensure!(self.send(request).await?, "the server ended the stream early");
        let (mut status, mut body) = (0, Vec::new());
        loop {
            let frame = self.next_frame().await?;
            if frame.stream != stream {
                continue;
            }
            match frame.kind {
                HEADERS => status = frame.status(),
                DATA => {
                    self.taken(&frame).await?;
                    body.extend(&frame.payload);
                }
                RST_STREAM => bail!("the server reset the stream: code {:?}", frame.number(0)),
                _ => {}
            }
            if frame.ends_stream() {
                return Ok((status, body));
            }
        }
    }

    /// Whether the server has not ended the idle connection.
    pub(crate) async fn is_open(&mut self) -> bool {
        loop {
            match timeout(Duration::ZERO, self.next_frame()).await {
                Err(_) => return true,
                Ok(Ok(_)) => {}
                Ok(Err(_)) => return false,
            }
        }
    }

    /// Sends a whole request. `false`: the server ended the stream before the body was sent.
    pub(crate) async fn send(&mut self, request: &Request) -> Result<bool> {
        let stream = self.new_stream();
        let mut rest = &request.body[..];
        let flags = if rest.is_empty() { END_HEADERS | END_STREAM } else { END_HEADERS };
        self.write(&frame(HEADERS, flags, stream, &request.http2_fields(self.scheme))).await?;
        while !rest.is_empty() {
            let Some(window) = self.streams.get(&stream) else { return Ok(false) };
            let room = usize::try_from(self.window.min(*window)).unwrap_or(0);
            if room == 0 {
                let answer = self.next_frame().await?;
                if answer.kind == HEADERS && answer.stream == stream {
                    // An answer before the end of the body is a refusal. It would wait for a window.
                    self.reset(stream).await?;
                    return Ok(false);
                }
                continue;
            }
            let (piece, more) = rest.split_at(room.min(MANY).min(rest.len()));
            let sent = i64::try_from(piece.len())?;
            self.window -= sent;
            self.streams.entry(stream).and_modify(|window| *window -= sent);
            let mut bytes = Vec::with_capacity(piece.len() + MANY / FRAME * 9);
            let mut frames = piece.chunks(FRAME).peekable();
            while let Some(data) = frames.next() {
                let last = more.is_empty() && frames.peek().is_none();
                bytes.extend(frame(DATA, if last { END_STREAM } else { 0 }, stream, data));
            }
            self.write(&bytes).await?;
            rest = more;
        }
        Ok(true)
    }

    /// Sends a byte of a body on every open stream whose window allows it.
    pub(crate) async fn drip(&mut self) -> Result<()> {
        let mut bytes = Vec::new();
        for (stream, window) in self.streams.iter_mut().filter(|(_, window)| **window > 0) {
            if self.window > 0 {
                (self.window, *window) = (self.window - 1, *window - 1);
                bytes.extend(frame(DATA, 0, *stream, b" "));
            }
        }
        self.write(&bytes).await
    }

    /// Takes as many bytes more, of the connection and of a stream, as a frame had.
    pub(crate) async fn taken(&mut self, frame: &Frame) -> Result<()> {
        let taken = u32::try_from(frame.payload.len())?.to_be_bytes();
        if frame.kind == DATA && !frame.payload.is_empty() {
            let of_stream = self::frame(WINDOW_UPDATE, 0, frame.stream, &taken);
            self.write(&[self::frame(WINDOW_UPDATE, 0, 0, &taken), of_stream].concat()).await?;
        }
        Ok(())
    }

    /// Gives up a stream.
    pub(crate) async fn reset(&mut self, stream: u32) -> Result<()> {
        self.streams.remove(&stream);
        self.write(&frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes())).await
    }

    /// Takes so many bytes more on the connection.
    pub(crate) async fn open_window(&mut self, bytes: u32) -> Result<()> {
        self.write(&frame(WINDOW_UPDATE, 0, 0, &bytes.to_be_bytes())).await
    }

    /// Takes so many bytes more on every open stream.
    pub(crate) async fn open_windows(&mut self, bytes: u32) -> Result<()> {
        let more = bytes.to_be_bytes();
        let updates: Vec<u8> = self.streams.keys().flat_map(|s| frame(WINDOW_UPDATE, 0, *s, &more)).collect();
        self.write(&updates).await
    }

    /// The number of streams that the server has not ended.
    pub(crate) fn open_streams(&self) -> usize {
        self.streams.len()
    }

    fn new_stream(&mut self) -> u32 {
        let stream = self.next;
        self.next += 2;
        self.streams.insert(stream, self.initial);
        stream
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.io.write_all(bytes).await?;
        Ok(self.io.flush().await?)
    }

    /// The next frame. An error where the server ends the connection. It may be cancelled.
    pub(crate) async fn next_frame(&mut self) -> Result<Frame> {
        let frame = loop {
            if let Some(frame) = self.parse() {
                break frame;
            }
            ensure!(self.io.read_buf(&mut self.received).await? > 0, "the server closed the connection");
        };
        match frame.kind {
            SETTINGS if frame.flags & ACK == 0 => self.settings(&frame).await?,
            PING if frame.flags & ACK == 0 => self.write(&self::frame(PING, ACK, 0, &frame.payload)).await?,
            WINDOW_UPDATE => {
                let more = i64::from(frame.number(0).unwrap_or(0));
                match frame.stream {
                    0 => self.window += more,
                    stream => drop(self.streams.entry(stream).and_modify(|window| *window += more)),
                }
            }
            GOAWAY => bail!("the server ends the connection: code {:?}", frame.number(4)),
            _ if frame.ends_stream() => drop(self.streams.remove(&frame.stream)),
            _ => {}
        }
        Ok(frame)
    }

    async fn settings(&mut self, settings: &Frame) -> Result<()> {
        for pair in settings.payload.chunks_exact(6) {
            if u16::from_be_bytes([pair[0], pair[1]]) == INITIAL_WINDOW {
                let initial = i64::from(u32::from_be_bytes([pair[2], pair[3], pair[4], pair[5]]));
                let more = initial - self.initial;
                self.initial = initial;
                self.streams.values_mut().for_each(|window| *window += more);
            }
        }
        self.write(&frame(SETTINGS, ACK, 0, &[])).await
    }

    fn parse(&mut self) -> Option<Frame> {
        let head: [u8; 9] = self.received.get(..9)?.try_into().ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let end = 9 + usize::try_from(length).ok()?;
        let payload = self.received.get(9..end)?.to_vec();
        self.received.drain(..end);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }
}
