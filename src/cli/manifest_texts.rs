//! The files of a directory that mixes manifests with charts, kustomizations and other YAML.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::ensure;
use roster_manifests::{
    decode::{self, BrokenDocument, DecodeError, DecodeReason, Document, InputFormat, ReadableText, Source},
    inventory::workloads::UnreadObjects,
    lint::{
        Kustomizations, KustomizedLabels, Overlays, Skip, TooManyLabels, has_template_action, without_comments,
        without_placeholders,
    },
};
use serde_json::Value;

use super::{
    input_paths::{ExpandedPaths, is_stdin, named_paths, open, working_directory},
    input_room::{InputRoom, MAX_OBJECT_BYTES},
    input_texts::InputFile,
};

/// Most bytes of labels that kustomizations add to all objects together: each label may be added to each of them.
const MAX_LABEL_BYTES: usize = 256 << 20;

/// The texts of all files, as JSON with the same line numbers.
pub(super) struct ManifestTexts {
    texts: Vec<ManifestText>,
    skipped: Vec<SkippedFile>,
}

struct ManifestText {
    name: String,
    json: String,
    /// The format in which it is written.
    format: InputFormat,
    /// What of the file cannot be read, and why.
    errors: Vec<UnreadablePlace>,
    /// Where it has too many documents.
    limit: Option<UnreadablePlace>,
    /// The lines of documents that are not manifests, and what they are.
    skipped: Vec<(usize, Skip)>,
    /// Whether the file was given by name: then it is meant to be a manifest.
    named: bool,
}

/// A file, or a document of it, that is not checked.
#[derive(Clone)]
pub(super) struct SkippedFile {
    pub(super) file: Arc<str>,
    /// The line of the document; `None` for a whole file.
    pub(super) line: Option<usize>,
    pub(super) why: Skip,
}

impl SkippedFile {
    fn whole(file: &str, why: Skip) -> Self {
        Self { file: file.into(), line: None, why }
    }

    /// The file, with the line of the document.
    pub(super) fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.to_string(),
        }
    }
}

/// The manifests of all files.
#[derive(Default)]
pub(super) struct Manifests<'a> {
    pub(super) files: Vec<InputFile<'a>>,
    pub(super) skipped: Vec<SkippedFile>,
    /// What of the files cannot be read.
    pub(super) unreadable: Vec<UnreadableFile<'a>>,
    /// The overlays among their kustomizations.
    pub(super) overlays: Overlays,
}

/// A file, or a document of it, that cannot be read.
pub(super) struct UnreadableFile<'a> {
    pub(super) file: &'a str,
    pub(super) place: UnreadablePlace,
}

impl UnreadableFile<'_> {
    /// The file, with the line and the column where reading ends.
    pub(super) fn place(&self) -> String {
        match self.place.column {
            Some(column) => format!("{}:{}:{column}", self.file, self.place.line),
            None => self.file.to_owned(),
        }
    }
}

impl fmt::Display for UnreadableFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.place.why)
    }
}

/// Where a file or a document of it cannot be read any further, and why.
#[derive(Clone)]
pub(super) struct UnreadablePlace {
    pub(super) line: usize,
    /// `None` if nothing of the file can be read.
    pub(super) column: Option<usize>,
    pub(super) why: String,
}

impl UnreadablePlace {
    fn whole(why: String) -> Self {
        Self { line: 1, column: None, why }
    }

    fn of(error: &DecodeError) -> Self {
        let why = match &error.reason {
            reason @ (DecodeReason::TooManyObjects(_) | DecodeReason::TooManyDocuments(_)) => {
                format!("not checked from here on: {reason}")
            }
            reason => reason.to_string(),
        };
        Self { line: error.line, column: Some(error.column), why }
    }

    /// An object that gets too many labels.
    fn with_too_many_labels(document: &Document<'_>) -> Self {
        Self::not_checked(document, &format!("kustomizations add more than {} MiB of labels", MAX_LABEL_BYTES >> 20))
    }

    /// An object that is too large.
    fn too_large(document: &Document<'_>) -> Self {
        Self::not_checked(document, &format!("the object has more than {} MiB", MAX_OBJECT_BYTES >> 20))
    }

