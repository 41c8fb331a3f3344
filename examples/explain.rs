//! Which pods of a Service clients do not reach, and why: `cargo run --example explain [FILE]`.

use std::{error::Error, fmt::Write, fs::File};

use roster_engine::{
    explain::{Focus, LabelGroups, PodState, explain_only},
    state::Options,
};
use roster_manifests::{
    decode::{self, Source},
    inventory::Inventory,
};

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1);
    print!("{}", unserved_pods(file.as_deref().unwrap_or("examples/shop.yaml"))?);
    Ok(())
}

/// One line for each Service without pods, and for each pod and port that a list does not publish as ready.
pub(crate) fn unserved_pods(path: &str) -> Result<String, Box<dyn Error>> {
    let mut inventory = Inventory::default();
    #[expect(clippy::disallowed_methods, reason = "only the core has no I/O")]
    decode::read(File::open(path)?, &Source::file(path), &mut inventory)?;
    let index = inventory.index();
    // If a selector matches no pod, the reason names the pod with the most similar labels.
    let groups: LabelGroups<'_> = inventory.pods.iter().collect();

    let mut lines = String::new();
    for entry in index.entries() {
        let explanation =
            explain_only(&index.state(entry), &Options::default(), Focus { pods: Some(&groups), ..Focus::default() });
        // The reasons of the Service as a whole, such as a selector that matches no pod.
        for reason in &explanation.reasons {
            writeln!(lines, "{}: {} {}", entry.name, reason.code.code(), reason.detail)?;
        }
        for row in explanation.rows.iter().filter(|row| row.state != PodState::Ready) {
            let codes: Vec<&str> = row.reasons.iter().map(|r| r.code.code()).collect();
            writeln!(lines, "{}: pod {} in {}: {}", entry.name, row.pod, row.scope, codes.join(", "))?;
        }
    }
    Ok(lines)
}
