//! The files that come with the program: documents, manual pages, completions.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Architecture, Release, licenses};
use crate::command::capture;
use crate::paths;

/// The completions: the shell, the file in an archive, and the file in a Debian package.
const COMPLETIONS: [[&str; 3]; 3] = [
    ["bash", "completions/roster.bash", "usr/share/bash-completion/completions/roster"],
    ["fish", "completions/roster.fish", "usr/share/fish/vendor_completions.d/roster.fish"],
    ["zsh", "completions/_roster", "usr/share/zsh/vendor-completions/_roster"],
];

/// What the archives have of the repository: the README, and the files of its first examples.
const DOCUMENTS: [&str; 5] =
    ["README.md", "LICENSE", "examples/shop.yaml", "examples/typo/deployment.yaml", "examples/typo/service.yaml"];

/// A file that comes with the program.
pub(super) struct Content {
    /// Its path in an archive.
    pub(super) archived: String,
    /// Its path in a Debian package.
    pub(super) installed: String,
    pub(super) bytes: Vec<u8>,
}

impl Content {
    fn new(archived: impl Into<String>, installed: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { archived: archived.into(), installed: installed.into(), bytes: bytes.into() }
    }
}

/// All files. The program for x86-64 writes some of them; those of the other architectures are the same.
pub(super) fn all(release: &Release) -> Result<Vec<Content>> {
    let program = release.programs.get(&Architecture::X86_64).context("the program for x86-64 is not built")?;
    let program = program.to_str().context("the path of the program is not UTF-8")?;
    let mut contents = vec![document(licenses::FILE, &release.folder)?];
    for name in DOCUMENTS {
        contents.push(document(name, paths::root())?);
    }
    for [shell, archived, installed] in COMPLETIONS {
        contents.push(Content::new(archived, installed, capture(program, &format!("completions {shell}"))?));
    }
    contents.extend(manual(program)?);
    contents.sort_by(|a, b| a.archived.cmp(&b.archived));
    Ok(contents)
}

fn document(name: &str, folder: &Path) -> Result<Content> {
    let bytes = fs::read(folder.join(name)).with_context(|| format!("reading {name}"))?;
    Ok(Content::new(name, format!("usr/share/doc/roster/{name}"), bytes))
}

/// The manual pages, one for each command.
fn manual(program: &str) -> Result<Vec<Content>> {
    let folder = paths::target().join("release-manual");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    capture(program, &format!("man --dir {}", folder.display()))?;
    let mut pages = Vec::new();
    for page in fs::read_dir(&folder)? {
        let page = page?;
        let name = page.file_name().to_string_lossy().into_owned();
        pages.push(Content::new(format!("man/{name}"), format!("usr/share/man/man1/{name}"), fs::read(page.path())?));
    }
    ensure!(!pages.is_empty(), "{program} wrote no manual pages");
    Ok(pages)
}