    /// An object that is not looked at.
    fn not_checked(document: &Document<'_>, why: &str) -> Self {
        Self { line: document.line, column: Some(1), why: format!("not checked: {why}") }
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
        let named = named_paths(paths);
        Self::of(ExpandedPaths::of(paths)?, |path| named.contains(path.as_path()))
    }

    /// Reads files. `named` says whether one was given by name: then it is meant to be a manifest.
    pub(super) fn of(paths: ExpandedPaths, named: impl Fn(&PathBuf) -> bool) -> anyhow::Result<Self> {
        let skipped = |path: PathBuf| SkippedFile::whole(&path.display().to_string(), Skip::SpecialFile);
        let mut all = Self { texts: Vec::new(), skipped: paths.special.into_iter().map(skipped).collect() };
        let mut room = InputRoom::default();
        for path in paths.files {
            match read_file(&path, named(&path), &mut room)? {
                ReadFile::Text(text) => all.texts.push(text),
                ReadFile::Skipped(file) => all.skipped.push(file),
            }
        }
        Ok(all)
    }

    /// The manifests among the documents of the files.
    pub(super) fn manifests(&self) -> Manifests<'_> {
        let mut manifests = Manifests { skipped: self.skipped.clone(), ..Manifests::default() };
        let mut kustomizations = Kustomizations::new(read_patch, working_directory());
        let mut room = InputRoom::default();
        for text in &self.texts {
            let source = Source { format: text.format, ..Source::manifests(&text.name) };
            let (documents, error) = room.documents(&text.json, &source);
            text.skipped.iter().for_each(|(line, why)| manifests.skip(&text.name, Some(*line), *why));
            let is_broken = |error: &&DecodeError| matches!(error.reason, DecodeReason::Json(_));
            let why = error.as_ref().filter(is_broken).and_then(|_| foreign(&text.json, text.named));
            if let (Some(why), Some(error)) = (why, &error) {
                manifests.skip(&text.name, (!documents.is_empty()).then_some(error.line), why);
            }
            let error = error.filter(|_| why.is_none());
            let (documents, large): (Vec<_>, Vec<_>) =
                documents.into_iter().partition(|document| document.raw.get().len() <= MAX_OBJECT_BYTES);
            let large = large.iter().map(UnreadablePlace::too_large);
            let errors = text.errors.iter().cloned().chain(large);
            // What is behind the objects is behind the documents, too.
            let end = error.as_ref().map(UnreadablePlace::of).or_else(|| text.limit.clone());
            let errors = errors.chain(end);
            manifests.unreadable.extend(errors.map(|place| UnreadableFile { file: &text.name, place }));
            for document in &documents {
                kustomizations.add(&text.name, &document.raw);
            }
            let documents = documents.into_iter().map(Document::with_single_keys).collect();
            manifests.files.push(InputFile { name: &text.name, documents });
        }
        for InputFile { name, documents } in &manifests.files {
            let is_patch = kustomizations.is_patch(name);
            for document in documents.iter().filter(|_| is_patch) {
                kustomizations.add_patch(name, &document.raw);
            }
        }
        manifests.overlays = Overlays::of(&kustomizations);
        let labels = KustomizedLabels::of(&kustomizations);
        let mut label_room = MAX_LABEL_BYTES;
        let files = std::mem::take(&mut manifests.files);
        for InputFile { name, documents } in files {
            let mut checked = Vec::with_capacity(documents.len());
            let is_one = documents.len() == 1;
            let patch = kustomizations.is_patch(name).then_some(Skip::Patch);
            for document in documents {
                match patch.or_else(|| Skip::of_document(name, &document.raw)) {
                    Some(why) => manifests.skip(name, (!is_one).then_some(document.line), why),
                    None => match labels.add_to(name, &document.raw, &mut label_room) {
                        Ok(Some(labelled)) => checked.push(document.with_text(labelled)),
                        Ok(None) => checked.push(document),
                        Err(TooManyLabels) => {
                            let place = UnreadablePlace::with_too_many_labels(&document);
                            manifests.unreadable.push(UnreadableFile { file: name, place });
                        }
                    },
                }
            }
            manifests.files.push(InputFile { name, documents: checked });
        }
        manifests
    }
}

