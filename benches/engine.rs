//! Roster's side of `cargo xtask bench`: plans one state many times and prints how long each took.
//!
//! Each line of the input is one JSON case with `repeat`, the same as for the Go program; parsing is not measured.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench: it may fail loudly")]

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use roster_engine::model::defaults::Defaults;
use roster_engine::state::{Controller, Limit};
use roster_manifests::decode::{
    Source,
    request::{self, DecodedRequest, RequestBody},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

// The allocator of the released program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The fields of a line other than the state, which is a request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    controller: Controller,
    repeat: usize,
    #[serde(rename = "id")]
    _id: IgnoredAny,
    max_endpoints_per_slice: i64,
    #[serde(flatten)]
    state: Map<String, Value>,
}

fn main() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let task: Task = serde_json::from_str(&line).unwrap();
        let source = Source { defaults: Defaults::NEVER, ..Source::body() };
        let body = request::read(&Value::Object(task.state).to_string(), &source).unwrap();
        let RequestBody::Request(DecodedRequest { mut request, .. }) = body else { panic!("objects") };
        request.controllers = Some(vec![task.controller]);
        request.options.max_endpoints_per_slice = Limit::new(task.max_endpoints_per_slice);
        let mut writes = 0;
        let nanos: Vec<u128> = (0..task.repeat)
            .map(|_| {
                let start = Instant::now();
                let plan = black_box(&request).plan();
                let slices = &plan.endpoint_slices;
                writes = slices.create.len() + slices.update.len() + slices.delete.len();
                writes += usize::from(plan.endpoints.verb() != "none");
                drop(black_box(plan));
                start.elapsed().as_nanos()
            })
            .collect();
        let answer = serde_json::json!({ "nanos": nanos, "writes": writes });
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
    }
}
