//! Sixty-four bytes that are compared at once.
//!
//! With vectors where they are part of every processor (SSE2 of x86-64), through the safe functions of `safe_arch`.
//! Elsewhere in words of eight bytes.

#[cfg(target_arch = "x86_64")]
pub(super) use vectors::Block as ByteBlock;
#[cfg(not(target_arch = "x86_64"))]
pub(super) use words::Block as ByteBlock;

/// Four vectors of sixteen bytes.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use safe_arch::{bitor_m128i, cmp_eq_mask_i8_m128i, m128i, move_mask_i8_m128i, set_splat_i8_m128i};

    // The functions name the vectors one by one: methods of arrays are not always inlined.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Block([m128i; 4]);

    impl Block {
        #[inline]
        pub(in super::super) fn new([a, b, c, d]: &[[u8; 16]; 4]) -> Self {
            Self([m128i::from(*a), m128i::from(*b), m128i::from(*c), m128i::from(*d)])
        }

        /// Sets a bit of each byte.
        #[inline]
        pub(in super::super) fn with(self, bit: u8) -> Self {
            let ([a, b, c, d], bit) = (self.0, set_splat_i8_m128i(bit.cast_signed()));
            Self([bitor_m128i(a, bit), bitor_m128i(b, bit), bitor_m128i(c, bit), bitor_m128i(d, bit)])
        }

        /// Bit `i` tells whether byte `i` is this one.
        #[inline]
        pub(in super::super) fn mask(self, byte: u8) -> u64 {
            let ([a, b, c, d], byte) = (self.0, set_splat_i8_m128i(byte.cast_signed()));
            // The mask has 16 bits.
            let bits = |part| u64::from(move_mask_i8_m128i(cmp_eq_mask_i8_m128i(part, byte)).cast_unsigned());
            bits(a) | bits(b) << 16 | bits(c) << 32 | bits(d) << 48
        }
    }
}

/// Eight words of eight bytes.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod words {
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

    #[derive(Clone, Copy)]
    pub(in super::super) struct Block([u64; 8]);

    impl Block {
        #[inline]
        pub(in super::super) fn new(bytes: &[[u8; 16]; 4]) -> Self {
            let words = bytes.as_flattened().as_chunks::<8>().0;
            Self(std::array::from_fn(|i| words.get(i).map_or(0, |word| u64::from_le_bytes(*word))))
        }

        /// Sets a bit of each byte.
        #[inline]
        pub(in super::super) fn with(self, bit: u8) -> Self {
            Self(self.0.map(|word| word | (u64::from(bit) * LOW_BITS)))
        }

        /// Bit `i` tells whether byte `i` is this one.
        #[inline]
        pub(in super::super) fn mask(self, byte: u8) -> u64 {
            // Equal bytes become zero. Adding 127 to the lower seven bits of a byte carries into the eighth unless they are
            // zero, and never into the next byte.
            let zeros = |word: u64| !(((word & !HIGH_BITS) + !HIGH_BITS) | word | !HIGH_BITS);
            // The product moves the eighth bit of byte `i` to bit `56 + i`, and no two bits to the same place.
            let bits = |word: u64| zeros(word ^ (u64::from(byte) * LOW_BITS)).wrapping_mul(0x0002_0408_1020_4081) >> 56;
            self.0.iter().rev().fold(0, |mask, word| mask << 8 | bits(*word))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_and_words_find_each_byte_at_each_place() {
        // A fixed pseudo-random sequence, and neighbours of the bytes that are looked for.
        let mut seed = 1_u32;
        for round in 0..2000 {
            let bytes: [u8; 64] = std::array::from_fn(|i| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let byte = (seed >> 24) as u8;
                if round % 2 == 0 { byte } else { [0, 1, 0x7f, 0x80, 0xff, b'{', b'[', b'"'][(byte as usize + i) % 8] }
            });
            let rows = [0, 16, 32, 48].map(|from| std::array::from_fn(|i| bytes[from + i]));
            for byte in [0, 1, 0x7f, 0x80, 0x81, 0xfe, 0xff, b'"', b'\\', b'{', b'}', b'['] {
                for bit in [0, 0x20, 0x80] {
                    let is = |i: usize| u64::from(bytes[i] | bit == byte) << i;
                    let want = (0..64).map(is).sum::<u64>();
                    assert_eq!(ByteBlock::new(&rows).with(bit).mask(byte), want, "{bytes:?} | {bit} == {byte}");
                    assert_eq!(words::Block::new(&rows).with(bit).mask(byte), want, "{bytes:?} | {bit} == {byte}");
                }
            }
        }
    }
}
