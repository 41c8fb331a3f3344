//! The reader of an input: of its bytes, decompressed and converted to UTF-8.

use std::io::{self, Read};

/// One type for all readers. With a type for each combination of them, all that reads would be compiled once for each.
pub(super) type AnyReader<'a> = Box<dyn Read + Send + 'a>;

/// Reads until the buffer is full or the input ends or fails. Returns the number of bytes and the error.
pub(super) fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> (usize, Option<io::Error>) {
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
