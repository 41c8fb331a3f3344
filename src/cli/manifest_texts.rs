//! The files of a directory that mixes manifests with charts, kustomizations and other YAML.

use std::{
    fmt,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::ensure;
use roster_lint::{InputFile, Manifests, unit_files};
use roster_manifests::{
    decode::{self, BrokenDocument, DecodeError, DecodeReason, Document, InputFormat, ReadableText, Source},
    inventory::{Inventory, workloads::UnreadText},
    lint::{
        ClusterTests, FileRole, Kustomizations, Skip, has_template_action, is_of_test, is_partial, is_vendored,
        may_become_manifest, without_comments, without_placeholders,
    },
    units::{TemplateReach, Units},
};

use super::{
    input_paths::{ExpandedPaths, is_stdin, named_paths, open, shortest, working_directory},
    input_room::{InputRoom, MAX_OBJECT_BYTES},
    input_texts::{RENDERED, is_apart},
    render::RenderedUnit,
};

/// The texts of all files, as JSON with the same line numbers.
pub(super) struct ManifestTexts {
    texts: Vec<ManifestText>,
    skipped: Vec<SkippedText>,
}

/// A file that is not checked, and its text if it may hold objects.
struct SkippedText {
    file: SkippedFile,
    template: Option<String>,
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
    /// The documents that are not manifests, and the texts of templates.
    skipped: Vec<SkippedText>,
    /// Whether the file was given by name: then it is meant to be a manifest.
    named: bool,
    /// How much of its name is that of a directory that was given.
    root: usize,
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
pub(super) struct SortedManifests<'a> {
    pub(super) manifests: Manifests<'a>,
    pub(super) skipped: Vec<SkippedFile>,
    /// What of the files cannot be read.
    pub(super) unreadable: Vec<UnreadableFile<'a>>,
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
    /// The text, if it is known.
    text: Option<Arc<str>>,
}

impl UnreadablePlace {
    fn whole(why: String) -> Self {
        Self { line: 1, column: None, why, text: None }
    }

    fn of(error: &DecodeError) -> Self {
        let why = match &error.reason {
            reason @ (DecodeReason::TooManyObjects(_) | DecodeReason::TooManyDocuments(_)) => {
                format!("not checked from here on: {reason}")
            }
            reason => reason.to_string(),
        };
        Self { line: error.line, column: Some(error.column), why, text: None }
    }

    /// An object that is too large.
    fn too_large(document: &Document<'_>) -> Self {
        Self::not_checked(document, &format!("the object has more than {} MiB", MAX_OBJECT_BYTES >> 20))
    }

    /// An object that is not looked at.
    fn not_checked(document: &Document<'_>, why: &str) -> Self {
        Self { line: document.line, column: Some(1), why: format!("not checked: {why}"), text: None }
    }
}

/// What a file is.
enum ReadFile {
    Text(ManifestText),
    Skipped(SkippedText),
}

impl ManifestTexts {
    /// Reads files, directories and standard input.
    pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let named = named_paths(paths);
        let mut all = Self::of(ExpandedPaths::of(paths)?, |path| named.contains(path.as_path()))?;
        let here = working_directory();
        let root = |path: &PathBuf| shortest(path.strip_prefix(".").unwrap_or(path), &here);
        let roots: Vec<PathBuf> = paths.iter().filter(|path| path.is_dir()).map(root).collect();
        for text in &mut all.texts {
            let of_text = roots.iter().filter(|root| Path::new(&text.name).starts_with(root));
            text.root = of_text.map(|root| root.as_os_str().len()).max().unwrap_or_default();
        }
        Ok(all)
    }

    /// Reads files. `named` says whether one was given by name: then it is meant to be a manifest.
    pub(super) fn of(paths: ExpandedPaths, named: impl Fn(&PathBuf) -> bool) -> anyhow::Result<Self> {
        let skipped = |path: PathBuf| SkippedText {
            file: SkippedFile::whole(&path.display().to_string(), Skip::SpecialFile),
            template: None,
        };
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

    /// Adds what kustomizations and charts render to.
    pub(super) fn add_rendered(&mut self, units: &[RenderedUnit]) {
        let mut room = InputRoom::default();
        for unit in units {
            let name = format!("{}{RENDERED}", unit.name);
            match read_text(name, unit.text.as_bytes(), true, &mut room) {
                ReadFile::Text(text) => self.texts.push(text),
                ReadFile::Skipped(file) => self.skipped.push(file),
            }
        }
    }

    /// The manifests among the documents of the files, in the order of their units.
    pub(super) fn manifests(&self) -> SortedManifests<'_> {
        let mut sorting = Sorting { kustomizations: Kustomizations::new(working_directory()), ..Sorting::default() };
        let names: Vec<&str> = self.texts.iter().map(|text| text.name.as_str()).collect();
        let in_order: Vec<&ManifestText> = Units::order(&names).into_iter().map(|text| &self.texts[text]).collect();
        let mut room = InputRoom::default();
        let read: Vec<(&ManifestText, Vec<Document<'_>>)> =
            in_order.into_iter().map(|text| (text, sorting.read(text, &mut room))).collect();
        for (text, documents) in &read {
            for document in documents {
                sorting.kustomizations.add(&text.name, &document.raw);
            }
            sorting.tests.add(&text.name, documents.iter().map(|document| &*document.raw));
        }
        sorting.kustomizations.follow();
        for (text, documents) in read {
            sorting.sort(text, documents);
        }
        for skipped in &self.skipped {
            sorting.skip_text(skipped);
        }
        sorting.finish()
    }
}

/// The documents of files, while they are sorted into manifests and others.
#[derive(Default)]
struct Sorting<'a> {
    kustomizations: Kustomizations,
    tests: ClusterTests,
    sorted: SortedManifests<'a>,
    /// The texts that cannot be read, and their files.
    unread: Vec<(&'a str, UnreadText)>,
    inventory: Inventory,
}

impl<'a> Sorting<'a> {
    /// The documents of a file that can be read.
    fn read(&mut self, text: &'a ManifestText, room: &mut InputRoom) -> Vec<Document<'a>> {
        let source = Source { format: text.format, ..Source::manifests(&text.name) };
        let (documents, error) = room.documents(&text.json, &source);
        text.skipped.iter().for_each(|skipped| self.skip_text(skipped));
        let is_broken = |error: &&DecodeError| matches!(error.reason, DecodeReason::Json(_));
        let why = error.as_ref().filter(is_broken).and_then(|_| foreign(&text.json, text.named));
        if let (Some(why), Some(error)) = (why, &error) {
            self.skip(&text.name, (!documents.is_empty()).then_some(error.line), why);
        }
        let error = error.filter(|_| why.is_none());
        let (documents, large): (Vec<_>, Vec<_>) =
            documents.into_iter().partition(|document| document.raw.get().len() <= MAX_OBJECT_BYTES);
        let is_other = |document: &&Document<'_>| !text.named && Skip::of_document(&text.name, &document.raw).is_some();
        let large = large.iter().filter(|document| !is_other(document)).map(UnreadablePlace::too_large);
        let errors = text.errors.iter().cloned().chain(large);
        // What is behind the objects is behind the documents, too.
        let end = error.as_ref().map(UnreadablePlace::of).or_else(|| text.limit.clone());
        for place in errors.chain(end) {
            let unreadable = UnreadableFile { file: &text.name, place };
            let text = unreadable.place.text.as_deref().map(str::to_owned);
            self.unread.push((unreadable.file, UnreadText { place: unreadable.place(), text, reach: 0..0 }));
            self.sorted.unreadable.push(unreadable);
        }
        documents.into_iter().map(Document::with_single_keys).collect()
    }

    /// Keeps the manifests among the documents of a file.
    fn sort(&mut self, text: &'a ManifestText, documents: Vec<Document<'a>>) {
        let name = &text.name;
        let role = if text.named { FileRole::Plain } else { self.kustomizations.role(name) };
        let mut checked = Vec::with_capacity(documents.len());
        let is_one = documents.len() == 1;
        let of_role = match role {
            _ if !text.named && is_vendored(name) => Some(Skip::Vendored),
            FileRole::Part => Some(Skip::Patch),
            _ if self.tests.is_compared(name) => Some(Skip::ClusterTest),
            FileRole::NotListed => Some(Skip::NotListed),
            FileRole::Plain | FileRole::Applied | FileRole::Listed => None,
        };
        for document in documents {
            let is_part = || !text.named && is_partial(text.below_root(), &document.raw);
            let why = Skip::of_document(name, &document.raw).or(of_role);
            let why = why.or_else(|| is_part().then_some(Skip::Partial));
            let line = (!is_one).then_some(document.line);
            let Some(why) = why else {
                checked.push(document);
                continue;
            };
            self.skip(name, line, why);
            match why {
                // It may be applied in another way.
                Skip::NotListed => decode::record_unread(&document.raw, &Source::file(name), &mut self.inventory),
                Skip::Template if may_become_manifest(&document.raw) => {
                    self.add_template(name, document.line, document.raw.get().to_owned())
                }
                _ => {}
            }
        }
        let (is_listed, is_apart) = (role == FileRole::Listed, is_apart(name));
        let is_test = is_of_test(text.below_root());
        self.sorted.manifests.files.push(InputFile { name, documents: checked, is_listed, is_test, is_apart });
    }
}

impl<'a> Sorting<'a> {
    fn skip_text(&mut self, skipped: &'a SkippedText) {
        let SkippedText { file, template } = skipped;
        if let Some(text) = template {
            self.add_template(&file.file, file.line.unwrap_or(1), text.clone());
        }
        self.sorted.skipped.push(file.clone());
    }

    fn skip(&mut self, file: &str, line: Option<usize>, why: Skip) {
        // A file may have half a million of them.
        let known = self.sorted.skipped.last().map(|last| &last.file).filter(|last| ***last == *file).cloned();
        self.sorted.skipped.push(SkippedFile { file: known.unwrap_or_else(|| file.into()), line, why });
    }

    fn add_template(&mut self, file: &'a str, line: usize, text: String) {
        self.unread.push((file, UnreadText { place: format!("{file}:{line}"), text: Some(text), reach: 0..0 }));
    }

    /// The manifests, with the units of their files.
    fn finish(self) -> SortedManifests<'a> {
        let Self { mut sorted, unread, inventory, .. } = self;
        let manifests = &mut sorted.manifests;
        manifests.complete = sorted.unreadable.is_empty();
        let files = unit_files(&manifests.files);
        manifests.units = Units::of(&files);
        manifests.unread.merge(inventory.unread);
        let charts = sorted.skipped.iter().filter(|file| file.why == Skip::Chart);
        let reach = TemplateReach::new(charts.map(|chart| &*chart.file), &files);
        for (file, text) in unread {
            manifests.unread.add_text(UnreadText { reach: reach.of(file), ..text });
        }
        sorted
    }
}

fn read_file(path: &Path, named: bool, room: &mut InputRoom) -> anyhow::Result<ReadFile> {
    match open(path.strip_prefix(".").unwrap_or(path)) {
        Ok((name, input)) => {
            let read = read_text(name.clone(), input, named, room);
            let is_empty = matches!(&read, ReadFile::Skipped(text) if text.file.why == Skip::Empty);
            ensure!(!(is_empty && is_stdin(path)), "{name}: is empty");
            Ok(read)
        }
        Err(error) => {
            let place = UnreadablePlace::whole(format!("{error:#}"));
            Ok(ReadFile::Text(ManifestText::unread(path.display().to_string(), place, named)))
        }
    }
}

impl ManifestText {
    /// The path from the directory that was given: who names a directory of tests means what is in it.
    fn below_root(&self) -> &str {
        self.name.get(self.root..).unwrap_or_default()
    }

    /// A file of which nothing can be read.
    fn unread(name: String, place: UnreadablePlace, named: bool) -> Self {
        let (json, format) = (String::new(), InputFormat::Auto);
        Self { name, json, format, errors: vec![place], limit: None, skipped: Vec::new(), named, root: 0 }
    }
}

/// Reads the text of a file.
fn read_text(name: String, input: impl Read + Send, named: bool, room: &mut InputRoom) -> ReadFile {
    let ReadableText { json, format, broken, limit, is_ytt_template } =
        match room.text(input, &Source::manifests(&name)) {
            Ok(read) => read,
            Err(DecodeError { reason: DecodeReason::Io(error), .. }) => {
                return ReadFile::Text(ManifestText::unread(name, UnreadablePlace::whole(error.to_string()), named));
            }
            Err(error) => return ReadFile::Text(ManifestText::unread(name, UnreadablePlace::of(&error), named)),
        };
    let whole = |why, text: Option<String>| {
        ReadFile::Skipped(SkippedText { file: SkippedFile::whole(&name, why), template: text })
    };
    if is_ytt_template {
        return whole(Skip::Template, Some(json));
    }
    let is_empty = json.trim_ascii().is_empty();
    if broken.is_empty() && is_empty && limit.is_none() {
        return whole(Skip::Empty, None);
    }
    let (mut errors, mut skipped) = (Vec::new(), Vec::new());
    for BrokenDocument { error, text } in broken {
        match foreign(&text, named) {
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
    ReadFile::Text(ManifestText { name, json, format, errors, limit, skipped, named, root: 0 })
}

/// What text that is neither YAML nor JSON is, if it is not a broken manifest: a template, or, in a directory, the
/// configuration of another program, which has comments in JSON.
fn foreign(text: &str, named: bool) -> Option<Skip> {
    if is_template_text(text) {
        return Some(Skip::Template);
    }
    let has_type = |json: &str| decode::documents(json, &Source::file("")).map(|all| all.iter().any(is_typed)).ok();
    // Both fields of a manifest are near its beginning, before most of what is broken.
    let names_none = || !["apiVersion", "kind"].iter().any(|field| text.contains(field));
    let is_other = || names_none() || without_comments(text).and_then(|json| has_type(&json)) == Some(false);
    (!named && is_other()).then_some(Skip::NotManifest)
}

/// Whether a document says what it is.
fn is_typed(document: &Document<'_>) -> bool {
    Skip::of_document("", &document.raw) != Some(Skip::NotManifest)
}

/// Whether text that is not YAML is a template.
fn is_template_text(text: &str) -> bool {
    has_template_action(text) || is_excerpt(text) || is_yaml_without_placeholders(text)
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
