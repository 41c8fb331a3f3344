//! Lines of bounded length.

use std::io::{self, BufRead};

/// What the input has next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine<'b> {
    /// A line, without its end.
    Bytes(&'b [u8]),
    /// A line that was skipped, because it is too long.
    TooLong,
    /// Nothing more.
    End,
}

/// A reader of lines that holds at most one of them.
pub(super) struct LineReader<R> {
    input: R,
    line: Vec<u8>,
    most: usize,
}

/// The memory that stays for the next line.
const KEPT: usize = 1 << 20;

impl<R: BufRead> LineReader<R> {
    /// A reader of lines with at most `most` bytes.
    pub(super) fn new(input: R, most: usize) -> Self {
        Self { input, line: Vec::new(), most }
    }

    /// The next line. What follows the last line end counts as a line.
    pub(super) fn next(&mut self) -> io::Result<InputLine<'_>> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        let (mut is_any, mut is_long) = (false, false);
        loop {
            let part = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                part => part?,
            };
            if part.is_empty() {
                break;
            }
            is_any = true;
            let end = memchr::memchr(b'\n', part);
            let text = &part[..end.unwrap_or(part.len())];
            is_long |= self.line.len() + text.len() > self.most;
            if !is_long {
                self.line.extend_from_slice(text);
            }
            let taken = end.map_or(part.len(), |end| end + 1);
            self.input.consume(taken);
            if end.is_some() {
                break;
            }
        }
        Ok(match (is_any, is_long) {
            (false, _) => InputLine::End,
            (_, true) => InputLine::TooLong,
            _ => InputLine::Bytes(self.line.strip_suffix(b"\r").unwrap_or(&self.line)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// The lines of a text, read in pieces of `piece` bytes.
    fn lines(text: &str, piece: usize) -> Vec<String> {
        let mut reader = LineReader::new(BufReader::with_capacity(piece, text.as_bytes()), 5);
        let mut all = Vec::new();
        loop {
            match reader.next().unwrap() {
                InputLine::Bytes(line) => all.push(String::from_utf8(line.to_vec()).unwrap()),
                InputLine::TooLong => all.push("too long".to_owned()),
                InputLine::End => return all,
            }
        }
    }

    #[test]
    fn a_line_is_read_whole_or_skipped_whole() {
        for (text, want) in [
            ("", &[][..]),
            ("a\nb\n", &["a", "b"]),
            ("a\r\n\nb", &["a", "", "b"]),
            ("12345\n123456\nafter\n", &["12345", "too long", "after"]),
            ("1234567890123", &["too long"]),
        ] {
            for piece in 1..8 {
                assert_eq!(lines(text, piece), want, "{text:?} in pieces of {piece}");
            }
        }
    }
}
