//! The `roster` program.

use std::process::ExitCode;

/// Half of the time of a large run is spent on small objects: this allocator halves it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    roster::cli::main()
}
