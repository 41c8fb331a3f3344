//! The one door to every check.
#![allow(missing_docs)]
mod oracle;
fn main() -> anyhow::Result<()> {
    for m in std::env::args().skip(1) {
        println!("{}", oracle::build(&m)?.display());
    }
    Ok(())
}
