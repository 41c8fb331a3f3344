//! Standard output: tables, and JSON or YAML documents.

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    exact_json::{ExactJson, raw_to_yaml, to_yaml},
    printable::PrintableJson,
};
use crate::runtime::pretty_json::PrettyWriter;

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// A table for people.
    #[default]
    Table,
    /// A table with all details.
    Wide,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
    /// One line of JSON for each Service or object, as soon as it is known.
    Ndjson,
}

impl OutputFormat {
    /// Whether the format is for people.
    pub(super) fn is_table(self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }
}

/// Declares the output formats of a command, the default first, each with the format of the output as a whole.
macro_rules! command_formats {
    (
        $(#[$about:meta])*
        $name:ident {
            $(#[$default_help:meta])* $default:ident => $default_format:ident,
            $($(#[$help:meta])* $other:ident => $format:ident,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
        enum $name {
            $(#[$default_help])*
            #[default]
            $default,
            $($(#[$help])* $other,)*
        }

        impl $name {
            fn document(self) -> $crate::cli::output::OutputFormat {
                match self {
                    Self::$default => $crate::cli::output::OutputFormat::$default_format,
                    $(Self::$other => $crate::cli::output::OutputFormat::$format,)*
                }
            }
        }
    };
}
pub(super) use command_formats;

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
    /// Sets it for the whole process.
    pub(super) fn apply(self) {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Standard output, buffered, and with colours where they are enabled.
pub(super) struct Output {
    out: BufWriter<UntilClosed<AutoStream<io::Stdout>>>,
    width: Option<usize>,
}

impl Output {
    /// The standard output of the process, for answers in this format.
    pub(super) fn stdout(format: OutputFormat) -> Self {
        let stdout = io::stdout();
        let terminal = || terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| usize::from(width));
        let variable = std::env::var("COLUMNS").ok();
        let width = screen_width(variable.as_deref(), stdout.is_terminal().then(terminal).flatten());
        // Documents hold no styles, so they bypass the filter that removes styles.
        let out = if format.is_table() { AutoStream::auto(stdout) } else { AutoStream::always(stdout) };
        Self { out: BufWriter::with_capacity(1 << 16, UntilClosed { inner: out, closed: false }), width }
    }

    /// Width of the screen, if the output is for one.
    pub(super) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Prints a value as one JSON or YAML document, or as one line.
    pub(super) fn document(&mut self, format: OutputFormat, value: &impl Serialize) -> anyhow::Result<()> {
        match format {
            OutputFormat::Yaml => self.out.write_all(to_yaml(value)?.as_bytes())?,
            OutputFormat::Ndjson => self.line(value)?,
            OutputFormat::Json | OutputFormat::Table | OutputFormat::Wide => {
                let mut pretty = PrettyWriter::new(&mut self.out);
                write_json(value, &mut pretty)?;
                pretty.flush()?;
                self.out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    fn line(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        write_json(value, &mut self.out)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Prints a text of another program, unchanged.
    pub(super) fn bytes(mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)?;
        self.flush()
    }

    /// Prints objects exactly as they were read: as YAML documents, as one JSON document, or as lines.
    pub(super) fn objects(&mut self, format: OutputFormat, objects: &[&RawValue]) -> anyhow::Result<()> {
        if format == OutputFormat::Yaml {
            for (i, object) in objects.iter().enumerate() {
                self.write_all(if i > 0 { b"---\n" } else { b"" })?;
                self.write_all(raw_to_yaml(object)?.as_bytes())?;
            }
            return Ok(self.flush()?);
        }
        let objects: Vec<ExactJson<'_>> =
            objects.iter().map(|raw| ExactJson { raw, json: true, hidden: None }).collect();
        match (format, objects.as_slice()) {
            (OutputFormat::Ndjson, objects) => objects.iter().try_for_each(|object| self.document(format, object))?,
            (_, [one]) => self.document(format, one)?,
            (_, items) => self.document(format, &ListDocument { api_version: "v1", kind: "List", items })?,
        }
        Ok(self.flush()?)
    }
}

/// Writes a value as JSON in which every character can be seen. One type of writer for all formats: each type of a document is
/// compiled once.
fn write_json(value: &impl Serialize, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut shown = PrintableJson::new(out);
    serde_json::to_writer(&mut shown as &mut dyn Write, value)?;
    Ok(shown.flush()?)
}

/// `v1 List`, as kubectl prints several objects.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListDocument<'a> {
    api_version: &'static str,
    kind: &'static str,
    items: &'a [ExactJson<'a>],
}

/// A stream whose reader may leave early, as `head` does: the rest is computed, because the exit code depends on it, and
/// goes nowhere.
struct UntilClosed<W> {
    inner: W,
    closed: bool,
}

impl<W: Write> UntilClosed<W> {
    fn unless_closed<T>(&mut self, quiet: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.closed {
            return Ok(quiet);
        }
        match write(&mut self.inner) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(quiet)
            }
            done => done,
        }
    }
}

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(bytes.len(), |out| out.write(bytes))
    }
    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed((), Write::flush)
    }
}

/// The width of the screen: the variable `COLUMNS`, which `watch` sets for what it runs, else the size of the terminal.
/// Without either, the output is for a file or another program.
fn screen_width(variable: Option<&str>, terminal: Option<usize>) -> Option<usize> {
    variable.and_then(|text| text.trim().parse().ok()).filter(|width| *width > 0).or(terminal)
}

/// Writes a list item by item, while later items are still computed: `{"items": […], …}` or lines.
pub(super) struct ItemWriter<'a> {
    out: &'a mut Output,
    format: OutputFormat,
    first: bool,
}

impl<'a> ItemWriter<'a> {
    /// Begins the list.
    pub(super) fn start(out: &'a mut Output, format: OutputFormat) -> anyhow::Result<Self> {
        match format {
            OutputFormat::Ndjson => {}
            OutputFormat::Yaml => out.write_all(b"items:")?,
            OutputFormat::Json | OutputFormat::Table | OutputFormat::Wide => out.write_all(b"{\"items\":[")?,
        }
        Ok(Self { out, format, first: true })
    }

    /// The text of one item. Any thread may call it.
    pub(super) fn item(format: OutputFormat, item: &impl Serialize) -> anyhow::Result<Vec<u8>> {
        Ok(match format {
            OutputFormat::Yaml => to_yaml(&[item])?.into_bytes(),
            OutputFormat::Ndjson | OutputFormat::Json | OutputFormat::Table | OutputFormat::Wide => {
                let mut text = Vec::new();
                write_json(item, &mut text)?;
                text
            }
        })
    }

    /// Writes the text of one item.
    pub(super) fn write(&mut self, text: &[u8]) -> anyhow::Result<()> {
        let before: &[u8] = match (self.format, self.first) {
            (OutputFormat::Ndjson, _) | (OutputFormat::Yaml, false) => b"",
            (_, true) => b"\n",
            (_, false) => b",\n",
        };
        self.first = false;
        self.out.write_all(before)?;
        self.out.write_all(text)?;
        if self.format == OutputFormat::Ndjson {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Ends the list and writes the fields of `tail` after it.
    pub(super) fn end(self, tail: &impl Serialize) -> anyhow::Result<()> {
        match self.format {
            OutputFormat::Ndjson => self.out.line(tail)?,
            OutputFormat::Yaml => {
                self.out.write_all(if self.first { b" []\n" } else { b"" })?;
                self.out.write_all(to_yaml(tail)?.as_bytes())?;
            }
            OutputFormat::Json | OutputFormat::Table | OutputFormat::Wide => {
                let mut text = Vec::new();
                write_json(tail, &mut text)?;
                let tail = String::from_utf8(text)?;
                // The fields of the tail without their opening brace.
                let fields = tail.strip_prefix('{').filter(|f| *f != "}").map_or("}".to_owned(), |f| format!(",{f}"));
                writeln!(self.out, "\n]{fields}")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_that_of_the_variable_else_of_the_terminal() {
        for (variable, terminal, want) in [
            (None, None, None),
            (None, Some(80), Some(80)),
            (Some("120"), Some(80), Some(120)),
            (Some(" 60 "), None, Some(60)),
            (Some(""), Some(80), Some(80)),
            (Some("0"), None, None),
            (Some("wide"), Some(80), Some(80)),
        ] {
            assert_eq!(screen_width(variable, terminal), want, "{variable:?} {terminal:?}");
        }
    }
}
