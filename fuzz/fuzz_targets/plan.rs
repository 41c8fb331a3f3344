//! Realistic states with some faults, planned by all controllers of any release.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_fuzz::{inputs, state};

fuzz_target!(|state: state::Request| {
    let Some(once) = inputs::read_request(&state.0.to_string()) else { return };
    // A field that is not read makes the reader look twice; what it reads is the same.
    let mut odd = state.0;
    odd["odd"] = true.into();
    let again = inputs::read_request(&odd.to_string());
    assert_eq!(Some(once), again, "the same state gives the same plan");
});
