//! The documents of files, sorted into manifests and others.

use std::sync::Arc;

use roster_manifests::{
    decode::{self, DecodeError, DecodeReason, Document, Source},
    inventory::{Inventory, workloads::UnreadText},
    lint::{ClusterTests, FileRole, Kustomizations, Skip, is_of_test, is_partial, is_vendored, may_become_manifest},
    units::{TemplateReach, Units},
};

use crate::{
    input_file::{InputFile, Manifests, unit_files},
    input_room::{InputRoom, MAX_OBJECT_BYTES},
    manifest_texts::{FileOrigin, ManifestText, SkippedText, foreign},
    unreadable_file::{SkippedFile, UnreadableFile, UnreadablePlace},
};

/// The manifests of all files.
#[derive(Default)]
pub struct SortedManifests<'a> {
    /// The manifests.
    pub manifests: Manifests<'a>,
    /// What is not checked.
    pub skipped: Vec<SkippedFile>,
    /// What of the files cannot be read.
    pub unreadable: Vec<UnreadableFile<'a>>,
}

/// A document of a file.
pub(crate) struct FoundDocument<'a> {
    file: &'a str,
    document: Document<'a>,
    /// Why it is not checked, whatever other files say; not known before [`look`](Self::look).
    skip: Option<Skip>,
}

impl FoundDocument<'_> {
    /// Finds out what the document is. It takes several passes over its text, and needs no other document.
    pub(crate) fn look(&mut self) {
        self.document.make_keys_single();
        self.skip = Skip::of_document(self.file, &self.document);
    }
}

/// The documents of files, while they are sorted into manifests and others.
pub(crate) struct Sorting<'a> {
    /// How objects are read.
    source: Source<'a>,
    kustomizations: Kustomizations,
    tests: ClusterTests,
    sorted: SortedManifests<'a>,
    /// The texts that cannot be read, and their files.
    unread: Vec<(&'a str, UnreadText)>,
    inventory: Inventory,
    /// The name of the file of the last document that was skipped or cannot be read.
    last_file: Arc<str>,
}

impl<'a> Sorting<'a> {
    pub(crate) fn new(kustomizations: Kustomizations, source: Source<'a>) -> Self {
        let tests = ClusterTests::default();
        Self {
            source,
            kustomizations,
            tests,
            sorted: SortedManifests::default(),
            unread: Vec::new(),
            inventory: Inventory::default(),
            last_file: Arc::default(),
        }
    }

