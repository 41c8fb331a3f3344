//! Shared code of the targets for the decoder.

use std::convert::Infallible;
use std::num::NonZeroUsize;

use roster_engine::{
    reason::Finding,
    state::{Controller, Options, Plan},
};
use roster_manifests::{
    decode::{
        self, InputFormat, Source,
        request::{self, FieldErrors, RequestBody, RequestError},
    },
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

/// Reads the body of a plan request, and plans it. Returns the plan with the findings about the input, which do not name
/// lines and columns, or the invalid fields of the request.
pub fn read_request(text: &str) -> Result<(Plan, Vec<Finding>), Option<FieldErrors>> {
    let source = Source::body();
    let requested = match request::read(text, &source) {
        Ok(RequestBody::Request(requested)) => requested,
        Err(RequestError::Fields(errors)) => return Err(Some(errors)),
        Ok(RequestBody::Objects) | Err(_) => return Err(None),
    };
    let plan = requested.request.plan();
    let mut findings = requested.problems.as_slice().to_vec();
    for finding in &mut findings {
        let of_place = finding.message.strip_prefix(source.name).and_then(|rest| rest.split_once(": "));
        finding.message = of_place.map_or_else(|| finding.message.clone(), |(_, why)| why.into());
    }
    serde_json::to_vec(&(&plan, &findings)).expect("a plan is JSON");
    Ok((plan, findings))
}
