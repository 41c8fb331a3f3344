//! The `roster` program.
fn main() {}
