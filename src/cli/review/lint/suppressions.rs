//! The arguments that say which findings matter: severities, waivers and baselines.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use roster_lint::{Baseline, LintFileFault, Severities, SeverityOfCode, Suppressions, Waivers, is_code};

use crate::cli::{exact_json::to_yaml, input_texts::InputTexts};

/// Arguments for findings that are accepted.
#[derive(Debug, Args)]
pub(super) struct SuppressionArgs {
    /// Do not report the findings in this file; see --write-baseline.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write all errors and warnings into this file, as a baseline for later runs, and end with exit code 0.
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub(super) write_baseline: Option<PathBuf>,
    /// Accept the findings that this file names, each with its reason. In an object, the annotation
    /// `roster.dev/ignore: CODE=REASON` does the same.
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
}

/// Arguments for the severities of codes.
#[derive(Debug, Args)]
pub(super) struct SeverityArgs {
    /// Report findings with this code as errors, warnings or infos, or not at all. May be given several times.
    #[arg(long, value_name = "CODE=error|warning|info|off")]
    severity: Vec<SeverityOfCode>,
    /// Take the severities of codes from this file (kind: `LintSeverities`); --severity wins.
    #[arg(long, value_name = "FILE")]
    severities: Option<PathBuf>,
}

impl SeverityArgs {
    pub(super) fn read(&self) -> anyhow::Result<Severities> {
        let mut all =
            self.severities.as_ref().map(|path| parse(path, Severities::read)).transpose()?.unwrap_or_default();
        all.extend(&self.severity);
        Ok(all)
    }
}

impl SuppressionArgs {
    /// Reads the files.
    pub(super) fn read(&self) -> anyhow::Result<Suppressions> {
        let mut all = Suppressions::default();
        if let Some(path) = &self.baseline {
            all.baseline = parse(path, Baseline::read)?;
        }
        if let Some(path) = &self.waivers {
            all.waivers = parse(path, |json| Waivers::read(json, is_code))?;
        }
        Ok(all)
    }
}

/// Reads a file with one document.
fn parse<T>(path: &Path, read: impl Fn(&str) -> Result<T, LintFileFault>) -> anyhow::Result<T> {
    let texts = InputTexts::read(&[path.to_owned()])?;
    let (files, complete) = texts.files();
    let name = path.display();
    ensure!(complete, "{name} cannot be read");
    let mut documents = files.iter().flat_map(|f| &f.documents);
    let (Some(document), None) = (documents.next(), documents.next()) else {
        anyhow::bail!("{name}: has more than one document");
    };
    read(document.raw.get()).map_err(|LintFileFault { pointer, message }| {
        anyhow::anyhow!("{name}:{}: {message}", document.line_of(&pointer))
    })
}

/// Writes a baseline.
pub(super) fn write_baseline(path: &Path, baseline: &Baseline) -> anyhow::Result<()> {
    let text = to_yaml(&baseline.document())?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line is a shell: it writes the file that it was asked for"
    )]
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
