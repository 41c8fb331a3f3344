//! Roster's side of `cargo xtask bench --what view`: views one state many times and prints how long each took.
//!
//! Each line of the input is one JSON case with `repeat`, the same as for the Go program; parsing is not measured.
#![expect(clippy::unwrap_used, reason = "a bench: it may fail loudly")]

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

use roster_engine::model::{Nodes, defaults::Defaults};
use roster_engine::view::{ProxyView, Viewpoint};
use roster_manifests::decode::{Source, request};
use serde_json::Value;

// The allocator of the released program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let mut task: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let repeat = task.as_object_mut().unwrap().remove("repeat").unwrap().as_u64().unwrap();
        let source = Source { defaults: Defaults::NEVER, ..Source::body() };
        let mut request = request::read_view(&task.to_string(), &source).unwrap();
        let nodes = Nodes::new(std::mem::take(&mut request.known.nodes));
        let at = Viewpoint { name: &request.node, node: nodes.get(&request.node) };
        let mut used = 0;
        let nanos: Vec<u128> = (0..repeat)
            .map(|_| {
                let start = Instant::now();
                let known = black_box(&request.known);
                let view = ProxyView::of(&known.services, &known.slices, request.family, at, usize::MAX).unwrap();
                let endpoints = view.ports.iter().flat_map(|port| &port.endpoints);
                used = endpoints.filter(|viewed| viewed.uses.any()).count();
                drop(black_box(view));
                start.elapsed().as_nanos()
            })
            .collect();
        let answer = serde_json::json!({ "nanos": nanos, "writes": used });
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
    }
}
