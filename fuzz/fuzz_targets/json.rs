//! Any bytes as JSON objects, then the plan of every Service among them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster::decode::InputFormat;
use roster_fuzz::inputs;

fuzz_target!(|bytes: &[u8]| inputs::read_and_plan(bytes, InputFormat::Json));
