//! Any bytes as the body of `POST /v1/plan`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster::plan::PlanRequest;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = serde_json::from_slice::<PlanRequest>(bytes) {
        serde_json::to_vec(&request.plan()).expect("a plan is JSON");
    }
});
