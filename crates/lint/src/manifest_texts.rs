//! The files of a directory that mixes manifests with charts, kustomizations and other YAML.

use std::{
    borrow::Cow,
    collections::HashSet,
    io::Read,
    path::{Path, PathBuf},
};

use roster_engine::model::HashSeed;
use roster_manifests::{
    decode::{self, BrokenDocument, DecodeError, DecodeReason, InputFormat, ReadableText, Source},
    lint::{Kustomizations, Skip, has_template_action, without_placeholders},
    parallel,
    units::Units,
};

use crate::{
    input_room::InputRoom,
    sorted_manifests::{FoundDocument, SortedManifests, Sorting},
    unreadable_file::{SkippedFile, UnreadablePlace},
};

/// How a file came into the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOrigin {
    /// It was found in a directory, which may have other files than manifests.
    Found,
    /// It was given by name: it is meant to be a manifest.
    Named,
    /// So it was, and it is applied without any other file: standard input, a request, what a renderer printed.
    Apart,
}

/// The texts of all files, as JSON with the same line numbers.
#[derive(Debug)]
pub struct ManifestTexts<'s> {
    source: Source<'s>,
    room: InputRoom,
    texts: Vec<ManifestText<'s>>,
    skipped: Vec<SkippedText>,
}

/// A file that is not checked, and its text if it may hold objects.
#[derive(Debug)]
pub(crate) struct SkippedText {
    pub(crate) file: SkippedFile,
    pub(crate) template: Option<String>,
}

/// A file and its text.
#[derive(Debug)]
pub(crate) struct ManifestText<'t> {
    pub(crate) name: String,
    pub(crate) json: Cow<'t, str>,
    /// The format in which it is written.
    pub(crate) format: InputFormat,
    /// What of the file cannot be read, and why.
    pub(crate) errors: Vec<UnreadablePlace>,
    /// Where it has too many documents.
    pub(crate) limit: Option<UnreadablePlace>,
    /// The documents that are not manifests, and the texts of templates.
    pub(crate) skipped: Vec<SkippedText>,
    pub(crate) origin: FileOrigin,
    /// How much of its name is that of a directory that was given.
    pub(crate) root: usize,
}

/// What a file is.
enum ReadFile<'t> {
    Text(ManifestText<'t>),
    Skipped(SkippedText),
}

impl<'s> ManifestTexts<'s> {
    /// No files yet, which are read with the limits of `source`. Its name is that of no file.
    pub fn new(source: Source<'s>) -> Self {
        Self { source, room: InputRoom::of(&source), texts: Vec::new(), skipped: Vec::new() }
    }

    /// Adds a file. Returns whether it has any text.
    pub fn add(&mut self, name: String, input: impl Read + Send, origin: FileOrigin) -> bool {
        let read = self.room.text(input, &Source { name: &name, ..self.source });
        self.keep(name, read, origin)
    }

    /// Adds a file whose text is in memory. Returns whether it has any.
    pub fn add_text(&mut self, name: String, text: &'s str, origin: FileOrigin) -> bool {
        let read = self.room.text_of(text, &Source { name: &name, ..self.source });
        self.keep(name, read, origin)
    }

    fn keep(&mut self, name: String, read: Result<ReadableText<'s>, DecodeError>, origin: FileOrigin) -> bool {
        match read_file(name, read, origin, &self.source) {
            ReadFile::Text(text) => self.texts.push(text),
            ReadFile::Skipped(file) => {
                let is_empty = file.file.why == Skip::Empty;
                self.skipped.push(file);
                return !is_empty;
            }
        }
        true
    }

    /// Adds a file that cannot be opened, and why.
    pub fn add_unread(&mut self, name: String, why: String, origin: FileOrigin) {
        self.texts.push(ManifestText::unread(name, UnreadablePlace::whole(why), origin));
    }

    /// Adds a file that cannot be read as one: a named pipe, a socket, a device.
    pub fn add_special(&mut self, name: &str) {
        self.skipped.push(SkippedText { file: SkippedFile::whole(name, Skip::SpecialFile), template: None });
    }

    /// Says which directories were given: the names of folders above them mean nothing.
    pub fn set_roots(&mut self, roots: &[PathBuf]) {
        let roots: HashSet<&Path, HashSeed> = roots.iter().map(PathBuf::as_path).collect();
        for text in &mut self.texts {
            let root = Path::new(&text.name).ancestors().skip(1).find(|folder| roots.contains(folder));
            text.root = root.map_or(0, |root| root.as_os_str().len());
        }
    }

