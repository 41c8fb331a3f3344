//! Where the command line prints: the only place that knows standard output and standard error.

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;

use super::table::{RED, YELLOW, printable};

/// Form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A table for people.
    #[default]
    Table,
    /// A table with everything in it.
    Wide,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
    /// One line of JSON for each Service, as soon as it is known.
    Ndjson,
}

impl Format {
    /// Whether it is for people.
    pub(super) fn is_table(self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Makes it the choice of the whole process.
    pub(super) fn apply(self) {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Standard output: buffered, and coloured where that is wanted.
pub(super) struct Output {
    out: BufWriter<AutoStream<io::StdoutLock<'static>>>,
    width: Option<usize>,
}

impl Output {
    /// Standard output as the process has it, for answers of this form.
    pub(super) fn stdout(format: Format) -> Self {
        let stdout = io::stdout();
        let width = stdout
            .is_terminal()
            .then(|| terminal_size::terminal_size().map(|(terminal_size::Width(w), _)| usize::from(w)))
            .flatten();
        // Documents hold no styles: they need not pass the filter that takes styles away.
        let out = if format.is_table() { AutoStream::auto(stdout.lock()) } else { AutoStream::always(stdout.lock()) };
        Self { out: BufWriter::with_capacity(1 << 16, out), width }
    }

    /// Width of the terminal, if it is one.
    pub(super) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Prints a value as one JSON or YAML document, or as one line.
    pub(super) fn document(&mut self, format: Format, value: &impl Serialize) -> anyhow::Result<()> {
        match format {
            Format::Yaml => {
                let text = serde_saphyr::to_string(value).context("cannot write YAML")?;
                self.out.write_all(text.as_bytes())?;
                if !text.ends_with('\n') {
                    self.out.write_all(b"\n")?;
                }
            }
            Format::Ndjson => {
                serde_json::to_writer(&mut self.out, value)?;
                self.out.write_all(b"\n")?;
            }
            Format::Json | Format::Table | Format::Wide => {
                serde_json::to_writer_pretty(&mut self.out, value)?;
                self.out.write_all(b"\n")?;
            }
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Says on standard error why the program gives up. A reader that went away is no error: nothing is said.
pub(super) fn error(error: &anyhow::Error) {
    complain("error", RED, &format!("{error:#}"));
}

/// Says on standard error what a user should know of the run.
pub(super) fn warning(text: &str) {
    complain("warning", YELLOW, text);
}

fn complain(kind: &str, style: anstyle::Style, text: &str) {
    // Line ends of the text stay: messages of the argument parser have several lines.
    let text = text.trim_end().split('\n').map(printable).collect::<Vec<_>>().join("\n");
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(anstream::stderr(), "{style}{kind}:{style:#} {text}");
}

/// Whether an error says only that the reader of standard output went away.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
            || cause.downcast_ref::<serde_json::Error>().is_some_and(|e| e.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}
