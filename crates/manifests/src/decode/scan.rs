//! Finds the end of a JSON object or list, at memory speed.
//!
//! Blocks of 64 bytes become bit masks: one bit per byte for quotes, backslashes, opening and closing
//! brackets. What lies in strings is masked out by a prefix sum of the quotes. It is the first stage of
//! simdjson (Langdale and Lemire, "Parsing Gigabytes of JSON per Second"). The scan does not validate: each value is
//! parsed afterwards.

use super::byte_block::ByteBlock;

/// A scan from the opening bracket of a container to its end, across several pieces of text.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    depth: u64,
    /// All bits are set within a string.
    in_string: u64,
    /// 1 if the next byte is escaped.
    escaped: u64,
}

impl Scan {
    /// Continues with `bytes`, which follow those of the last call. Returns the offset after the closing bracket.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let blocks = bytes.as_chunks::<16>().0.as_chunks::<4>().0;
        let tail = &bytes[blocks.len() * 64..];
        for (i, block) in blocks.iter().enumerate() {
            if let Some(end) = self.block(block) {
                return Some(i * 64 + end);
            }
        }
        tail.iter().position(|&b| self.byte(b)).map(|i| blocks.len() * 64 + i + 1)
    }

    #[inline]
    fn block(&mut self, bytes: &[[u8; 16]; 4]) -> Option<usize> {
        let block = ByteBlock::new(bytes);
        let escaped = self.escaped(block.mask(b'\\'));
        let quotes = block.mask(b'"') & !escaped;
        let in_string = prefix_xor(quotes) ^ self.in_string;
        self.in_string = if in_string >> 63 == 1 { u64::MAX } else { 0 };
        // `[` and `{`, `]` and `}` differ in one bit. The parser checks later that they pair up.
        let brackets = block.with(0x20);
        let open = brackets.mask(b'{') & !in_string;
        let close = brackets.mask(b'}') & !in_string;
        let closing = u64::from(close.count_ones());
        if self.depth > closing {
            self.depth = self.depth + u64::from(open.count_ones()) - closing;
            return None;
        }
        self.walk(open, close)
    }

    /// The container may end in this block: one bracket after the other.
    fn walk(&mut self, open: u64, close: u64) -> Option<usize> {
        let mut brackets = open | close;
        while brackets != 0 {
            let i = brackets.trailing_zeros();
            if open >> i & 1 == 1 {
                self.depth += 1;
            } else {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return usize::try_from(i + 1).ok();
                }
            }
            brackets &= brackets - 1;
        }
        None
    }

    /// Which bytes an odd number of backslashes comes before.
    #[inline]
    fn escaped(&mut self, backslashes: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        if backslashes == 0 {
            return std::mem::take(&mut self.escaped);
        }
        let backslashes = backslashes & !self.escaped;
        let follows = backslashes << 1 | self.escaped;
        // The carry of an addition runs through a row of backslashes; whether it comes out at an even or
        // odd place tells the length of the row.
        let odd_starts = backslashes & !EVEN & !follows;
        let (even_starts, carry) = odd_starts.overflowing_add(backslashes);
        self.escaped = u64::from(carry);
        (EVEN ^ (even_starts << 1)) & follows
    }

    /// The same for one byte: whether the container ends with it.
    fn byte(&mut self, b: u8) -> bool {
        let escaped = std::mem::take(&mut self.escaped) == 1;
        match b {
            b'\\' if !escaped => self.escaped = 1,
            b'"' if !escaped => self.in_string = !self.in_string,
            _ if self.in_string != 0 => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

/// Bit `i` is the parity of the bits up to `i`.
#[inline]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain way, for comparison.
    fn slow(bytes: &[u8]) -> Option<usize> {
        let mut scan = Scan::default();
        bytes.iter().position(|&b| scan.byte(b)).map(|i| i + 1)
    }

    #[test]
    fn ends_are_found_whatever_is_in_strings() {
        for (text, want) in [
            ("{}", Some(2)),
            ("{},", Some(2)),
            (r#"{"a":"}"}"#, Some(9)),
            (r#"{"a":"\"}"}x"#, Some(11)),
            (r#"{"a":"\\"}x"#, Some(10)),
            (r#"{"a\\\"}":[{}]}x"#, Some(15)),
            ("{", None),
            (r#"{"a":"}"#, None),
        ] {
            assert_eq!(Scan::default().end(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn blocks_and_bytes_agree_wherever_the_text_is_cut() {
        // A fixed pseudo-random sequence of the bytes that matter.
        let mut seed = 1_u32;
        for _ in 0..2000 {
            let mut text = vec![b'{'];
            for _ in 0..200 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push(b"\\\\\\\"\"{[}] a"[(seed >> 24) as usize % 11]);
            }
            let want = slow(&text);
            assert_eq!(Scan::default().end(&text), want, "{}", String::from_utf8_lossy(&text));
            let cut = (seed >> 8) as usize % text.len();
            let mut scan = Scan::default();
            let got = scan.end(&text[..cut]).or_else(|| scan.end(&text[cut..]).map(|i| i + cut));
            assert_eq!(got, want, "cut at {cut}: {}", String::from_utf8_lossy(&text));
        }
    }
}