impl Manifests<'_> {
    /// What cannot be read, as an inventory has it.
    pub(super) fn unread(&self) -> UnreadObjects {
        let mut unread = UnreadObjects::default();
        self.unreadable.iter().for_each(|file| unread.add_text(file.place()));
        unread
    }

    fn skip(&mut self, file: &str, line: Option<usize>, why: Skip) {
        // A file may have half a million of them.
        let known = self.skipped.last().map(|last| &last.file).filter(|last| ***last == *file).cloned();
        self.skipped.push(SkippedFile { file: known.unwrap_or_else(|| file.into()), line, why });
    }
}

/// The documents of a patch within a kustomization.
fn read_patch(text: &str) -> Option<Vec<Value>> {
    let source = Source::file("");
    let json = decode::text(text.as_bytes(), &source).ok()?;
    serde_json::Deserializer::from_str(&json).into_iter().collect::<Result<_, _>>().ok()
}

fn read_file(path: &Path, named: bool, room: &mut InputRoom) -> anyhow::Result<ReadFile> {
    let unread = |name: String, place: UnreadablePlace| {
        let (json, format) = (String::new(), InputFormat::Auto);
        Ok(ReadFile::Text(ManifestText {
            name,
            json,
            format,
            errors: vec![place],
            limit: None,
            skipped: Vec::new(),
            named,
        }))
    };
    let (name, input) = match open(path.strip_prefix(".").unwrap_or(path)) {
        Ok(opened) => opened,
        Err(error) => return unread(path.display().to_string(), UnreadablePlace::whole(format!("{error:#}"))),
    };
    let ReadableText { json, format, broken, limit } = match room.text(input, &Source::manifests(&name)) {
        Ok(read) => read,
        Err(DecodeError { reason: DecodeReason::Io(error), .. }) => {
            return unread(name, UnreadablePlace::whole(error.to_string()));
        }
        Err(error) => return unread(name, UnreadablePlace::of(&error)),
    };
    let whole = |why| Ok(ReadFile::Skipped(SkippedFile::whole(&name, why)));
    let is_empty = json.trim_ascii().is_empty();
    if broken.is_empty() && is_empty && limit.is_none() {
        ensure!(!is_stdin(path), "{name}: is empty");
        return whole(Skip::Empty);
    }
    let (mut errors, mut skipped) = (Vec::new(), Vec::new());
    for BrokenDocument { error, text } in broken {
        match foreign(&text, named) {
            Some(why) => skipped.push((error.line, why)),
            None => errors.push(UnreadablePlace::of(&error)),
        }
    }
    let limit = limit.as_ref().map(UnreadablePlace::of);
    if let ([(_, why), ..], true, true) = (skipped.as_slice(), is_empty, errors.is_empty() && limit.is_none()) {
        return whole(*why);
    }
    Ok(ReadFile::Text(ManifestText { name, json, format, errors, limit, skipped, named }))
}

/// What text that is neither YAML nor JSON is, if it is not a broken manifest: a template, or, in a directory, the
/// configuration of another program, which has comments in JSON.
fn foreign(text: &str, named: bool) -> Option<Skip> {
    if is_template_text(text) {
        return Some(Skip::Template);
    }
    let has_type = |json: &str| decode::documents(json, &Source::file("")).map(|all| all.iter().any(is_typed)).ok();
    let is_other = || without_comments(text).and_then(|json| has_type(&json)) == Some(false);
    (!named && is_other()).then_some(Skip::NotManifest)
}

/// Whether a document says what it is.
fn is_typed(document: &Document<'_>) -> bool {
    Skip::of_document("", &document.raw) != Some(Skip::NotManifest)
}

/// Whether text that is not YAML is a template.
fn is_template_text(text: &str) -> bool {
    has_template_action(text) || is_yaml_without_placeholders(text)
}

/// Whether text that is not YAML has placeholders, and is YAML with words in their places.
fn is_yaml_without_placeholders(text: &str) -> bool {
    without_placeholders(text).is_some_and(|text| {
        let source = Source::file("");
        decode::text(text.as_bytes(), &source).is_ok_and(|json| decode::documents(&json, &source).is_ok())
    })
}
