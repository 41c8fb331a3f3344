//! Where the command line prints: the only place that knows standard output and standard error.

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;

use super::{
    live,
    table::{RED, YELLOW, printable},
};

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
    /// One line of JSON for each Service or object, as soon as it is known.
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
    out: BufWriter<AutoStream<io::Stdout>>,
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
        let out = if format.is_table() { AutoStream::auto(stdout) } else { AutoStream::always(stdout) };
        Self { out: BufWriter::with_capacity(1 << 16, out), width }
    }

    /// Width of the terminal, if it is one.
    pub(super) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Prints a value as one JSON or YAML document, or as one line.
    pub(super) fn document(&mut self, format: Format, value: &impl Serialize) -> anyhow::Result<()> {
        match format {
            Format::Yaml => self.out.write_all(yaml(value)?.as_bytes())?,
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

/// A list of items that is written while it is computed: `{"items": […], …}` or lines.
pub(super) struct Items<'a> {
    out: &'a mut Output,
    format: Format,
    first: bool,
}

impl<'a> Items<'a> {
    /// Begins the list.
    pub(super) fn start(out: &'a mut Output, format: Format) -> anyhow::Result<Self> {
        match format {
            Format::Ndjson => {}
            Format::Yaml => out.write_all(b"items:")?,
            Format::Json | Format::Table | Format::Wide => out.write_all(b"{\"items\":[")?,
        }
        Ok(Self { out, format, first: true })
    }

    /// The text of one item; any thread may make it.
    pub(super) fn item(format: Format, item: &impl Serialize) -> anyhow::Result<Vec<u8>> {
        Ok(match format {
            Format::Yaml => yaml(&[item])?.into_bytes(),
            Format::Ndjson | Format::Json | Format::Table | Format::Wide => serde_json::to_vec(item)?,
        })
    }

    /// Writes the text of one item.
    pub(super) fn write(&mut self, text: &[u8]) -> anyhow::Result<()> {
        let before: &[u8] = match (self.format, self.first) {
            (Format::Ndjson, _) | (Format::Yaml, false) => b"",
            (_, true) => b"\n",
            (_, false) => b",\n",
        };
        self.first = false;
        self.out.write_all(before)?;
        self.out.write_all(text)?;
        if self.format == Format::Ndjson {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Ends the list; the fields of `tail` follow it.
    pub(super) fn end(self, tail: &impl Serialize) -> anyhow::Result<()> {
        match self.format {
            Format::Ndjson => {
                serde_json::to_writer(&mut self.out.out, tail)?;
                self.out.write_all(b"\n")?;
            }
            Format::Yaml => {
                self.out.write_all(if self.first { b" []\n" } else { b"" })?;
                self.out.write_all(yaml(tail)?.as_bytes())?;
            }
            Format::Json | Format::Table | Format::Wide => {
                let tail = serde_json::to_string(tail)?;
                // The fields of the tail without their opening brace.
                let fields = tail.strip_prefix('{').filter(|f| *f != "}").map_or("}".to_owned(), |f| format!(",{f}"));
                writeln!(self.out, "\n]{fields}")?;
            }
        }
        Ok(())
    }
}

/// A YAML text that ends with a line end.
fn yaml(value: &impl Serialize) -> anyhow::Result<String> {
    let mut text = serde_saphyr::to_string(value).context("cannot write YAML")?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
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
    complain("error", RED, &error_text(error));
}

/// An error with its causes.
pub(super) fn error_text(error: &anyhow::Error) -> String {
    // Some errors repeat their cause: it is told once.
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let refusal = live::refusal(cause);
        let said = refusal.map_or_else(|| cause.to_string(), str::to_owned);
        if !said.is_empty() && !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        // What follows is the same again.
        if refusal.is_some() {
            break;
        }
    }
    text
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
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|e| e.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}
