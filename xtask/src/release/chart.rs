//! The chart, packed. `helm package` would give each file the time of the run.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};

use super::Release;
use super::pack::{Tar, gzip};
use crate::command::capture;
use crate::paths;
use crate::steps::Outcome;

/// The folder of the chart in the repository.
pub(super) const FOLDER: &str = "charts/roster";

impl Release {
    pub(super) fn chart(&self) -> String {
        format!("roster-{}.tgz", self.version)
    }
}

/// Writes the chart.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let mut files = BTreeMap::new();
    for path in capture("git", &format!("ls-files {FOLDER}"))?.lines() {
        let name = path.strip_prefix(FOLDER).and_then(|name| name.strip_prefix('/')).context("a file of the chart")?;
        let bytes = fs::read(paths::root().join(path)).with_context(|| format!("reading {path}"))?;
        files.insert(name.to_owned(), bytes);
    }
    let package = package(release, files)?;
    println!("    {}: {} bytes", release.chart(), package.len());
    release.write(&release.chart(), package)?;
    Ok(Outcome::Passed)
}

/// The files of the chart, without those that `.helmignore` names.
fn package(release: &Release, mut files: BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>> {
    let about = String::from_utf8_lossy(files.get("Chart.yaml").context("the chart has no Chart.yaml")?);
    let version = format!("version: \"{}\"", release.version);
    ensure!(about.lines().any(|line| line == version), "Chart.yaml does not say {version}: cargo xtask manifests");
    let ignored = files.get(".helmignore").map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default();
    for line in ignored.lines() {
        // The other patterns of Helm are not needed.
        if !line.ends_with('/') || line.contains(['*', '?', '[', '!', '#']) {
            bail!(".helmignore: {line:?} is not a folder");
        }
        files.retain(|name, _| !name.starts_with(line));
    }
    let mut tar = Tar::new(release.epoch);
    for (name, bytes) in files {
        tar.file(&format!("roster/{name}"), 0o644, &bytes)?;
    }
    gzip(&tar.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_what_helm_does_not_ignore_in_one_folder() {
        let release = crate::release::example();
        let pack = |version: &str, ignored: &str| {
            let about = format!("name: roster\nversion: \"{version}\"\n");
            let files =
                [("Chart.yaml", &*about), (".helmignore", ignored), ("ci/a.yaml", ""), ("templates/ci.yaml", "")];
            package(&release, files.map(|(name, text)| (name.to_owned(), text.into())).into())
        };
        let names = |package: &[u8]| -> Vec<String> {
            let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(package));
            let names = tar.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string());
            names.collect()
        };
        let package = pack("1.2.3", "ci/\n").unwrap();
        assert_eq!(package, pack("1.2.3", "ci/\n").unwrap(), "two runs differ");
        assert_eq!(names(&package), ["roster/.helmignore", "roster/Chart.yaml", "roster/templates/ci.yaml"]);
        assert_eq!(names(&pack("1.2.3", "").unwrap()).len(), 4);
        for (version, ignored) in [("1.2.4", "ci/"), ("1.2.3", "*.md"), ("1.2.3", "!ci/"), ("1.2.3", "ci")] {
            assert!(pack(version, ignored).is_err(), "{version} {ignored}");
        }
    }
}
