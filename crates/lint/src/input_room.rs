//! What the files of a run may take together.
//!
//! The texts of manifests are in memory until all findings are printed. A few kilobytes of gzip may be gigabytes of text, and a
//! text millions of objects.

use std::io::Read;

use roster_manifests::decode::{self, DecodeError, DecodeReason, Document, ReadableText, Source};

/// The largest object that is checked. An API server stores 1.5 MiB, and values take many times their text.
pub(crate) const MAX_OBJECT_BYTES: usize = 8 << 20;

/// The room that is left in memory.
#[derive(Debug)]
pub(crate) struct InputRoom {
    /// For texts, in bytes.
    bytes: usize,
    objects: usize,
}

impl InputRoom {
    /// That of all files that are read with these limits.
    pub(crate) fn of(source: &Source<'_>) -> Self {
        Self { bytes: 1 << 30, objects: source.max_objects }
    }

    /// The text of a file, if there is room for it.
    pub(crate) fn text(
        &mut self,
        input: impl Read + Send,
        source: &Source<'_>,
    ) -> Result<ReadableText<'static>, DecodeError> {
        let source = self.limited(source);
        self.take(decode::readable_text(input, &source)?, &source)
    }

    /// The same of a text in memory.
    pub(crate) fn text_of<'t>(&mut self, text: &'t str, source: &Source<'_>) -> Result<ReadableText<'t>, DecodeError> {
        let source = self.limited(source);
        self.take(decode::readable_text_of(text, &source)?, &source)
    }

    fn limited<'l>(&self, source: &Source<'l>) -> Source<'l> {
        Source { max_object_bytes: source.max_object_bytes.min(self.bytes), ..*source }
    }

    fn take<'t>(&mut self, read: ReadableText<'t>, source: &Source<'_>) -> Result<ReadableText<'t>, DecodeError> {
        // JSON may be longer than YAML.
        let left = self.bytes.checked_sub(read.json.len());
        let full = || DecodeError {
            input: source.name.to_owned(),
            line: 1,
            column: 1,
            reason: DecodeReason::TooLarge(source.max_object_bytes as u64),
        };
        self.bytes = left.ok_or_else(full)?;
        Ok(read)
    }

    /// The objects of a text for which there is room, and the error where the others begin.
    pub(crate) fn documents<'j>(
        &mut self,
        json: &'j str,
        source: &Source<'_>,
    ) -> (Vec<Document<'j>>, Option<DecodeError>) {
        let read = decode::readable_documents(json, &Source { max_objects: self.objects, ..*source });
        self.objects -= read.0.len();
        read
    }
}
