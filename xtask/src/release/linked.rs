//! What the compilers link into a program, and `Cargo.lock` does not name.

use std::collections::BTreeMap;

use super::crates::{Crate, Id};

/// The compilers that these libraries belong to. Others have other ones: a test compares.
const RUST: &str = "1.95.0";
const ZIG: &str = "0.17.1";

/// A library of a compiler.
pub(super) struct Linked {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// The package URL without the version.
    package: &'static str,
    /// The licence, as an SPDX expression.
    pub(super) license: &'static str,
    /// The file with its text in `packaging/licenses`.
    pub(super) text: &'static str,
}

/// The text of Apache-2.0, which is the licence of Roster too.
const APACHE: &str = "../../LICENSE";
const APACHE_OR_MIT: &str = "MIT OR Apache-2.0";

/// All of them. The crates of Rust's standard library are in `library/Cargo.lock` of the component `rust-src`; those that
/// are for musl on Linux are files in the folder that `rustc --print target-libdir` tells.
const ALL: [Linked; 15] = [
    linked("musl", "1.2.5", "pkg:generic/musl", "MIT", "musl.txt"),
    linked("Zig's libc and compiler_rt", ZIG, "pkg:generic/zig", "MIT", "zig.txt"),
    linked("LLVM's libunwind", "22.1.8", "pkg:generic/libunwind", "Apache-2.0 WITH LLVM-exception", "llvm.txt"),
    linked("Rust's standard library", RUST, "pkg:github/rust-lang/rust", APACHE_OR_MIT, "rust.txt"),
    linked("addr2line", "0.25.1", "pkg:cargo/addr2line", APACHE_OR_MIT, APACHE),
    linked("adler2", "2.0.1", "pkg:cargo/adler2", "0BSD OR MIT OR Apache-2.0", APACHE),
    linked("cfg-if", "1.0.4", "pkg:cargo/cfg-if", APACHE_OR_MIT, APACHE),
    linked(
        "compiler_builtins",
        "0.1.160",
        "pkg:cargo/compiler_builtins",
        "MIT AND Apache-2.0 WITH LLVM-exception AND (MIT OR Apache-2.0)",
        "compiler-builtins.txt",
    ),
    linked("gimli", "0.32.3", "pkg:cargo/gimli", APACHE_OR_MIT, APACHE),
    linked("hashbrown", "0.16.1", "pkg:cargo/hashbrown", APACHE_OR_MIT, APACHE),
    linked("libc", "0.2.178", "pkg:cargo/libc", APACHE_OR_MIT, APACHE),
    linked("memchr", "2.7.6", "pkg:cargo/memchr", "Unlicense OR MIT", "memchr.txt"),
    linked("miniz_oxide", "0.8.9", "pkg:cargo/miniz_oxide", "MIT OR Zlib OR Apache-2.0", APACHE),
    linked("object", "0.37.3", "pkg:cargo/object", APACHE_OR_MIT, APACHE),
    linked("rustc-demangle", "0.1.27", "pkg:cargo/rustc-demangle", APACHE_OR_MIT, APACHE),
];

const fn linked(
    name: &'static str,
    version: &'static str,
    package: &'static str,
    license: &'static str,
    text: &'static str,
) -> Linked {
    Linked { name, version, package, license, text }
}

impl Linked {
    /// The package URL.
    pub(super) fn purl(&self) -> String {
        format!("{}@{}", self.package, self.version)
    }
}

/// What is linked beside these crates. Rust's library may have a crate that the program has too.
pub(super) fn beside(crates: &BTreeMap<Id, Crate>) -> Vec<&'static Linked> {
    let is_known = |linked: &&Linked| crates.contains_key(&(linked.name.to_owned(), linked.version.to_owned()));
    ALL.iter().filter(|linked| !is_known(linked)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::paths;

    #[test]
    fn another_compiler_needs_another_list() {
        let file = |path: &str| fs::read_to_string(paths::root().join(path)).unwrap();
        for (compiler, want, text) in [
            ("Rust", format!("channel = \"{RUST}\"\n"), file("rust-toolchain.toml")),
            ("Zig", format!("ziglang=={ZIG} "), file("xtask/src/release/requirements.txt")),
        ] {
            assert!(text.contains(&want), "{compiler} is another one: bring the list in linked.rs up to date\n{text}");
        }
    }

    #[test]
    fn every_library_is_named_once_and_has_a_text() {
        let purls: BTreeMap<String, &Linked> = ALL.iter().map(|linked| (linked.purl(), linked)).collect();
        assert_eq!(purls.len(), ALL.len());
        for linked in &ALL {
            assert!(paths::root().join("packaging/licenses").join(linked.text).is_file(), "{}", linked.name);
        }
        let twice = ("adler2".to_owned(), "2.0.1".to_owned());
        let crate_ = Crate {
            package: serde_json::Value::Null,
            folder: paths::root().to_owned(),
            checksum: None,
            dependencies: std::collections::BTreeSet::new(),
        };
        assert_eq!(beside(&BTreeMap::from([(twice, crate_)])).len(), ALL.len() - 1);
    }
}
