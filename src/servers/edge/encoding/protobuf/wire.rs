//! The wire format of protobuf: numbers of seven bits a byte, and keys of fields.

/// The wire type of numbers.
const VARINT: u32 = 0;
/// The wire type of texts and messages.
const LENGTH_DELIMITED: u32 = 2;

/// Appends the key of a field.
fn write_key(field: u32, wire_type: u32, out: &mut Vec<u8>) {
    write_varint(u64::from((field << 3) | wire_type), out);
}

/// Appends a number.
pub(super) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    loop {
        // The low seven bits fit.
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

/// How many bytes a number takes.
pub(super) fn varint_size(value: usize) -> usize {
    let bits = usize::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Appends a field with a number. Negative ones take ten bytes, also those of 32 bits.
pub(super) fn write_number(field: u32, value: i64, out: &mut Vec<u8>) {
    write_key(field, VARINT, out);
    write_varint(value.cast_unsigned(), out);
}

/// Appends the key and the length of a field of bytes, which follow.
pub(super) fn write_length(field: u32, length: usize, out: &mut Vec<u8>) {
    write_key(field, LENGTH_DELIMITED, out);
    write_varint(length as u64, out);
}

/// Appends a field of bytes.
pub(super) fn write_bytes(field: u32, bytes: &[u8], out: &mut Vec<u8>) {
    write_length(field, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Makes a field of what was appended since `begin`.
pub(super) fn wrap(field: u32, begin: usize, out: &mut Vec<u8>) {
    let end = out.len();
    write_length(field, end - begin, out);
    let head = out.len() - end;
    out[begin..].rotate_right(head);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        for (value, want) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 1]),
            (16_384, &[0x80, 0x80, 1]),
            (u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] {
            let mut out = Vec::new();
            write_varint(value, &mut out);
            assert_eq!(out, want, "{value}");
            assert_eq!(usize::try_from(value).map(varint_size), Ok(want.len()), "{value}");
        }
    }

    #[test]
    fn what_was_appended_becomes_a_field() {
        let mut out = vec![9, 1, 2, 3];
        wrap(23, 1, &mut out);
        assert_eq!(out, [9, 0xba, 1, 3, 1, 2, 3]);
    }
}
