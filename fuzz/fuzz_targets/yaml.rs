//! Any bytes as YAML documents, then the plan of every Service among them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_fuzz::inputs;
use roster_manifests::decode::InputFormat;

fuzz_target!(|bytes: &[u8]| inputs::read_and_plan(bytes, InputFormat::Yaml));
