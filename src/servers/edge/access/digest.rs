//! SHA-256, and its digits.

use std::fmt::Write;

use ring::digest::{SHA256, digest};

/// The SHA-256 of bytes.
pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut sum = [0; 32];
    sum.copy_from_slice(digest(&SHA256, bytes).as_ref());
    sum
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
        // Writing to a string does not fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The SHA-256 of a text, in hexadecimal digits.
pub(crate) fn checksum(text: &str) -> String {
    hex(&sha256(text.as_bytes()))
}
