//! The bytes of an input: decompressed, limited, and with their format detected.

use std::{
    io::{self, Read},
    path::Path,
};

use flate2::read::MultiGzDecoder;
use roster_engine::model::json::message::message;
use serde::de::IgnoredAny;

use super::{
    any_reader::{AnyReader, fill},
    error::{DecodeError, DecodeReason, OverLimit, Position},
    first_documents::first_documents,
    second_pass::offset_of,
    source::{InputFormat, Source, TextFormat},
    utf16::{Utf16Reader, byte_order},
    yaml::YamlAsJson,
};

/// An input that is text.
pub(super) struct PeekedText<'a> {
    pub(super) format: TextFormat,
    /// Whether it begins with a byte order mark.
    pub(super) has_mark: bool,
    /// The whole of it.
    pub(super) reader: AnyReader<'a>,
}

/// Decompresses gzip if the input starts with its magic number, converts UTF-16 if it starts with a byte order mark, and
/// fails after `limit` bytes.
pub(super) fn open<'a>(input: impl Read + Send + 'a, limit: Option<u64>) -> AnyReader<'a> {
    let (start, mut input) = peek(Box::new(input), 2);
    if start == [0x1f, 0x8b] {
        input = Box::new(MultiGzDecoder::new(input));
    }
    let (start, mut input) = peek(input, 2);
    if let Some(order) = byte_order(&start) {
        input = Box::new(Utf16Reader::new(input, order));
    }
    match limit {
        Some(limit) => Box::new(LimitedReader { input, limit, left: limit }),
        None => input,
    }
}

/// How much of an input shows whether it is text.
const START: usize = 512;

/// How much of an input shows its format: what people write is seldom longer.
const PEEKED: usize = 64 << 10;

/// The format of an input, and the whole input. An error means that it is not text: a device or an archive is not read to
/// its end. What begins as JSON is read as far as it is JSON, or as a whole if it may be YAML in flow style.
pub(super) fn peek_text<'a>(mut input: AnyReader<'a>, source: &Source<'_>) -> Result<PeekedText<'a>, DecodeError> {
    let mut start = vec![0; PEEKED];
    let (got, mut failed) = fill(&mut input, &mut start);
    start.truncate(got);
    let mut whole = got < PEEKED;
    if !whole && may_be_flow_style(&start, source) {
        let most = source.max_object_bytes.saturating_sub(PEEKED);
        let rest = (&mut input).take(u64::try_from(most).unwrap_or(u64::MAX)).read_to_end(&mut start);
        whole = matches!(rest, Ok(count) if count < most);
        failed = rest.err();
    }
    let format = format_of_start(&start, whole, source)?;
    let has_mark = start.starts_with(BYTE_ORDER_MARK);
    Ok(PeekedText { format, has_mark, reader: put_back(start, failed, input) })
}

/// Where and why the start of an input is not text.
fn not_text(start: &[u8]) -> Option<(usize, &'static str)> {
    if let Some(at) = start.iter().position(|byte| *byte == 0) {
        return Some((at, "it has a NUL character; UTF-16 needs a byte order mark"));
    }
    match std::str::from_utf8(start) {
        // The last character may be incomplete.
        Err(error) if error.error_len().is_some() => Some((error.valid_up_to(), NOT_UTF8)),
        _ => None,
    }
}

/// What is wrong with text of another encoding.
pub(super) const NOT_UTF8: &str = "not UTF-8";

/// The first `count` bytes (fewer if the input is shorter), and the whole input.
fn peek(mut input: AnyReader<'_>, count: usize) -> (Vec<u8>, AnyReader<'_>) {
    let mut start = vec![0; count];
    let (got, failed) = fill(&mut input, &mut start);
    start.truncate(got);
    (start.clone(), put_back(start, failed, input))
}

/// The whole input again, after its start was read, and perhaps an error.
fn put_back(start: Vec<u8>, failed: Option<io::Error>, input: AnyReader<'_>) -> AnyReader<'_> {
    Box::new(io::Cursor::new(start).chain(FailOnce(failed)).chain(input))
}

/// A reader that fails once, if it has an error, and is empty otherwise.
struct FailOnce(Option<io::Error>);

impl Read for FailOnce {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

struct LimitedReader<'a> {
    input: AnyReader<'a>,
    limit: u64,
    left: u64,
}

impl Read for LimitedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            // An input of exactly the limit is allowed.
            return match self.input.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(OverLimit(self.limit))),
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let got = self.input.read(&mut buffer[..most])?;
        self.left = self.left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX));
        Ok(got)
    }
}