    /// The manifests among the documents of the files, in the order of their units.
    ///
    /// The names of files may be relative to `directory`.
    pub fn sorted(&self, directory: PathBuf) -> SortedManifests<'_> {
        let mut sorting = Sorting::new(Kustomizations::new(directory), self.source);
        let names: Vec<&str> = self.texts.iter().map(|text| text.name.as_str()).collect();
        let in_order: Vec<&ManifestText<'_>> = Units::order(&names).into_iter().map(|text| &self.texts[text]).collect();
        let mut room = InputRoom::of(&self.source);
        let mut read: Vec<(&ManifestText<'_>, Vec<FoundDocument<'_>>)> =
            in_order.into_iter().map(|text| (text, sorting.read(text, &mut room))).collect();
        if self.source.check_interrupt().is_err() {
            return SortedManifests::default();
        }
        let mut documents: Vec<&mut FoundDocument<'_>> = read.iter_mut().flat_map(|(_, documents)| documents).collect();
        parallel::for_each(&mut documents, self.source.threads, |document| document.look());
        for (text, documents) in &read {
            sorting.note(text, documents);
        }
        sorting.follow();
        for (text, documents) in read {
            sorting.sort(text, documents);
        }
        for skipped in &self.skipped {
            sorting.skip_text(skipped);
        }
        sorting.finish()
    }
}

impl ManifestText<'_> {
    /// The name within the directory that was given.
    pub(crate) fn below_root(&self) -> &str {
        self.name.get(self.root..).unwrap_or(&self.name)
    }

    /// A file of which nothing can be read.
    fn unread(name: String, place: UnreadablePlace, origin: FileOrigin) -> Self {
        let (json, format) = (Cow::default(), InputFormat::Auto);
        Self { name, json, format, errors: vec![place], limit: None, skipped: Vec::new(), origin, root: 0 }
    }
}

/// What a file is whose text was read.
fn read_file<'t>(
    name: String,
    read: Result<ReadableText<'t>, DecodeError>,
    origin: FileOrigin,
    source: &Source<'_>,
) -> ReadFile<'t> {
    let ReadableText { json, format, broken, limit, is_template } = match read {
        Ok(read) => read,
        Err(DecodeError { reason: DecodeReason::Io(error), .. }) => {
            return ReadFile::Text(ManifestText::unread(name, UnreadablePlace::whole(error.to_string()), origin));
        }
        Err(error) => return ReadFile::Text(ManifestText::unread(name, UnreadablePlace::of(&error), origin)),
    };
    let whole = |why, text: Option<String>| {
        ReadFile::Skipped(SkippedText { file: SkippedFile::whole(&name, why), template: text })
    };
    if is_template {
        return whole(Skip::Template, Some(json.into_owned()));
    }
    let is_empty = json.trim_ascii().is_empty();
    if broken.is_empty() && is_empty && limit.is_none() {
        return whole(Skip::Empty, None);
    }
    let (mut errors, mut skipped) = (Vec::new(), Vec::new());
    for BrokenDocument { error, text } in broken {
        if source.check_interrupt().is_err() {
            // Nobody waits for what the others are.
            break;
        }
        match foreign(&text, origin) {
            Some(why) => {
                let file = SkippedFile { line: Some(error.line), ..SkippedFile::whole(&name, why) };
                skipped.push(SkippedText { file, template: (why == Skip::Template).then_some(text) });
            }
            None => errors.push(UnreadablePlace { text: Some((*text).into()), ..UnreadablePlace::of(&error) }),
        }
    }
    let limit = limit.as_ref().map(UnreadablePlace::of);
    if is_empty && errors.is_empty() && limit.is_none() && !skipped.is_empty() {
        let why = skipped[0].file.why;
        let texts: Vec<String> = skipped.into_iter().filter_map(|skipped| skipped.template).collect();
        return whole(why, (!texts.is_empty()).then(|| texts.join("\n")));
    }
    ReadFile::Text(ManifestText { name, json, format, errors, limit, skipped, origin, root: 0 })
}

/// What text that is neither YAML nor JSON is, if it is not a broken manifest: a template, or, in a directory, the
/// configuration of another program, which has comments in JSON.
pub(crate) fn foreign(text: &str, origin: FileOrigin) -> Option<Skip> {
    if is_template_text(text) || origin == FileOrigin::Found && is_excerpt(text) {
        return Some(Skip::Template);
    }
    // Both fields of a manifest are near its beginning, before most of what is broken. Many programs have comments in JSON.
    let fields = ["apiVersion", "kind"];
    let has_comments =
        || text.trim_start().starts_with(['{', '[', '/']) && ["//", "/*"].iter().any(|c| text.contains(c));
    let is_other = || {
        let named = fields.iter().filter(|field| text.contains(**field)).count();
        named == 0 || named < fields.len() && has_comments()
    };
    (origin == FileOrigin::Found && is_other()).then_some(Skip::NotManifest)
}

/// Whether text that is not YAML is a template.
fn is_template_text(text: &str) -> bool {
    has_template_action(text) || is_yaml_without_placeholders(text)
}

/// Whether text that is not YAML is an excerpt for readers: `...` within it stands for what they know, or it is from a page in
/// Markdown.
fn is_excerpt(text: &str) -> bool {
    let is_omission = |line: &str| line.starts_with([' ', '\t']) && line.trim() == "...";
    text.lines().any(|line| is_omission(line) || line.starts_with("```"))
}

/// Whether text that is not YAML has placeholders, and is YAML with words in their places.
fn is_yaml_without_placeholders(text: &str) -> bool {
    without_placeholders(text).is_some_and(|text| {
        let source = Source::file("");
        decode::text(text.as_bytes(), &source).is_ok_and(|json| decode::documents(&json, &source).is_ok())
    })
}
