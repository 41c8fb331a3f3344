//! Any bytes as the body of `POST /v1/plan`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_fuzz::inputs;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = inputs::read_request(text);
    }
});
