//! The files of a directory that mixes manifests with charts, kustomizations and other YAML.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::ensure;

use super::{
    input_paths::{expand, is_stdin, open},
    input_texts::InputFile,
    messages,
};
use crate::{
    decode::{self, Document, Source},
    lint::{Kustomizations, Skip},
};

/// The texts of all files that can be read, as JSON with the same line numbers.
pub(super) struct ManifestTexts {
    texts: Vec<ManifestText>,
    skipped: Vec<SkippedFile>,
    /// Why files cannot be read.
    failed: Vec<anyhow::Error>,
}

struct ManifestText {
    name: String,
    json: String,
    /// Whether the file was given by name: then it is meant to be a manifest.
    named: bool,
}

/// A file, or a document of it, that is not checked.
#[derive(Clone)]
pub(super) struct SkippedFile {
    pub(super) file: String,
    pub(super) why: Skip,
}

/// The manifests of all files.
pub(super) struct Manifests<'a> {
    pub(super) files: Vec<InputFile<'a>>,
    pub(super) skipped: Vec<SkippedFile>,
    /// Why files cannot be read.
    pub(super) failed: Vec<String>,
}

/// What a file is.
enum ReadFile {
    Text(ManifestText),
    Skipped(SkippedFile),
}

impl ManifestTexts {
    /// Reads files, directories and standard input.
    pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        Ok(Self::of(expand(paths)?, |path| paths.contains(path)))
    }

    /// Reads files. `named` says whether one was given by name: then it is meant to be a manifest.
    pub(super) fn of(files: Vec<PathBuf>, named: impl Fn(&PathBuf) -> bool) -> Self {
        let mut all = Self { texts: Vec::new(), skipped: Vec::new(), failed: Vec::new() };
        for path in files {
            match read_file(&path, named(&path)) {
                Ok(ReadFile::Text(text)) => all.texts.push(text),
                Ok(ReadFile::Skipped(file)) => all.skipped.push(file),
                Err(error) => all.failed.push(error),
            }
        }
        all
    }

    /// The manifests among the documents of the files. A file that cannot be read is reported on standard error.
    pub(super) fn manifests(&self) -> Manifests<'_> {
        let mut manifests = Manifests { files: Vec::new(), skipped: self.skipped.clone(), failed: Vec::new() };
        self.failed.iter().for_each(|error| manifests.fail(error));
        let mut kustomizations = Kustomizations::default();
        for text in &self.texts {
            match decode::documents(&text.json, &Source::file(&text.name)) {
                Ok(documents) => {
                    for document in &documents {
                        kustomizations.add(&text.name, &document.raw);
                    }
                    manifests.files.push(InputFile { name: &text.name, documents });
                }
                Err(error) => {
                    if let Some(why) = foreign(text.json.as_bytes(), text.named) {
                        manifests.skip(&text.name, why);
                    } else {
                        manifests.fail(&error.into());
                    }
                }
            }
        }
        let files = std::mem::take(&mut manifests.files);
        for InputFile { name, documents } in files {
            let mut checked = Vec::with_capacity(documents.len());
            for document in documents {
                match skip(name, &document, &kustomizations) {
                    Some(why) => manifests.skip(name, why),
                    None => checked.push(document),
                }
            }
            manifests.files.push(InputFile { name, documents: checked });
        }
        manifests
    }
}

impl Manifests<'_> {
    fn fail(&mut self, error: &anyhow::Error) {
        messages::error(error);
        self.failed.push(messages::error_text(error));
    }

    fn skip(&mut self, file: &str, why: Skip) {
        self.skipped.push(SkippedFile { file: file.to_owned(), why });
    }
}

fn skip(file: &str, document: &Document<'_>, kustomizations: &Kustomizations) -> Option<Skip> {
    if kustomizations.is_patch(file) { Some(Skip::Patch) } else { Skip::of_document(file, &document.raw) }
}

fn read_file(path: &Path, named: bool) -> anyhow::Result<ReadFile> {
    let (name, mut input) = open(path.strip_prefix(".").unwrap_or(path))?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|e| anyhow::anyhow!("{name}: {e}"))?;
    let skipped = |why| Ok(ReadFile::Skipped(SkippedFile { file: name.clone(), why }));
    match decode::text(bytes.as_slice(), &Source::file(&name)) {
        Ok(json) if json.trim_ascii().is_empty() => {
            ensure!(!is_stdin(path), "{name}: is empty");
            skipped(Skip::Empty)
        }
        Ok(json) => Ok(ReadFile::Text(ManifestText { name, json, named })),
        Err(error) => foreign(&bytes, named).map_or(Err(error.into()), skipped),
    }
}

/// What text that is neither YAML nor JSON is, if it is not meant as a manifest: a template, a configuration file with
/// comments in JSON, or YAML with types of another program.
fn foreign(text: &[u8], named: bool) -> Option<Skip> {
    if contains(text, b"{{") || contains(text, b"{%") {
        return Some(Skip::Template);
    }
    (!named && !contains(text, b"apiVersion")).then_some(Skip::NotManifest)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