/// The UTF-8 byte order mark.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The format of a text in memory, as [`peek_text`] finds it in what follows its white space.
pub(super) fn format_of_text(text: &str, source: &Source<'_>) -> Result<TextFormat, DecodeError> {
    let space = text.len() - without_mark(text.as_bytes()).trim_ascii_start().len();
    let end = text.len().min(space + PEEKED);
    let start = &text.as_bytes()[..end];
    let whole = end == text.len() || may_be_flow_style(start, source);
    format_of_start(if whole { text.as_bytes() } else { start }, whole, source)
}

/// The format of a text that begins with `start`, if it is text.
fn format_of_start(start: &[u8], whole: bool, source: &Source<'_>) -> Result<TextFormat, DecodeError> {
    let format = format_of(start, whole, source);
    let why = if format == TextFormat::Json { None } else { not_text(&start[..start.len().min(START)]) };
    match why {
        None => Ok(format),
        Some((at, why)) => {
            Err(Position::START.after(&start[..at]).error(source.name, DecodeReason::Yaml(why.to_owned())))
        }
    }
}

/// The format of a text that begins with `start`. `whole` says that there is no more.
///
/// Flow style begins as JSON does. kubectl reads as YAML what is not JSON: so does this if the whole text is YAML. A text that is
/// neither is broken JSON, unless its name and its first fault say that it is meant to be YAML.
pub(super) fn format_of(start: &[u8], whole: bool, source: &Source<'_>) -> TextFormat {
    let begins_as_json = begins_as_json(start);
    match source.format {
        InputFormat::Json => TextFormat::Json,
        InputFormat::Auto if begins_as_json && !is_flow_style(start, whole, source) => TextFormat::Json,
        _ if begins_as_json => TextFormat::FlowYaml,
        _ => TextFormat::Yaml,
    }
}

/// Whether the rest of a text decides if it is YAML in flow style. Programs print much JSON: it is not held in memory.
fn may_be_flow_style(start: &[u8], source: &Source<'_>) -> bool {
    if source.format != InputFormat::Auto || !begins_as_json(start) || is_named_json(source.name) {
        return false;
    }
    let is_broken = || valid_text(start).is_some_and(|text| fault(text).is_some_and(|(error, _)| !error.is_eof()));
    is_named_yaml(source.name) || is_broken()
}

/// Whether a text begins with a bracket. A template often begins with `{{` or `{%`, and JSON never does.
fn begins_as_json(start: &[u8]) -> bool {
    match without_mark(start).trim_ascii_start() {
        [b'{', b'{' | b'%', ..] => false,
        start => matches!(start, [b'{' | b'[', ..]),
    }
}

/// Whether a text that begins with a bracket is YAML.
fn is_flow_style(start: &[u8], whole: bool, source: &Source<'_>) -> bool {
    let name = source.name;
    // What is wrong with JSON is reported in its words.
    if is_named_json(name) {
        return false;
    }
    let Some(text) = valid_text(start).filter(|text| !text.contains('\0')) else { return false };
    let Some((error, end)) = fault(text) else { return false };
    // YAML would take a comment of JavaScript for a key. kubectl refuses it.
    let has_comment =
        ["//", "/*"].into_iter().any(|mark| text.as_bytes()[offset_of(&error, text)..].starts_with(mark.as_bytes()));
    // What is too long for YAML is not read to find out: one that is meant to be YAML is refused.
    let is_too_long = source.check_yaml(text).is_err();
    (is_named_yaml(name) || is_too_long) && is_of_yaml(&error, end, text)
        || whole && !has_comment && !is_too_long && is_yaml(first_documents(text, source).0, source)
}

/// Whether a name ends in `.json`.
pub(super) fn is_named_json(name: &str) -> bool {
    extension(name) == Some("json")
}

fn is_named_yaml(name: &str) -> bool {
    matches!(extension(name), Some("yaml" | "yml"))
}

fn extension(name: &str) -> Option<&str> {
    Path::new(name.strip_suffix(".gz").unwrap_or(name)).extension()?.to_str()
}

/// The start of a text without its byte order mark. The last character may be incomplete.
fn valid_text(start: &[u8]) -> Option<&str> {
    let start = without_mark(start);
    match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&start[..error.valid_up_to()]).ok(),
        text => text.ok(),
    }
}

/// The first fault of values that follow each other as JSON, and where the last value before it ends.
fn fault(text: &str) -> Option<(serde_json::Error, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let error = values.find_map(Result::err)?;
    Some((error, values.byte_offset()))
}

