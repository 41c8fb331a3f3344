//! The files of a directory that mixes manifests with charts, kustomizations and other YAML.

use std::{
    fmt,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::ensure;

use super::{
    input_paths::{ExpandedPaths, is_stdin, open},
    input_texts::InputFile,
};
use crate::{
    decode::{self, DecodeError, Document, Source},
    lint::{Kustomizations, Skip, without_placeholders},
};

/// The texts of all files, as JSON with the same line numbers.
pub(super) struct ManifestTexts {
    texts: Vec<ManifestText>,
    skipped: Vec<SkippedFile>,
}

struct ManifestText {
    name: String,
    json: String,
    /// Where and why the JSON ends before the file does.
    error: Option<UnreadablePlace>,
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
    /// The files that cannot be read to their ends.
    pub(super) unreadable: Vec<UnreadableFile<'a>>,
}

/// A file that cannot be read to its end.
pub(super) struct UnreadableFile<'a> {
    pub(super) file: &'a str,
    pub(super) place: UnreadablePlace,
}

impl fmt::Display for UnreadableFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnreadablePlace { line, column, why } = &self.place;
        match column {
            Some(column) => write!(f, "{}:{line}:{column}: {why}", self.file),
            None => write!(f, "{}: {why}", self.file),
        }
    }
}

/// Where a file cannot be read any further, and why.
#[derive(Clone)]
pub(super) struct UnreadablePlace {
    pub(super) line: usize,
    /// `None` if nothing of the file can be read.
    pub(super) column: Option<usize>,
    pub(super) why: String,
}

impl UnreadablePlace {
    fn of(error: &DecodeError) -> Self {
        Self { line: error.line, column: Some(error.column), why: error.reason.to_string() }
    }
}

/// What a file is.
enum ReadFile {
    Text(ManifestText),
    Skipped(SkippedFile),
}

impl ManifestTexts {
    /// Reads files, directories and standard input.
    pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        Self::of(ExpandedPaths::of(paths)?, |path| paths.contains(path))
    }

    /// Reads files. `named` says whether one was given by name: then it is meant to be a manifest.
    pub(super) fn of(paths: ExpandedPaths, named: impl Fn(&PathBuf) -> bool) -> anyhow::Result<Self> {
        let skipped = |path: PathBuf| SkippedFile { file: path.display().to_string(), why: Skip::SpecialFile };
        let mut all = Self { texts: Vec::new(), skipped: paths.special.into_iter().map(skipped).collect() };
        for path in paths.files {
            match read_file(&path, named(&path))? {
                ReadFile::Text(text) => all.texts.push(text),
                ReadFile::Skipped(file) => all.skipped.push(file),
            }
        }
        Ok(all)
    }

    /// The manifests among the documents of the files.
    pub(super) fn manifests(&self) -> Manifests<'_> {
        let mut manifests = Manifests { files: Vec::new(), skipped: self.skipped.clone(), unreadable: Vec::new() };
        let mut kustomizations = Kustomizations::default();
        for text in &self.texts {
            let (documents, error) = decode::readable_documents(&text.json, &Source::file(&text.name));
            // The text of a file that is not YAML ends within a document.
            let error = text.error.clone().or_else(|| error.as_ref().map(UnreadablePlace::of));
            if let Some(place) = error {
                if let Some(why) = foreign(text.json.as_bytes(), text.named) {
                    manifests.skip(&text.name, why);
                    continue;
                }
                manifests.unreadable.push(UnreadableFile { file: &text.name, place });
            }
            for document in &documents {
                kustomizations.add(&text.name, &document.raw);
            }
            manifests.files.push(InputFile { name: &text.name, documents });
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
    fn skip(&mut self, file: &str, why: Skip) {
        self.skipped.push(SkippedFile { file: file.to_owned(), why });
    }
}

fn skip(file: &str, document: &Document<'_>, kustomizations: &Kustomizations) -> Option<Skip> {
    if kustomizations.is_patch(file) { Some(Skip::Patch) } else { Skip::of_document(file, &document.raw) }
}

fn read_file(path: &Path, named: bool) -> anyhow::Result<ReadFile> {
    let unread = |name: String, why: String| {
        let error = Some(UnreadablePlace { line: 1, column: None, why });
        Ok(ReadFile::Text(ManifestText { name, json: String::new(), error, named: true }))
    };
    let (name, mut input) = match open(path.strip_prefix(".").unwrap_or(path)) {
        Ok(opened) => opened,
        Err(error) => return unread(path.display().to_string(), format!("{error:#}")),
    };
    let mut bytes = Vec::new();
    if let Err(error) = input.read_to_end(&mut bytes) {
        return unread(name, error.to_string());
    }
    let (json, error) = match decode::readable_text(bytes.as_slice(), &Source::file(&name)) {
        Ok((json, error)) => (json, error),
        Err(error) => (String::new(), Some(error)),
    };
    if let Some(why) = error.as_ref().and_then(|_| foreign(&bytes, named)) {
        return Ok(ReadFile::Skipped(SkippedFile { file: name, why }));
    }
    if error.is_none() && json.trim_ascii().is_empty() {
        ensure!(!is_stdin(path), "{name}: is empty");
        return Ok(ReadFile::Skipped(SkippedFile { file: name, why: Skip::Empty }));
    }
    let error = error.as_ref().map(UnreadablePlace::of);
    Ok(ReadFile::Text(ManifestText { name, json, error, named }))
}

/// What text that is neither YAML nor JSON is, if it is not meant as a manifest: a template, a configuration file with
/// comments in JSON, or YAML with types of another program.
fn foreign(text: &[u8], named: bool) -> Option<Skip> {
    if contains(text, b"{{") || contains(text, b"{%") || is_yaml_without_placeholders(text) {
        return Some(Skip::Template);
    }
    (!named && !contains(text, b"apiVersion")).then_some(Skip::NotManifest)
}

/// Whether text that is not YAML has placeholders, and is YAML with words in their places.
fn is_yaml_without_placeholders(text: &[u8]) -> bool {
    std::str::from_utf8(text).ok().and_then(without_placeholders).is_some_and(|text| {
        let source = Source::file("");
        decode::text(text.as_bytes(), &source).is_ok_and(|json| decode::documents(&json, &source).is_ok())
    })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
