//! The one door to every check.
fn main() {}
