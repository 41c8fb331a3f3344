//! States that could be real, with something odd here and there, through all controllers of any release.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster::plan::PlanRequest;
use roster_fuzz::state;

fuzz_target!(|state: state::Request| {
    let Ok(request) = serde_json::from_value::<PlanRequest>(state.0) else { return };
    let (once, again) = (request.plan(), request.plan());
    assert_eq!(once, again, "the same state gives the same plan");
    serde_json::to_vec(&once).expect("a plan is JSON");
});
