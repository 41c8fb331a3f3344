//! Input files as texts, for commands that work on objects as they are written.

use std::path::PathBuf;

use anyhow::ensure;
use roster_lint::InputFile;
use roster_manifests::decode::{self, Document, Source};

use super::{
    input_paths::{STDIN, expand, open},
    messages,
    render::is_rendered,
};

/// Whether a file is applied without any other one.
pub(super) fn is_apart(name: &str) -> bool {
    name == STDIN || is_rendered(name)
}

/// The texts of all input files, as JSON with the same line numbers as the file.
#[derive(Debug)]
pub(super) struct InputTexts {
    texts: Vec<InputText>,
    /// Whether all files were read.
    pub(super) complete: bool,
}

#[derive(Debug)]
struct InputText {
    name: String,
    json: String,
}

impl InputTexts {
    /// Reads files, directories and standard input. A file that cannot be read is reported on standard error; if none
    /// can be read, that is an error.
    pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let (mut texts, mut failed) = (Vec::new(), Vec::new());
        for path in expand(paths)? {
            let read = open(&path).and_then(|(name, input)| {
                let json = decode::text(input, &Source::manifests(&name))?;
                // A command that fails before a pipe prints nothing.
                ensure!(!json.trim_ascii().is_empty(), "{name}: is empty");
                Ok(InputText { name, json })
            });
            match read {
                Ok(text) => texts.push(text),
                Err(error) => failed.push(error),
            }
        }
        let last = if texts.is_empty() { failed.pop() } else { None };
        failed.iter().for_each(messages::error);
        last.map_or(Ok(Self { texts, complete: failed.is_empty() }), Err)
    }

    /// No files at all.
    pub(super) fn none() -> Self {
        Self { texts: Vec::new(), complete: true }
    }

    /// The objects of all files, and whether that is all of them. A file that is not JSON is reported and left out. Of keys
    /// that an object repeats, the last one counts: kubectl sends no other.
    pub(super) fn files(&self) -> (Vec<InputFile<'_>>, bool) {
        let (mut files, mut complete) = (Vec::new(), self.complete);
        for InputText { name, json } in &self.texts {
            match decode::documents(json, &Source::manifests(name)) {
                Ok(documents) => {
                    let documents = documents.into_iter().map(Document::with_single_keys).collect();
                    files.push(InputFile { name, documents, is_apart: is_apart(name), ..InputFile::default() });
                }
                Err(error) => {
                    complete = false;
                    messages::error(&error.into());
                }
            }
        }
        (files, complete)
    }
}
