//! The licences of everything that a release contains.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::crates::{self, Crate, Id};
use super::{Release, linked};
use crate::paths;
use crate::steps::Outcome;

/// The file of a release.
pub(super) const FILE: &str = "THIRD-PARTY-LICENSES.txt";

/// How files with a licence begin.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
/// Such a file is code if it ends with this.
const CODE: &[&str] = &["rs", "c", "h", "py"];

/// Writes the file.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let crates = crates::of_program()?;
    let text = document(&crates)?;
    println!("    {} crates, {} bytes", crates.len(), text.len());
    release.write(FILE, text)?;
    Ok(Outcome::Passed)
}

/// A list of what is contained, and each text once, with the names of whom it belongs to.
fn document(crates: &BTreeMap<Id, Crate>) -> Result<String> {
    let mut list = String::new();
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let others = crates.iter().filter(|(_, c)| c.checksum.is_some());
    for ((name, version), crate_) in others {
        let license = crate_.package["license"].as_str().with_context(|| format!("{name} has no licence"))?;
        writeln!(list, "{name} {version}: {license}")?;
        for text in texts(&crate_.folder, license)? {
            owners.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    for linked in linked::beside(crates) {
        writeln!(list, "{} {}: {}", linked.name, linked.version, linked.license)?;
        let text = read(&paths::root().join("packaging/licenses").join(linked.text))?;
        owners.entry(text).or_default().push(format!("{} {}", linked.name, linked.version));
    }
    let mut document = format!("roster contains the following, under these licences.\n\n{list}");
    // The texts stand in the order of the list.
    let mut texts: Vec<_> = owners.into_iter().collect();
    texts.sort_by(|(a, of_a), (b, of_b)| (of_a, a).cmp(&(of_b, b)));
    let line = "=".repeat(80);
    for (text, owners) in texts {
        write!(document, "\n{line}\n{}\n{line}\n\n{text}\n", owners.join(", "))?;
    }
    Ok(document)
}

/// The texts in a crate, also those of the C code below it. A crate without any has the licence of Roster, or is an error.
fn texts(folder: &Path, license: &str) -> Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    collect(folder, &mut texts)?;
    if texts.is_empty() {
        if !license.split([' ', '/', '(', ')']).any(|word| word == "Apache-2.0") {
            bail!("{} has no text of its licence, {license}", folder.display());
        }
        texts.insert(read(&paths::root().join("LICENSE"))?);
    }
    Ok(texts)
}

fn collect(folder: &Path, texts: &mut BTreeSet<String>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_ascii_uppercase();
        let is_code = path.extension().and_then(|e| e.to_str()).is_some_and(|e| CODE.contains(&e));
        if path.is_dir() {
            collect(&path, texts)?;
        } else if NAMES.iter().any(|start| name.starts_with(start)) && !is_code {
            texts.insert(read(&path)?);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    Ok(text.trim_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_also_below_a_crate_and_code_is_not_one() {
        let folder = std::env::temp_dir().join(format!("roster-licenses-{}", std::process::id()));
        let texts = |license| texts(&folder, license).map(|texts| texts.into_iter().collect::<Vec<_>>());
        fs::create_dir_all(folder.join("c/deep")).unwrap();
        assert!(texts("MIT").is_err(), "no text");
        assert!(texts("MIT/Apache-2.0").unwrap()[0].contains("Apache License"));
        for (file, text) in
            [("LICENSE-MIT", "a\r\nb\n"), ("c/deep/Copying.txt", "c"), ("license.rs", "code"), ("x", "no")]
        {
            fs::write(folder.join(file), text).unwrap();
        }
        assert_eq!(texts("MIT").unwrap(), ["a\nb", "c"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
