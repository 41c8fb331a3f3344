//! Records of the saved state of a node proxy.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster::servers::edge::fuzzing::restore;

fuzz_target!(|text: &str| restore(text, "edge-1"));
