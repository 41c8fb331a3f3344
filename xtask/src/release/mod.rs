//! A release: a folder with everything that a user downloads. Two runs write the same bytes, except for signatures.
//!
//! ```text
//! commit ─► programs (one for each architecture) ─► archives, packages, image ─► checksums ─► signatures
//! ```

mod architecture;
mod archive;
mod chart;
mod checksums;
mod contents;
mod crates;
mod deb;
mod files;
mod image;
mod installer;
mod krew;
mod licenses;
mod linked;
mod pack;
mod provenance;
mod publish;
mod sbom;
mod signatures;
mod surroundings;
mod toolchain;
mod trial;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

pub(crate) use self::architecture::Architecture;
pub(crate) use self::files::repository;
use self::publish::{NO_CRANE, NO_HELM};
use self::signatures::{Key, NO_COSIGN};
use crate::command::{capture, has};
use crate::paths;
use crate::steps::Steps;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder to write; it must be empty or missing [default: `release-files` in Cargo's target folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Sign with this private key of cosign, whose password is in `COSIGN_PASSWORD`
    #[arg(long, value_name = "FILE")]
    sign_key: Option<PathBuf>,
    /// Push the image to this repository of a registry, such as `ghcr.io/me/roster`, and the chart to `charts` beside it; sign both there
    #[arg(long, value_name = "REPOSITORY", requires = "sign_key")]
    push: Option<String>,
    /// Try the release as its users would, with a throw-away key and servers on loopback
    #[arg(long)]
    verify: bool,
}

/// What a release is made of.
pub(crate) struct Release {
    /// The folder that is written.
    pub(crate) folder: PathBuf,
    /// The version of the workspace, without a `v`.
    pub(crate) version: String,
    /// The commit, in full.
    pub(crate) commit: String,
    /// The tag of the version, if it is on the commit.
    pub(crate) tag: Option<String>,
    /// The time of the commit in seconds since 1970: every file has it (`SOURCE_DATE_EPOCH`).
    pub(crate) epoch: u64,
    /// The static programs.
    pub(crate) programs: BTreeMap<Architecture, PathBuf>,
}

impl Release {
    /// The release of the commit that is checked out. Its programs are not built yet.
    fn of_checkout(arguments: &Arguments) -> Result<Self> {
        let changed = capture("git", "status --porcelain")?;
        ensure!(changed.trim().is_empty(), "commit these changes first: a release is made of a commit\n{changed}");
        let git = |line: &str| Ok::<_, anyhow::Error>(capture("git", line)?.trim().to_owned());
        let folder = arguments.out.clone().unwrap_or_else(|| paths::target().join("release-files"));
        let (commit, epoch) = (git("rev-parse HEAD")?, git("log -1 --format=%ct")?);
        let epoch = epoch.parse().context("the time of the commit")?;
        let version = files::package()?["version"].as_str().context("the version of `roster`")?.to_owned();
        let tag = format!("v{version}");
        let tagged = git(&format!("rev-parse --verify --quiet refs/tags/{tag}^{{commit}}"));
        let tag = Some(tag).filter(|_| tagged.is_ok_and(|tagged| tagged == commit));
        Ok(Self { folder, version, commit, tag, epoch, programs: BTreeMap::new() })
    }

    /// The program of each architecture.
    fn read_programs(&self) -> Result<BTreeMap<Architecture, Vec<u8>>> {
        let read = |path: &PathBuf| fs::read(path).with_context(|| format!("reading {}", path.display()));
        self.programs.iter().map(|(architecture, path)| Ok((*architecture, read(path)?))).collect()
    }

    /// A file that is in the folder already.
    fn read(&self, name: &str) -> Result<Vec<u8>> {
        fs::read(self.folder.join(name)).with_context(|| format!("reading {name}"))
    }

    /// Writes a file into the folder.
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
        fs::write(self.folder.join(name), bytes).with_context(|| format!("writing {name}"))
    }
}

