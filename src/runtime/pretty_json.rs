//! JSON with line breaks and indentation, from JSON without.
//!
//! It works on text, so that a document is serialized by the same writer with and without them: with a second one, each type of a
//! document would be compiled once more. Numbers and strings stay as they are, and so does JSON that was read and not parsed.

use std::io::{self, Write};

/// Two spaces for each level.
const INDENT: &[u8] = b"  ";

/// How much is held before it is written.
const HELD: usize = 16 << 10;

/// Indents the JSON that is written to it, as `serde_json::to_string_pretty` would.
pub(crate) struct PrettyWriter<'w> {
    out: &'w mut dyn Write,
    held: Vec<u8>,
    depth: usize,
    /// Whether the last byte is an opening bracket.
    is_open: bool,
    is_string: bool,
    is_escaped: bool,
}

impl<'w> PrettyWriter<'w> {
    pub(crate) fn new(out: &'w mut dyn Write) -> Self {
        let held = Vec::with_capacity(HELD);
        Self { out, held, depth: 0, is_open: false, is_string: false, is_escaped: false }
    }

    fn add(&mut self, byte: u8) {
        if self.is_string {
            self.held.push(byte);
            self.is_string = self.is_escaped || byte != b'"';
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return;
        }
        if byte.is_ascii_whitespace() {
            return;
        }
        let is_close = matches!(byte, b'}' | b']');
        self.depth = self.depth.saturating_sub(usize::from(is_close));
        // After an opening bracket and before a closing one, except between the two.
        if self.is_open != is_close {
            self.break_line();
        }
        self.held.push(byte);
        self.is_open = matches!(byte, b'{' | b'[');
        self.is_string = byte == b'"';
        self.depth += usize::from(self.is_open);
        match byte {
            b',' => self.break_line(),
            b':' => self.held.push(b' '),
            _ => {}
        }
    }

    fn break_line(&mut self) {
        self.held.push(b'\n');
        (0..self.depth).for_each(|_| self.held.extend_from_slice(INDENT));
    }
}

impl Write for PrettyWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.add(*byte);
        }
        if self.held.len() >= HELD {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }
}

/// The same JSON with line breaks and indentation, and a line feed at the end.
pub(crate) fn pretty_json(json: &str) -> String {
    let mut out = Vec::with_capacity(json.len() * 2);
    let mut writer = PrettyWriter::new(&mut out);
    // Writing to memory does not fail, and text stays text.
    if writer.write_all(json.as_bytes()).and_then(|()| writer.flush()).is_err() {
        return String::new();
    }
    out.push(b'\n');
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn it_is_the_text_that_serde_json_writes() {
        for json in [
            "{}",
            "[]",
            "5",
            r#""a""#,
            r#"{"a":{},"b":[],"c":[[],{}],"d":[1,-2.5,true,null]}"#,
            r#"[{"a":"{[:,]}"},"\"","\\","\\\",","é\n","€\"€"]"#,
            " { \"a\" : [ 1 ,\n\t2 ] , \"b\" : { \"c\" : [ ] } } ",
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(pretty_json(json), serde_json::to_string_pretty(&value).unwrap() + "\n", "{json}");
        }
        let exact = r#"[12345678901234567890123,1e400,1.50,"\u0041"]"#;
        assert_eq!(pretty_json(exact), "[\n  12345678901234567890123,\n  1e400,\n  1.50,\n  \"\\u0041\"\n]\n");
    }

    #[test]
    fn pieces_of_any_length_make_the_same_text() {
        let item = r#"{"a":["{\"\\",{}],"b":"é,:"},"#;
        let json = format!("[{}1]", item.repeat(2_000));
        for piece in [1, 2, 3, 7, 100_000] {
            let mut out = Vec::new();
            let mut writer = PrettyWriter::new(&mut out);
            json.as_bytes().chunks(piece).for_each(|piece| writer.write_all(piece).unwrap());
            writer.flush().unwrap();
            assert_eq!(String::from_utf8(out).unwrap() + "\n", pretty_json(&json), "{piece}");
        }
    }
}
