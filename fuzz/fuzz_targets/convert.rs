//! Any bytes as a `ConversionReview`, and as objects to convert to every target.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_admission::{
    convert::{self, ConversionTarget},
    policy,
};
use roster_manifests::decode::{self, Source};
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(answer) = convert::answer_conversion_review(bytes) {
        serde_json::from_slice::<&RawValue>(&answer).expect("an answer is JSON");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(documents) = decode::documents(text, &Source::body()) else { return };
    let objects: Vec<&RawValue> = documents.iter().map(|d| d.raw.as_ref()).collect();
    for target in ConversionTarget::ALL {
        serde_json::to_vec(&convert::convert_objects(&objects, target)).expect("objects are JSON");
    }
    for object in objects {
        policy::read(object);
    }
});
