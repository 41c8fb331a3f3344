//! Compressed input, as it is or with one byte changed. (Random bytes are hardly ever gzip.)
#![no_main]

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use roster_fuzz::inputs;
use roster_manifests::decode::InputFormat;

fuzz_target!(|input: (u16, u8, &[u8])| {
    let (at, change, plain) = input;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let (Ok(()), Ok(mut packed)) = (encoder.write_all(plain), encoder.finish()) else { return };
    if let Some(byte) = packed.get_mut(usize::from(at)) {
        *byte ^= change;
    }
    inputs::read_and_plan(&packed, InputFormat::Auto);
});