/// Refuses to publish what could not be published in full. Nothing is built or written before.
fn ensure_can_publish(arguments: &Arguments, has: impl Fn(&str) -> bool) -> Result<()> {
    let needs = [
        ("cosign", arguments.sign_key.is_some(), NO_COSIGN),
        ("crane", arguments.push.is_some(), NO_CRANE),
        ("helm", arguments.push.is_some(), NO_HELM),
    ];
    for (program, needed, hint) in needs {
        ensure!(!needed || has(program), "{hint}");
    }
    Ok(())
}

/// Creates the folder. What another release left there would be in the checksums of this one.
fn create_empty(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let is_empty = fs::read_dir(folder)?.next().is_none();
    ensure!(is_empty, "{} is not empty: remove it, or name another folder with --out", folder.display());
    Ok(())
}

/// Writes the release.
pub(crate) fn all(steps: &mut Steps, arguments: &Arguments) -> Result<()> {
    let mut release = Release::of_checkout(arguments)?;
    if arguments.sign_key.is_some() {
        files::ensure_published()?;
        ensure!(release.tag.is_some(), "a signed release has a tag: git tag v{} {}", release.version, release.commit);
        ensure_can_publish(arguments, has)?;
    }
    create_empty(&release.folder)?;
    println!("    roster {} of {} into {}", release.version, release.commit, release.folder.display());
    steps.run("programs", || architecture::build(&mut release));
    if release.programs.is_empty() {
        return Ok(());
    }
    steps.run("licences", || licenses::write(&release));
    steps.run("archives", || archive::write(&release));
    steps.run("Debian packages", || deb::write(&release));
    steps.run("install script", || installer::write(&release));
    steps.run("bill of materials", || sbom::write(&release));
    steps.run("image", || image::write(&release));
    steps.run("chart", || chart::write(&release));
    steps.run("krew", || krew::write(&release));
    // Checksums and signatures of a part of a release would look like those of all of it.
    steps.run_unless_failed("provenance", || provenance::write(&release));
    steps.run_unless_failed("checksums", || checksums::write(&release));
    let key = arguments.sign_key.as_deref().map(Key::given);
    steps.run_unless_failed("signatures", || signatures::write(&release, key.as_ref()));
    if arguments.verify && !steps.failed() {
        trial::all(steps, &release);
    }
    if let (Some(repository), Some(key)) = (&arguments.push, &key) {
        steps.run_unless_failed("push: image", || publish::image(&release, repository, key));
        steps.run_unless_failed("push: chart", || publish::chart(&release, repository, key));
    }
    Ok(())
}

/// A release for tests.
#[cfg(test)]
fn example() -> Release {
    Release {
        folder: PathBuf::new(),
        version: "1.2.3".to_owned(),
        commit: "abc".to_owned(),
        tag: None,
        epoch: 1_700_000_000,
        programs: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_publishes_needs_its_programs_first() {
        let arguments = |sign, push: bool| Arguments {
            out: None,
            sign_key: Some(PathBuf::from("cosign.key")).filter(|_| sign),
            push: Some("registry.example.com/roster".to_owned()).filter(|_| push),
            verify: false,
        };
        for (sign, push, installed, missing) in [
            (false, false, "", ""),
            (true, false, "cosign", ""),
            (true, false, "crane", "cosign"),
            (true, true, "crane", "cosign"),
            (true, true, "cosign", "crane"),
            (true, true, "cosign crane", "helm"),
            (true, true, "cosign crane helm", ""),
        ] {
            let has = |program: &str| installed.split(' ').any(|name| name == program);
            let message = ensure_can_publish(&arguments(sign, push), has).err().map(|e| e.to_string());
            let message = message.unwrap_or_default();
            let word = message.split(' ').next().unwrap_or_default();
            assert_eq!(word, missing, "{sign} {push} {installed}");
        }
    }
}
