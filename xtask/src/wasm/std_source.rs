//! Where Rust's standard library for WebAssembly comes from.
//!
//! It is built from its source, with the module: `optimize_for_size` leaves out a seventh of the module, because each sorted type
//! brings its own copy of the fast sort otherwise.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command::{capture, find, has, run, run_with};
use crate::paths;

/// The target of the module.
pub(super) const TARGET: &str = "wasm32-unknown-unknown";

/// The standard library for [`TARGET`].
pub(super) enum StdSource {
    /// Its source, a component of rustup's compiler.
    Rustup,
    /// Its source and a compiler for it: a folder with Debian's packages.
    Debian(PathBuf),
    /// Rustup's binaries: the module is larger than it may be.
    Binaries,
}

impl StdSource {
    /// Finds it, or installs it. The error says that this is not possible here.
    pub(super) fn find() -> Result<Self, String> {
        let has_source = || has_folder("src/rust/library");
        if has_source() || (has("rustup") && run("rustup", "component add rust-src").is_ok() && has_source()) {
            return Ok(Self::Rustup);
        }
        debian_packages().map(Self::Debian).or_else(|why| {
            Self::binaries().ok_or_else(|| {
                format!(
                    "there is no Rust library for {TARGET}: rustup adds neither rust-src nor the target, and Debian's \
                     packages rustc-web and rust-web-src cannot be used: {why:#}"
                )
            })
        })
    }

    /// The binaries, which are enough to check code.
    pub(super) fn binaries() -> Option<Self> {
        let is_installed = || has_folder(TARGET);
        let added = is_installed() || (has("rustup") && run("rustup", &format!("target add {TARGET}")).is_ok());
        (added && is_installed()).then_some(Self::Binaries)
    }

    /// Adds what a build needs.
    pub(super) fn add_to(&self, command: &mut Command) -> Result<()> {
        command.args(["--target", TARGET]);
        if let Self::Binaries = self {
            return Ok(());
        }
        command.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
        // A panic ends the instance either way, and nobody reads its message: a twentieth of the module would write it.
        command.env("RUSTFLAGS", "-Zunstable-options -Cpanic=immediate-abort");
        // The compiler is a stable one, whose version rust-toolchain.toml names. Building the library is unstable.
        command.env("RUSTC_BOOTSTRAP", "1");
        if let Self::Debian(folder) = self {
            command.env("RUSTC", folder.join("usr/bin/rustc"));
            command.env("LD_LIBRARY_PATH", library_folder(folder)?);
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", rust_lld()?);
        }
        Ok(())
    }
}

/// Whether rustup's compiler has this folder of libraries.
fn has_folder(name: &str) -> bool {
    sysroot().is_ok_and(|sysroot| sysroot.join("lib/rustlib").join(name).exists())
}

fn sysroot() -> Result<PathBuf> {
    Ok(capture("rustc", "--print sysroot")?.trim().into())
}

/// Unpacks Debian's packages into the cache. Nothing is installed.
fn debian_packages() -> Result<PathBuf> {
    ensure!(has("apt-get") && has("dpkg"), "there is no apt-get");
    let folder = paths::cache()?.join("rustc-web");
    let complete = folder.join(".complete");
    if complete.exists() {
        return Ok(folder);
    }
    let packages = folder.join("packages");
    fs::create_dir_all(&packages).with_context(|| format!("creating {}", packages.display()))?;
    // The libraries of the compiler have its version in their names, and the version of LLVM.
    let library = dependency("libstd-rust-web-dev", "libstd-rust-web-")?;
    let llvm = dependency(&library, "libllvm")?;
    let wanted = ["rustc-web", "rust-web-src", "libstd-rust-web-dev", &library, &llvm];
    run_with(Command::new("apt-get").args(["download", "-qq"]).args(wanted).current_dir(&packages))?;
    for entry in fs::read_dir(&packages)? {
        run_with(Command::new("dpkg").arg("-x").arg(entry?.path()).arg(&folder))?;
    }
    fs::write(&complete, "").context("marking the packages as complete")?;
    Ok(folder)
}

/// The package with this prefix that another one depends on.
fn dependency(of: &str, prefix: &str) -> Result<String> {
    let depends = capture("apt-cache", &format!("depends {of}"))?;
    let name = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: ").filter(|n| n.starts_with(prefix)));
    name.map(str::to_owned).with_context(|| format!("{of} depends on no {prefix}"))
}

/// The folder of the libraries that Debian's compiler needs.
fn library_folder(folder: &Path) -> Result<PathBuf> {
    let lib = folder.join("usr/lib");
    let triples = fs::read_dir(&lib).with_context(|| format!("reading {}", lib.display()))?;
    let with_compiler = triples.flatten().map(|entry| entry.path()).find(|path| {
        fs::read_dir(path).is_ok_and(|mut files| {
            files.any(|file| file.is_ok_and(|f| f.file_name().to_string_lossy().starts_with("librustc_driver")))
        })
    });
    with_compiler.context("rustc-web has no librustc_driver")
}

/// The linker that rustup's compiler has.
fn rust_lld() -> Result<PathBuf> {
    let host = capture("rustc", "--print host-tuple")?;
    let linker = sysroot()?.join("lib/rustlib").join(host.trim()).join("bin/rust-lld");
    if linker.exists() {
        return Ok(linker);
    }
    find("rust-lld").or_else(|| find("wasm-ld")).context("there is no rust-lld and no wasm-ld")
}
