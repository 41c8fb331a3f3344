//! Realistic states with some faults, planned by all controllers of any release.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_fuzz::{inputs, state};

fuzz_target!(|state: state::Request| {
    let text = state.0.to_string();
    let Some(once) = inputs::read_request(&text) else { return };
    let again = inputs::read_request(&text);
    assert_eq!(Some(once), again, "the same state gives the same plan");
});
