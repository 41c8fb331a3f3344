//! UTF-16, which some Windows programs write: kubectl reads it if it begins with a byte order mark.

use std::io::{self, Read};

use super::any_reader::{AnyReader, fill};

/// The byte order, if an input that begins with these bytes is UTF-16.
pub(super) fn byte_order(start: &[u8]) -> Option<ByteOrder> {
    match start {
        [0xff, 0xfe, ..] => Some(ByteOrder::Little),
        [0xfe, 0xff, ..] => Some(ByteOrder::Big),
        _ => None,
    }
}

/// The order of the two bytes of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// Bytes that are read at a time.
const CHUNK: usize = 8 << 10;

/// Reads UTF-16 as UTF-8, without the byte order mark.
pub(super) struct Utf16Reader<'a> {
    input: AnyReader<'a>,
    order: ByteOrder,
    text: String,
    /// How many bytes of `text` were read.
    read: usize,
    /// The first half of a pair, whose second half is in the next chunk.
    half: Option<u16>,
    at_start: bool,
}

impl<'a> Utf16Reader<'a> {
    pub(super) fn new(input: AnyReader<'a>, order: ByteOrder) -> Self {
        Self { input, order, text: String::new(), read: 0, half: None, at_start: true }
    }

    /// Reads the next chunk into `text`, which stays empty at the end of the input.
    fn next_chunk(&mut self) -> io::Result<()> {
        (self.read, self.text) = (0, String::with_capacity(2 * CHUNK));
        let mut bytes = [0; CHUNK];
        let (got, failed) = fill(&mut self.input, &mut bytes);
        if let Some(error) = failed {
            return Err(error);
        }
        let (pairs, rest) = bytes[..got].as_chunks::<2>();
        if !rest.is_empty() {
            return Err(damaged("the last character has only one byte"));
        }
        let unit = |pair: &[u8; 2]| match self.order {
            ByteOrder::Little => u16::from_le_bytes(*pair),
            ByteOrder::Big => u16::from_be_bytes(*pair),
        };
        let mark = usize::from(std::mem::take(&mut self.at_start));
        let mut units: Vec<u16> = self.half.take().into_iter().chain(pairs.iter().skip(mark).map(unit)).collect();
        // A pair may be cut by the end of the chunk, but not by that of the input.
        if got == CHUNK {
            self.half = units.pop_if(|last| (0xd800..0xdc00).contains(last));
        }
        for decoded in char::decode_utf16(units) {
            self.text.push(decoded.map_err(|_| damaged("half of a pair stands alone"))?);
        }
        Ok(())
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not UTF-16: {why}"))
}

impl Read for Utf16Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.text.len() {
            self.next_chunk()?;
        }
        let rest = &self.text.as_bytes()[self.read..];
        let count = buffer.len().min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str, order: ByteOrder) -> Vec<u8> {
        let bytes = |unit: u16| if order == ByteOrder::Little { unit.to_le_bytes() } else { unit.to_be_bytes() };
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    fn read(bytes: &[u8]) -> io::Result<String> {
        let order = byte_order(bytes).unwrap();
        let mut text = String::new();
        Utf16Reader::new(Box::new(bytes), order).read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn both_byte_orders_are_read() {
        // The pairs of the long texts lie across the ends of chunks, before and behind them.
        let long = ["x", "xy"].map(|start| start.to_owned() + &"\u{1f600}é".repeat(CHUNK));
        for text in ["", "kind: Service\n", "é日\u{1f600}", &long[0], &long[1]] {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                assert_eq!(read(&encoded(text, order)).unwrap(), text, "{order:?}");
            }
        }
    }

    #[test]
    fn damaged_text_is_an_error() {
        for (bytes, want) in [
            (&[0xff, 0xfe, 0x41][..], "not UTF-16: the last character has only one byte"),
            (&[0xff, 0xfe, 0x3d, 0xd8], "not UTF-16: half of a pair stands alone"),
            (&[0xfe, 0xff, 0xde, 0x00, 0x00, 0x41], "not UTF-16: half of a pair stands alone"),
        ] {
            assert_eq!(read(bytes).unwrap_err().to_string(), want);
        }
        assert_eq!([&b"{}"[..], b"", b"\xef\xbb\xbf"].map(byte_order), [None; 3]);
    }
}
