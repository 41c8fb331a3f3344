//! Inputs that have been read, and can be read once more to find lines and texts.

use std::path::PathBuf;

use roster_manifests::decode::{self, Document, Source};

use super::{input_paths::open, render::RenderedUnit};

/// An input that has been read.
#[derive(Debug)]
pub(super) enum KnownInput {
    File(PathBuf),
    Rendered(RenderedUnit),
}

impl KnownInput {
    /// How many bytes it has; `None` if it cannot be read once more, as standard input and pipes cannot.
    pub(super) fn len(&self) -> Option<u64> {
        match self {
            Self::File(path) => path.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len()),
            Self::Rendered(unit) => Some(unit.text.len() as u64),
        }
    }

    /// What `read` makes of its documents, if it can be read once more. What is wrong with it was reported before.
    pub(super) fn documents<T>(&self, max_bytes: usize, read: impl FnOnce(Vec<Document<'_>>) -> T) -> Option<T> {
        let (name, json) = match self {
            Self::File(path) => {
                let (name, input) = open(path).ok()?;
                let json = decode::text(input, &Source { max_object_bytes: max_bytes, ..Source::file(&name) }).ok()?;
                (name, json)
            }
            Self::Rendered(unit) => {
                (unit.name.clone(), decode::text(unit.text.as_bytes(), &Source::manifests(&unit.name)).ok()?)
            }
        };
        let source = Source { max_object_bytes: max_bytes, ..Source::file(&name) };
        Some(read(decode::documents(&json, &source).ok()?))
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Rendered(unit) => unit.name.clone(),
        }
    }
}
