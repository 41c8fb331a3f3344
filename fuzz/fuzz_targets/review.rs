//! Any bytes as the body of an admission review. Whatever can be read is decided, and a second patch is empty.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster::admission::{Mode, Nothing, Request, Rule, Settings, Stage, answer, decide, read};
use serde_json::{Value, value::to_raw_value};

fuzz_target!(|bytes: &[u8]| {
    let Ok((version, request)) = read(bytes) else { return };
    let mut settings = Settings::default();
    for rule in Rule::ALL {
        settings.set(*rule, Mode::Enforce);
    }
    for stage in [Stage::Mutate, Stage::Validate] {
        let decision = decide(&request, stage, &settings, &Nothing);
        let said = answer(version, &request.uid, &decision);
        serde_json::from_slice::<Value>(&said).expect("the answer is JSON");
        let mut object: Value = match request.object.map(|o| serde_json::from_str(o.get())) {
            Some(Ok(object)) => object,
            _ => continue,
        };
        // An API server sends what it has read itself; a list in place of an object is nothing that it would send.
        if decision.patch.iter().try_for_each(|op| op.apply(&mut object)).is_ok() {
            let patched = to_raw_value(&object).expect("it was JSON before");
            let again = decide(&Request { object: Some(&patched), ..request.clone() }, Stage::Mutate, &settings, &Nothing);
            assert!(stage == Stage::Validate || again.patch.is_empty(), "{:?} then {:?}", decision.patch, again.patch);
        }
    }
});
