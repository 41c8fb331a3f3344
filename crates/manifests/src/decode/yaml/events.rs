//! The events of a YAML text, also where the parser wants more indentation than kubectl does.

use std::io;

use granit_parser::{BufferedInput, ErrorKind, Event, Options, Parser, ScanError, Span, StrInput, options};
use roster_engine::model::Interrupt;

use super::error;
use crate::decode::{error::Position, scalar_scan::ScalarScan};

/// What a parser gives next; `None` at the end.
type NextEvent<'a> = Option<Result<(Event<'a>, Span), ScanError>>;

/// The events of a text.
pub(super) struct YamlEvents<'a> {
    text: &'a str,
    parser: EventParser<'a>,
    /// How many events there were.
    count: usize,
    interrupt: Interrupt<'a>,
}

enum EventParser<'a> {
    /// Of the text as it is.
    Given(Box<Parser<'a, StrInput<'a>>>),
    /// Of the text with more spaces in it.
    Indented(Box<Parser<'static, BufferedInput<OwnedChars>>>),
}

impl<'a> YamlEvents<'a> {
    pub(super) fn of(text: &'a str, interrupt: Interrupt<'a>) -> Self {
        let parser = EventParser::Given(Box::new(Parser::new_from_str_with_options(text, without_comments())));
        Self { text, parser, count: 0, interrupt }
    }

    /// The next event, and its place in the text; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<(Event<'a>, Position)>> {
        self.interrupt.check().map_err(io::Error::other)?;
        let mut next = self.parser.next_event();
        if let (Some(Err(e)), EventParser::Given(_)) = (&next, &self.parser)
            && matches!(e.kind(), ErrorKind::InvalidQuotedScalarIndent | ErrorKind::TabInIndentation)
            && let Some(text) = with_indented_quotes(self.text)
        {
            let chars = OwnedChars { text, at: 0 };
            let parser = Parser::new_from_iter_with_options(chars, without_comments());
            self.parser = EventParser::Indented(Box::new(parser));
            // The text is the same up to what is wrong.
            for _ in 0..self.count {
                self.interrupt.check().map_err(io::Error::other)?;
                self.parser.next_event();
            }
            next = self.parser.next_event();
        }
        self.count += 1;
        match next {
            None => Ok(None),
            Some(Ok((event, span))) => Ok(Some((event, place(&span)))),
            Some(Err(e)) => {
                let at = Position { line: e.marker().line(), column: e.marker().col() + 1 };
                Err(io::Error::other(error(at, &e.info())))
            }
        }
    }
}

impl<'a> EventParser<'a> {
    fn next_event(&mut self) -> NextEvent<'a> {
        match self {
            Self::Given(parser) => parser.next_event(),
            Self::Indented(parser) => parser.next_event(),
        }
    }
}

/// The parser holds back comments while it looks ahead, and refuses more than a few.
fn without_comments() -> Options {
    options! { emit_comments: false }
}

/// The characters of a text.
struct OwnedChars {
    text: String,
    at: usize,
}

impl Iterator for OwnedChars {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let next = self.text[self.at..].chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }
}

/// Most bytes that a text gets more, beside as many as it has.
const MAX_INDENTATION: usize = 64 << 10;

/// The text with each line that begins within quotes indented as far as the quote; `None` if there is none, or if the text
/// would be too long. To kubectl, such lines may begin anywhere, and spaces at their beginning have no meaning.
fn with_indented_quotes(text: &str) -> Option<String> {
    let (mut scan, mut column) = (ScalarScan::default(), 0);
    let mut indented = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if scan.is_in_quotes() && !line.trim_end_matches(['\r', '\n']).is_empty() && !is_document_marker(line) {
            indented.extend(std::iter::repeat_n(' ', column));
        }
        scan.line(line, |offset, quote| {
            if quote.is_none() {
                column = offset;
            }
            false
        });
        indented.push_str(line);
        if indented.len() > 2 * text.len() + MAX_INDENTATION {
            return None;
        }
    }
    (indented.len() > text.len()).then_some(indented)
}

/// Whether a line separates documents, so that quotes must not go on behind it.
fn is_document_marker(line: &str) -> bool {
    let rest = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn place(span: &Span) -> Position {
    Position { line: span.start.line(), column: span.start.col() + 1 }
}

#[cfg(test)]
mod tests {
    use super::with_indented_quotes;

    #[test]
    fn quoted_lines_are_indented_within_bounds() {
        let deep = format!("{}a: '{}'\n", " ".repeat(1000), "\nx".repeat(1000));
        for (text, want) in [
            ("a: 1\nb: 'c'\n", None),
            ("a: 'b\nc'\nd: 1\n", Some("a: 'b\n   c'\nd: 1\n")),
            ("a:\n  b: \"c\n\n  d\\\"\ne\"\n", Some("a:\n  b: \"c\n\n       d\\\"\n     e\"\n")),
            ("- !x 'b\n\t\n'\n", Some("- !x 'b\n     \t\n     '\n")),
            ("a: it's\nb: |\n 'x\nc: 1 # 'y\nd: 1\n", None),
            (deep.as_str(), None),
        ] {
            assert_eq!(with_indented_quotes(text).as_deref(), want, "{text}");
        }
    }
}