/// Whether a fault of JSON is a key without quotes or in single ones; or a line of YAML between values, a separator or a
/// comment. JSON with other faults is more likely to be broken.
fn is_of_yaml(error: &serde_json::Error, end: usize, text: &str) -> bool {
    let at = offset_of(error, text);
    let is_key = message(error) == "key must be a string"
        && text.as_bytes().get(at).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'\'');
    let between = text.get(end..).unwrap_or_default().trim_ascii_start();
    is_key || between.starts_with("---") || between.starts_with('#')
}

/// Whether a whole text is YAML.
fn is_yaml(text: &str, source: &Source<'_>) -> bool {
    io::copy(&mut YamlAsJson::new(text, source.interrupt), &mut io::sink()).is_ok()
}

fn without_mark(start: &[u8]) -> &[u8] {
    start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_shows_the_format() {
        use TextFormat::{FlowYaml, Json, Yaml};
        for (name, start, want) in [
            ("f", "{}", Json),
            ("f", " \n[", Json),
            ("f", "\u{feff}{ \"a\"", Json),
            ("f", "{\"{{\": 1}", Json),
            ("f", "{{- if .Values.web }}", Yaml),
            ("f", "\u{feff} {% if web %}", Yaml),
            ("f", "{", Json),
            ("f", "a: {}", Yaml),
            ("f", "", Yaml),
            // Flow style.
            ("f", "{a: 1}", FlowYaml),
            ("f", "\u{feff}{a: 1}", FlowYaml),
            ("f", "{\"a\": [{b: 1}]}\n", FlowYaml),
            ("f", "[{a: 1},]", FlowYaml),
            ("f", "{\"a\": 1}\n---\n{\"a\": 2}\n", FlowYaml),
            ("f", "{\"a\": 1} # one\n", FlowYaml),
            ("f", "{\"a\": 1}{\"a\": 2}", Json),
            ("f", "{'a': 1}", FlowYaml),
            ("f", "{\n# one\n\"a\": 1}", FlowYaml),
            ("f", "{\"a\": 1, # one\n\"b\": 2}", FlowYaml),
            ("f", "{\"a\": b}", FlowYaml),
            ("f", "[{\"a\": 1},]", FlowYaml),
            ("f.yaml", "{\"a\": tru}", FlowYaml),
            // A key without a value.
            ("f.yaml", "{\"a\": 1,\n 5}", FlowYaml),
            // Broken JSON, which is not YAML either.
            ("f.yaml", "{ // a\n\"a\": 1}", Json),
            ("f.yaml", "{\"a\": 1,\n: 5]", Json),
            // Neither: the name says which error is of use.
            ("f", "{a: [1}", Json),
            ("f.yaml", "{a: [1}", FlowYaml),
            ("f.yml.gz", "{a: [1}", FlowYaml),
            ("f.json", "{a: 1}", Json),
            ("f.json.gz", "{a: 1}", Json),
            ("f.yaml", "{\"a\": [1", Json),
            ("f.yaml", "{a\0", Json),
        ] {
            assert_eq!(format_of(start.as_bytes(), true, &Source::file(name)), want, "{name} {start:?}");
        }
        let long = format!("{{\"a\": {}", "1".repeat(PEEKED));
        for (name, start, want) in [("f", &long[..PEEKED], Json), ("f", "{a: 1", Json), ("f.yaml", "{a: 1", FlowYaml)] {
            assert_eq!(format_of(start.as_bytes(), false, &Source::file(name)), want, "{name}");
        }
    }

    #[test]
    fn what_does_not_begin_as_text_is_not_read() {
        let source = Source::file("f");
        let long = [&[b'a'; START - 1][..], "é".as_bytes()].concat();
        for (bytes, want) in [
            (&b"a: 1"[..], None),
            (&long, None),
            (b"", None),
            (b"a:\n\0", Some("f:2:1: not YAML: it has a NUL character; UTF-16 needs a byte order mark")),
            (b"{\0\xff", None),
            (b"a\xff", Some("f:1:2: not YAML: not UTF-8")),
        ] {
            let read = peek_text(Box::new(bytes), &source);
            let all = read.map(|PeekedText { mut reader, .. }| {
                let mut all = Vec::new();
                reader.read_to_end(&mut all).map(|_| all).unwrap()
            });
            assert_eq!(all.map_err(|e| e.to_string()), want.map_or(Ok(bytes.to_vec()), |why| Err(why.to_owned())));
        }
        // An input without end.
        assert!(peek_text(Box::new(io::repeat(0)), &source).is_err());
    }
}
