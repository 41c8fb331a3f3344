//! The bytes of an input: unpacked, counted, and looked at before they are read.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

/// Marks an [`io::Error`] that stands for an input over its limit.
#[derive(Debug, thiserror::Error)]
#[error("more than {0} bytes after decompression")]
pub(super) struct OverLimit(pub(super) u64);

/// An input with its first bytes taken out, and put back.
pub(super) type Peeked<R> = io::Chain<io::Chain<io::Cursor<Vec<u8>>, Fails>, R>;

/// Unpacks gzip, if it is that, and ends with an error after `limit` bytes.
pub(super) fn open<'a, R: Read + Send + 'a>(input: R, limit: Option<u64>) -> Box<dyn Read + Send + 'a> {
    let (start, input) = peek(input, 2);
    match (start == [0x1f, 0x8b], limit) {
        (true, Some(limit)) => Box::new(Limited { input: MultiGzDecoder::new(input), limit, left: limit }),
        (true, None) => Box::new(MultiGzDecoder::new(input)),
        (false, Some(limit)) => Box::new(Limited { input, limit, left: limit }),
        (false, None) => Box::new(input),
    }
}

/// The first `count` bytes (fewer where the input is shorter), and the input with them.
pub(super) fn peek<R: Read>(mut input: R, count: usize) -> (Vec<u8>, Peeked<R>) {
    let mut start = vec![0; count];
    let (got, failed) = fill(&mut input, &mut start);
    start.truncate(got);
    (start.clone(), io::Cursor::new(start).chain(Fails(failed)).chain(input))
}

/// Reads until `buffer` is full or the input ends or fails, and returns how much there was.
pub(super) fn fill(input: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (got, Some(e)),
        }
    }
    (got, None)
}

/// Fails once, if it has an error.
pub(super) struct Fails(Option<io::Error>);

impl Read for Fails {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

struct Limited<R> {
    input: R,
    limit: u64,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            // Exactly the limit is allowed: only one byte more is too much.
            return match self.input.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(OverLimit(self.limit))),
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let got = self.input.read(&mut buffer[..most])?;
        self.left = self.left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX));
        Ok(got)
    }
}
