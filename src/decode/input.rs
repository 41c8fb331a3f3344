//! The bytes of an input: decompressed, limited, and with their format detected.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::source::InputFormat;

/// The cause of an [`io::Error`] for an input over its limit.
#[derive(Debug, thiserror::Error)]
#[error("more than {0} bytes after decompression")]
pub(super) struct OverLimit(pub(super) u64);

/// An input whose first bytes were peeked.
pub(super) type PeekedReader<R> = io::Chain<io::Chain<io::Cursor<Vec<u8>>, FailOnce>, R>;

/// Decompresses gzip if the input starts with its magic number, and fails after `limit` bytes.
pub(super) fn open<'a, R: Read + Send + 'a>(input: R, limit: Option<u64>) -> Box<dyn Read + Send + 'a> {
    let (start, input) = peek(input, 2);
    match (start == [0x1f, 0x8b], limit) {
        (true, Some(limit)) => Box::new(LimitedReader { input: MultiGzDecoder::new(input), limit, left: limit }),
        (true, None) => Box::new(MultiGzDecoder::new(input)),
        (false, Some(limit)) => Box::new(LimitedReader { input, limit, left: limit }),
        (false, None) => Box::new(input),
    }
}

/// The first `count` bytes (fewer if the input is shorter), and the whole input.
pub(super) fn peek<R: Read>(mut input: R, count: usize) -> (Vec<u8>, PeekedReader<R>) {
    let mut start = vec![0; count];
    let (got, failed) = fill(&mut input, &mut start);
    start.truncate(got);
    (start.clone(), io::Cursor::new(start).chain(FailOnce(failed)).chain(input))
}

/// Reads until the buffer is full or the input ends or fails. Returns the number of bytes and the error.
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

/// A reader that fails once, if it has an error, and is empty otherwise.
pub(super) struct FailOnce(Option<io::Error>);

impl Read for FailOnce {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

struct LimitedReader<R> {
    input: R,
    limit: u64,
    left: u64,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            // An input of exactly the limit is allowed.
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

/// The UTF-8 byte order mark.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether the text after `start` is JSON.
pub(super) fn is_json(start: &[u8], format: InputFormat) -> bool {
    let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start();
    match format {
        InputFormat::Json => true,
        InputFormat::Yaml => false,
        InputFormat::Auto => matches!(text.first(), Some(b'{' | b'[')),
    }
}
