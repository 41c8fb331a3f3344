//! The bytes of an input: decompressed, limited, and with their format detected.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::{
    error::{DecodeError, DecodeReason, OverLimit},
    fill::fill,
    position::Position,
    source::{InputFormat, Source},
    utf16::{Utf16Reader, byte_order},
};

/// An input whose first bytes were peeked.
pub(super) type PeekedReader<R> = io::Chain<io::Chain<io::Cursor<Vec<u8>>, FailOnce>, R>;

/// Decompresses gzip if the input starts with its magic number, converts UTF-16 if it starts with a byte order mark, and
/// fails after `limit` bytes.
pub(super) fn open<'a, R: Read + Send + 'a>(input: R, limit: Option<u64>) -> Box<dyn Read + Send + 'a> {
    let (start, input) = peek(input, 2);
    if start == [0x1f, 0x8b] { as_utf8(MultiGzDecoder::new(input), limit) } else { as_utf8(input, limit) }
}

fn as_utf8<'a, R: Read + Send + 'a>(input: R, limit: Option<u64>) -> Box<dyn Read + Send + 'a> {
    let (start, input) = peek(input, 2);
    match byte_order(&start) {
        Some(order) => limited(Utf16Reader::new(input, order), limit),
        None => limited(input, limit),
    }
}

fn limited<'a, R: Read + Send + 'a>(input: R, limit: Option<u64>) -> Box<dyn Read + Send + 'a> {
    match limit {
        Some(limit) => Box::new(LimitedReader { input, limit, left: limit }),
        None => Box::new(input),
    }
}

/// How much of an input shows whether it is text, and of which format.
const START: usize = 512;

/// The start of an input, and the whole input. An error means that it is not text: a device or an archive is not read to its
/// end. What begins as JSON is read as far as it is JSON.
pub(super) fn peek_text<R: Read>(input: R, source: &Source<'_>) -> Result<(Vec<u8>, PeekedReader<R>), DecodeError> {
    let (start, input) = peek(input, START);
    if is_json(&start, source.format) {
        return Ok((start, input));
    }
    let why = |at: usize, why: &str| {
        Err(Position::START.after(&start[..at]).error(source.name, DecodeReason::Yaml(why.to_owned())))
    };
    if let Some(at) = start.iter().position(|byte| *byte == 0) {
        return why(at, "it has a NUL character; UTF-16 needs a byte order mark");
    }
    match std::str::from_utf8(&start) {
        // The last character may be incomplete.
        Err(error) if error.error_len().is_some() => why(error.valid_up_to(), NOT_UTF8),
        _ => Ok((start, input)),
    }
}

/// What is wrong with text of another encoding.
pub(super) const NOT_UTF8: &str = "not UTF-8";

/// The first `count` bytes (fewer if the input is shorter), and the whole input.
pub(super) fn peek<R: Read>(mut input: R, count: usize) -> (Vec<u8>, PeekedReader<R>) {
    let mut start = vec![0; count];
    let (got, failed) = fill(&mut input, &mut start);
    start.truncate(got);
    (start.clone(), io::Cursor::new(start).chain(FailOnce(failed)).chain(input))
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

/// Whether the text after `start` is JSON. A template often begins with `{{` or `{%`, and JSON never does.
pub(super) fn is_json(start: &[u8], format: InputFormat) -> bool {
    let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start();
    match format {
        InputFormat::Json => true,
        InputFormat::Yaml => false,
        InputFormat::Auto => match text {
            [b'{', b'{' | b'%', ..] => false,
            start => matches!(start, [b'{' | b'[', ..]),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_shows_the_format() {
        for (start, want) in [
            (&b"{}"[..], true),
            (b" \n[", true),
            (b"\xef\xbb\xbf{ \"a\"", true),
            (b"{\"{{\": 1}", true),
            (b"{{- if .Values.web }}", false),
            (b"\xef\xbb\xbf {% if web %}", false),
            (b"{", true),
            (b"a: {}", false),
            (b"", false),
        ] {
            assert_eq!(is_json(start, InputFormat::Auto), want, "{:?}", String::from_utf8_lossy(start));
        }
    }

    #[test]
    fn what_does_not_begin_as_text_is_not_read() {
        let source = Source::file("f");
        let long = [&[b'a'; START - 1][..], "é".as_bytes()].concat();
        for (bytes, want) in [
            (&b"a: 1"[..], None),
            (&long, None),
            (b"", None),
            (b"a:\n\0", Some("f:2:1: not YAML: it has a NUL character; UTF-16 needs a byte order mark")),
            (b"{\0\xff", None),
            (b"a\xff", Some("f:1:2: not YAML: not UTF-8")),
        ] {
            let read = peek_text(bytes, &source);
            let all = read.map(|(_, mut input)| {
                let mut all = Vec::new();
                input.read_to_end(&mut all).map(|_| all).unwrap()
            });
            assert_eq!(all.map_err(|e| e.to_string()), want.map_or(Ok(bytes.to_vec()), |why| Err(why.to_owned())));
        }
        // An input without end.
        assert!(peek_text(io::repeat(0), &source).is_err());
    }
}
