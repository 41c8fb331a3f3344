//! What the controllers would write for the objects in a file: `cargo run --example plan [FILE]`.

use std::{error::Error, fmt::Write, fs::File};

use roster_engine::{
    compare,
    plan::plan,
    state::{Controller, Options},
};
use roster_manifests::{
    decode::{self, Source},
    inventory::Inventory,
};

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1);
    print!("{}", planned_changes(file.as_deref().unwrap_or("examples/shop.yaml"))?);
    Ok(())
}

/// One line for each object that the controllers would write.
pub(crate) fn planned_changes(path: &str) -> Result<String, Box<dyn Error>> {
    // Decode all objects of the file, and index them by Service.
    let mut inventory = Inventory::default();
    #[expect(clippy::disallowed_methods, reason = "only the core has no I/O")]
    decode::read(File::open(path)?, &Source::file(path), &mut inventory)?;
    let index = inventory.index();

    // Plan every Service. The default options act like the newest release.
    let mut lines = String::new();
    for entry in index.entries() {
        let state = index.state(entry);
        let plan = plan(&state, &Controller::ALL, &Options::default());
        for change in compare::changes(&state, &plan, false) {
            writeln!(lines, "{} {} {}: {}", change.action.word(), change.kind, change.name, change.detail)?;
        }
    }
    Ok(lines)
}
