//! Files as texts, of which objects are parts: for what works on objects as they are written.

use std::path::PathBuf;

use anyhow::ensure;

use super::{input, output};
use crate::decode::{self, Document, Source};

/// What files hold, as JSON with the lines of the file.
#[derive(Debug)]
pub(super) struct Texts {
    texts: Vec<Text>,
    /// Whether all of them could be read.
    pub(super) complete: bool,
}

#[derive(Debug)]
struct Text {
    name: String,
    json: String,
}

/// The objects of a file.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub(super) name: &'a str,
    pub(super) documents: Vec<Document<'a>>,
}

impl Texts {
    /// Reads files, directories and standard input. What cannot be read is told on standard error; it is an error
    /// only where nothing is left.
    pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let (texts, mut failed) = Self::each(paths)?;
        let last = if texts.is_empty() { failed.pop() } else { None };
        failed.iter().for_each(output::error);
        last.map_or(Ok(Self { texts, complete: failed.is_empty() }), Err)
    }

    /// Reads them likewise; nothing that is left is an answer, too: who asks for a document gets one.
    pub(super) fn read_any(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let (texts, failed) = Self::each(paths)?;
        failed.iter().for_each(output::error);
        Ok(Self { texts, complete: failed.is_empty() })
    }

    /// What can be read, and why the rest cannot.
    fn each(paths: &[PathBuf]) -> anyhow::Result<(Vec<Text>, Vec<anyhow::Error>)> {
        let (mut texts, mut failed) = (Vec::new(), Vec::new());
        for path in input::expand(paths)? {
            let read = input::open(&path).and_then(|(name, input)| {
                let json = decode::text(input, &Source::file(&name))?;
                // A command that fails in front of a pipe prints nothing.
                ensure!(!json.trim_ascii().is_empty(), "{name}: there is nothing in it");
                Ok(Text { name, json })
            });
            match read {
                Ok(text) => texts.push(text),
                Err(error) => failed.push(error),
            }
        }
        Ok((texts, failed))
    }

    /// No files at all, which is no mistake.
    pub(super) fn all_of_none() -> Self {
        Self { texts: Vec::new(), complete: true }
    }

    /// The objects of all files; what is no JSON is told, and only the rest is there. The flag: that was all.
    pub(super) fn files(&self) -> (Vec<File<'_>>, bool) {
        let (mut files, mut complete) = (Vec::new(), self.complete);
        for Text { name, json } in &self.texts {
            match decode::documents(json, &Source::file(name)) {
                Ok(documents) => files.push(File { name, documents }),
                Err(error) => {
                    complete = false;
                    output::error(&error.into());
                }
            }
        }
        (files, complete)
    }
}