    /// Notes what the documents of a file say of other files.
    pub(crate) fn note(&mut self, text: &ManifestText<'_>, documents: &[FoundDocument<'_>]) {
        for found in documents {
            self.kustomizations.add(&text.name, &found.document.raw);
        }
        self.tests.add(&text.name, documents.iter().map(|found| &*found.document.raw));
    }

    /// Follows what kustomizations say of each other, when all are noted.
    pub(crate) fn follow(&mut self) {
        self.kustomizations.follow();
    }

    /// The documents of a file that can be read.
    pub(crate) fn read(&mut self, text: &'a ManifestText<'_>, room: &mut InputRoom) -> Vec<FoundDocument<'a>> {
        let source = Source { name: &text.name, format: text.format, ..self.source };
        let (documents, error) = room.documents(&text.json, &source);
        text.skipped.iter().for_each(|skipped| self.skip_text(skipped));
        let is_broken = |error: &&DecodeError| matches!(error.reason, DecodeReason::Json(_));
        let why = error.as_ref().filter(is_broken).and_then(|_| foreign(&text.json, text.origin));
        if let (Some(why), Some(error)) = (why, &error) {
            self.skip(&text.name, (!documents.is_empty()).then_some(error.line), why);
        }
        let error = error.filter(|_| why.is_none());
        let (documents, large): (Vec<_>, Vec<_>) =
            documents.into_iter().partition(|document| document.raw.get().len() <= MAX_OBJECT_BYTES);
        let is_found = text.origin == FileOrigin::Found;
        let is_other = |document: &&Document<'_>| is_found && Skip::of_document(&text.name, document).is_some();
        let large = large.iter().filter(|document| !is_other(document)).map(UnreadablePlace::too_large);
        let errors = text.errors.iter().cloned().chain(large);
        // What is behind the objects is behind the documents, too.
        let end = error.as_ref().map(UnreadablePlace::of).or_else(|| text.limit.clone());
        for place in errors.chain(end) {
            let unread = place.text.as_deref().map(str::to_owned);
            self.add_unread(&text.name, place.column.map(|_| place.line), unread);
            self.sorted.unreadable.push(UnreadableFile { file: &text.name, place });
        }
        documents.into_iter().map(|document| FoundDocument { file: &text.name, document, skip: None }).collect()
    }

    /// Keeps the manifests among the documents of a file.
    pub(crate) fn sort(&mut self, text: &'a ManifestText<'_>, documents: Vec<FoundDocument<'a>>) {
        let name = &text.name;
        let is_found = text.origin == FileOrigin::Found;
        let role = if is_found { self.kustomizations.role(name) } else { FileRole::Plain };
        let mut checked = Vec::with_capacity(documents.len());
        let is_one = documents.len() == 1;
        let is_test = is_of_test(text.below_root());
        let of_role = match role {
            _ if is_found && is_vendored(text.below_root()) => Some(Skip::Vendored),
            FileRole::Part => Some(Skip::Patch),
            _ if self.tests.is_compared(name, is_test) => Some(Skip::ClusterTest),
            FileRole::NotListed => Some(Skip::NotListed),
            FileRole::Plain | FileRole::Applied | FileRole::Listed => None,
        };
        for FoundDocument { document, skip, .. } in documents {
            let is_part = || is_found && is_partial(text.below_root(), &document.raw);
            let why = skip.or(of_role);
            let why = why.or_else(|| is_part().then_some(Skip::Partial));
            let line = (!is_one).then_some(document.line);
            let Some(why) = why else {
                checked.push(document);
                continue;
            };
            self.skip(name, line, why);
            match why {
                // It may be applied in another way, or exist all the same. The data of a test is not applied with other files.
                Skip::Partial if is_test => {}
                Skip::NotListed | Skip::Partial | Skip::Vendored | Skip::ClusterTest => {
                    decode::record_unread(&document.raw, &Source::file(name), &mut self.inventory);
                }
                Skip::Template if may_become_manifest(&document.raw) => {
                    self.add_unread(name, Some(document.line), Some(document.raw.get().to_owned()));
                }
                _ => {}
            }
        }
        let (is_listed, is_apart) = (role == FileRole::Listed, text.origin == FileOrigin::Apart);
        self.sorted.manifests.files.push(InputFile { name, documents: checked, is_listed, is_test, is_apart });
    }
}

impl<'a> Sorting<'a> {
    pub(crate) fn skip_text(&mut self, skipped: &'a SkippedText) {
        let SkippedText { file, template } = skipped;
        if let Some(text) = template {
            self.add_unread(&file.file, Some(file.line.unwrap_or(1)), Some(text.clone()));
        }
        self.sorted.skipped.push(file.clone());
    }

    fn skip(&mut self, file: &str, line: Option<usize>, why: Skip) {
        let file = self.shared(file);
        self.sorted.skipped.push(SkippedFile { file, line, why });
    }

    fn add_unread(&mut self, file: &'a str, line: Option<usize>, text: Option<String>) {
        let shared = self.shared(file);
        self.unread.push((file, UnreadText { file: shared, line, text, reach: 0..0 }));
    }

    /// The name of a file. Half a million documents of one may be skipped or unread.
    fn shared(&mut self, file: &str) -> Arc<str> {
        if *self.last_file != *file {
            self.last_file = file.into();
        }
        self.last_file.clone()
    }

    /// The manifests, with the units of their files.
    pub(crate) fn finish(self) -> SortedManifests<'a> {
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
