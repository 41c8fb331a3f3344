//! Shared code of the targets for the decoder.

use std::convert::Infallible;
use std::num::NonZeroUsize;

use roster::{
    decode::{self, InputFormat, Source, request},
    engine::state::{Controller, Options, Plan},
    inventory::{Inventory, whole},
};

/// Reads `bytes`, and plans every Service that was read. Each line of the answer is JSON.
pub fn read_and_plan(bytes: &[u8], format: InputFormat) {
    let source = Source { format, threads: NonZeroUsize::MIN, max_bytes: Some(1 << 20), ..Source::body() };
    let mut inventory = Inventory::default();
    // After an error, the objects before it are planned.
    let _ = decode::read(bytes, &source, &mut inventory);
    let index = inventory.index();
    let Ok(_) = whole::plan_all(&index, &Controller::ALL, &Options::default(), NonZeroUsize::MIN, |lines| {
        for line in lines.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            serde_json::from_slice::<serde_json::Value>(line).expect("the answer is JSON");
        }
        Ok::<(), Infallible>(())
    });
}

/// Reads the body of a plan request, and plans it.
pub fn read_request(text: &str) -> Option<Plan> {
    let requested = request::read(text, &Source::body()).ok()?;
    let plan = requested.request.plan();
    serde_json::to_vec(&(&plan, requested.problems.as_slice())).expect("a plan is JSON");
    Some(plan)
}
