//! Any bytes as the body of an admission review: readable requests are decided, and a second patch is empty.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_admission::{AdmissionRequest, Decision, Nothing, Stage, answer_review, decide, read_review};
use roster_fuzz::reviews::{settle, strict};
use serde_json::{Value, value::to_raw_value};

fuzz_target!(|bytes: &[u8]| {
    let Ok((version, request)) = read_review(bytes) else { return };
    let settings = strict();
    for stage in [Stage::Mutate, Stage::Validate] {
        let decided = decide(&request, stage, &settings, &Nothing);
        let decision = decided.unwrap_or_else(|unreadable| Decision::unreviewed(&unreadable.to_string()));
        let answer = answer_review(version, &request.uid, &decision);
        serde_json::from_slice::<Value>(&answer).expect("the answer is JSON");
    }
    // An API server serializes what it has parsed: keys are unique, and an object is a map.
    let Some(Ok(object @ Value::Object(_))) = request.object.map(|o| serde_json::from_str(o.get())) else { return };
    let raw = to_raw_value(&object).expect("it was JSON before");
    settle(&AdmissionRequest { object: Some(&raw), ..request.clone() }, &settings, &Nothing);
});
