//! What the targets of the decoders share.

use std::convert::Infallible;
use std::num::NonZeroUsize;

use roster::inventory::whole;
use roster::decode::{self, InputFormat, Source, request};
use roster::inventory::Inventory;
use roster::engine::state::{Controller, Options, Plan};

/// Reads `bytes`, and plans whatever was understood. Every line of the answer is JSON, whatever came in.
pub fn read_and_plan(bytes: &[u8], format: InputFormat) {
    let source = Source { format, threads: NonZeroUsize::MIN, max_bytes: Some(1 << 20), ..Source::body() };
    let mut inventory = Inventory::default();
    // An error is fine, and what came before it stays.
    let _ = decode::read(bytes, &source, &mut inventory);
    let index = inventory.index();
    let Ok(_) = cluster::plan_all(&index, &Controller::ALL, &Options::default(), NonZeroUsize::MIN, |lines| {
        for line in lines.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            serde_json::from_slice::<serde_json::Value>(line).expect("the answer is JSON");
        }
        Ok::<(), Infallible>(())
    });
}

/// Reads a request as it is posted, and plans it.
pub fn read_request(text: &str) -> Option<Plan> {
    let requested = request::read(text, &Source::body()).ok()?;
    let plan = requested.request.plan();
    serde_json::to_vec(&(&plan, requested.problems.as_slice())).expect("a plan is JSON");
    Some(plan)
}
