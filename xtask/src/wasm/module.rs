//! Builds `roster.wasm`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use super::std_source::{StdSource, TARGET};
use crate::command::{cargo, run_with};
use crate::paths;
use crate::steps::Outcome;

/// The most bytes of the module as gzip: browsers download it.
const MOST: usize = 1_500_000;

/// The crates of the core, which must build for the module.
const PACKAGE: &str = "roster-wasm";

/// A built module.
pub(super) struct Module {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// Whether the core compiles for the module. No program is written.
pub(crate) fn check() -> Result<Outcome> {
    let Some(std) = StdSource::binaries() else {
        // Not every machine of continuous integration reaches rustup's server.
        return Ok(Outcome::Skipped(format!("rustup cannot add the target {TARGET}")));
    };
    let mut command = cargo();
    command.args(["clippy", "--quiet", "--package", PACKAGE]);
    std.add_to(&mut command)?;
    // What is small or large differs on 32 bits, and so does which expectations of it come true.
    run_with(command.args(["--", "-D", "warnings", "-A", "unfulfilled-lint-expectations"]))?;
    Ok(Outcome::Passed)
}

impl Module {
    /// Builds it, and prints its size. The inner error says why it cannot be built here.
    pub(super) fn build() -> Result<Result<Self, String>> {
        let std = match StdSource::find() {
            Ok(std) => std,
            Err(why) => return Ok(Err(why)),
        };
        let mut command = cargo();
        command.args(["build", "--quiet", "--profile", "wasm", "--package", PACKAGE]);
        std.add_to(&mut command)?;
        run_with(&mut command)?;
        let path = paths::target().join(TARGET).join("wasm/roster_wasm.wasm");
        let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        has_no_import(&bytes)?;
        let compressed = gzip(&bytes)?.len();
        println!("    roster.wasm: {} bytes, {compressed} as gzip, no imports", bytes.len());
        if let StdSource::Binaries = std {
            println!(
                "    it would be smaller with a library that is built from its source (rustup component add rust-src)"
            );
        } else {
            ensure!(compressed <= MOST, "roster.wasm has {compressed} bytes as gzip, and {MOST} are allowed");
        }
        Ok(Ok(Self { path, bytes }))
    }
}

/// The bytes as gzip, as small as it gets.
fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Looks for the section of imports: the module must run in every host.
fn has_no_import(module: &[u8]) -> Result<()> {
    /// The id of the section of imports.
    const IMPORTS: u8 = 2;
    let Some(mut rest) = module.strip_prefix(b"\0asm\x01\0\0\0") else { bail!("the module is not WebAssembly") };
    while let Some((id, after)) = rest.split_first() {
        let (length, after) = leb128(after).context("a section without a length")?;
        ensure!(*id != IMPORTS, "roster.wasm has imports: a crate asks the host for something");
        rest = after.get(length..).context("a section is cut off")?;
    }
    Ok(())
}

/// A number at the beginning of the bytes, and what follows it.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let end = bytes.iter().take(5).position(|byte| byte & 0x80 == 0)?;
    let (number, rest) = bytes.split_at(end + 1);
    let value = number.iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_is_found() {
        let module = |sections: &[u8]| [b"\0asm\x01\0\0\0", sections].concat();
        assert!(has_no_import(&module(&[1, 1, 0, 3, 2, 1, 0])).is_ok());
        assert!(has_no_import(&module(&[1, 0x81, 0, 0, 2, 1, 0])).is_err());
        assert!(has_no_import(&module(&[1, 9, 0])).is_err());
        assert!(has_no_import(b"<html>").is_err());
    }
}
