//! The inputs that the fuzz targets found, and what they cost: instructions a byte.

use std::{
    fmt,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{MINUTE, callgrind};
use crate::command::capture_within;

/// The fuzz targets whose inputs are texts, and the way in that reads such a text.
const TARGETS: &[(&str, &str)] = &[
    ("json", "post/json /v1/cluster"),
    ("yaml", "post/yaml /v1/cluster"),
    ("request", "post /v1/plan"),
    ("review", "validate"),
    ("convert", "convert"),
];

/// Shorter inputs cost what every input costs.
const SHORTEST: u64 = 256;

/// The inputs of a target.
#[derive(Debug)]
pub(super) struct CorpusRow {
    target: &'static str,
    inputs: usize,
    /// The most instructions a byte, and the input that takes them.
    most: u64,
    costliest: PathBuf,
}

impl fmt::Display for CorpusRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, inputs, most, costliest } = self;
        write!(f, "corpus {target}: {inputs} inputs; at most {most} instructions a byte ({})", costliest.display())
    }
}

/// Gives every kept input of the fuzz targets to its way in.
pub(super) fn measure(program: &Path, folder: &Path) -> Result<Vec<CorpusRow>> {
    TARGETS.iter().map(|(target, way)| of_target(program, target, way, &folder.join(target))).collect()
}

fn of_target(program: &Path, target: &'static str, way: &str, folder: &Path) -> Result<CorpusRow> {
    let unpacked = folder.join("unpacked");
    fs::create_dir_all(&unpacked).with_context(|| format!("creating {}", unpacked.display()))?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(format!("fuzz/corpus/{target}.tar.gz")).arg("-C").arg(&unpacked);
    capture_within(&mut tar, MINUTE)?;
    let mut inputs: Vec<(PathBuf, u64)> = Vec::new();
    for entry in fs::read_dir(&unpacked).with_context(|| format!("reading {}", unpacked.display()))? {
        let path = entry?.path();
        let text = fs::read_to_string(&path);
        // The program reads texts.
        if let Ok(text) = text.as_ref().map(String::len)
            && text as u64 >= SHORTEST
        {
            inputs.push((path, text as u64));
        }
    }
    inputs.sort();
    let mut index = String::new();
    for (at, (path, bytes)) in inputs.iter().enumerate() {
        let file = folder.join(at.to_string());
        fs::copy(path, file.with_extension("body")).with_context(|| format!("copying {}", path.display()))?;
        for part in ["stored", "policies"] {
            fs::write(file.with_extension(part), "").with_context(|| format!("writing {}", file.display()))?;
        }
        // A text takes every line.
        let _ = writeln!(index, "{target}\t1\t{bytes}\t{way}\t{}", file.display());
    }
    let lines = folder.join("index");
    fs::write(&lines, index).with_context(|| format!("writing {}", lines.display()))?;
    // An input may be refused.
    let printed = callgrind::measure(program, &lines, folder)?;
    let mut row = CorpusRow { target, inputs: printed.len(), most: 0, costliest: PathBuf::new() };
    for (at, (path, bytes)) in inputs.into_iter().enumerate() {
        let each = callgrind::instructions(&callgrind::counts(folder, at))? / bytes;
        if each > row.most {
            (row.most, row.costliest) = (each, path);
        }
    }
    Ok(row)
}
