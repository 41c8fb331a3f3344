//! The text of a whole input, as JSON.

use std::{borrow::Cow, io::Read};

use super::{
    comment_template::is_template_in_comments,
    error::{DecodeError, DecodeReason, Position, read_error},
    first_documents::first_documents,
    input::{self, BYTE_ORDER_MARK, PeekedText},
    source::{InputFormat, Source, TextFormat},
    yaml::{BrokenDocument, documents_as_json, yaml_as_json},
};

/// The whole input as JSON: decompressed, and converted from YAML. Lines are preserved.
pub fn text(input: impl Read + Send, source: &Source<'_>) -> Result<String, DecodeError> {
    let (text, format) = whole_text(input, source)?;
    if format == TextFormat::Json {
        return Ok(text);
    }
    yaml_as_json(&text, source)
}

/// The readable part of an input, as JSON.
#[derive(Debug)]
pub struct ReadableText<'t> {
    /// The whole JSON, or the YAML documents that can be read.
    pub json: Cow<'t, str>,
    /// The format in which it is written: that of YAML in flow style is JSON.
    pub format: InputFormat,
    /// The YAML documents that cannot be read.
    pub broken: Vec<BrokenDocument>,
    /// Where reading ends because there are too many documents.
    pub limit: Option<DecodeError>,
    /// Whether it is a template that is YAML as well.
    pub is_template: bool,
}

/// The same without the YAML documents that cannot be read, and these.
pub fn readable_text(input: impl Read + Send, source: &Source<'_>) -> Result<ReadableText<'static>, DecodeError> {
    let (text, format) = whole_text(input, source)?;
    if format == TextFormat::Json {
        Ok(ReadableText::json(text.into()))
    } else {
        Ok(ReadableText::yaml(&text, format, source))
    }
}

/// The same of a text in memory. JSON is not copied.
pub fn readable_text_of<'t>(text: &'t str, source: &Source<'_>) -> Result<ReadableText<'t>, DecodeError> {
    if text.len() > source.max_object_bytes {
        return Err(too_large(source));
    }
    let format = input::format_of_text(text, source)?;
    if format == TextFormat::Json {
        return Ok(ReadableText::json(text.strip_prefix('\u{feff}').unwrap_or(text).into()));
    }
    source.check_yaml(text)?;
    Ok(ReadableText::yaml(text, format, source))
}

impl<'t> ReadableText<'t> {
    fn json(json: Cow<'t, str>) -> Self {
        Self { json, format: InputFormat::Json, broken: Vec::new(), limit: None, is_template: false }
    }

    fn yaml(text: &str, format: TextFormat, source: &Source<'_>) -> Self {
        let (first, limit) = first_documents(text, source);
        let (json, broken) = documents_as_json(first, source);
        let format = if format == TextFormat::Yaml { InputFormat::Yaml } else { InputFormat::Json };
        Self { json: json.into(), format, broken, limit, is_template: is_template_in_comments(first) }
    }
}

fn too_large(source: &Source<'_>) -> DecodeError {
    let limit = u64::try_from(source.max_object_bytes).unwrap_or(u64::MAX);
    Position::START.error(source.name, DecodeReason::TooLarge(limit))
}

/// The decompressed text of an input, and its format.
fn whole_text(input: impl Read + Send, source: &Source<'_>) -> Result<(String, TextFormat), DecodeError> {
    let limit = u64::try_from(source.max_object_bytes).unwrap_or(u64::MAX);
    let PeekedText { format, reader, .. } = input::peek_text(input::open(input, source.max_bytes), source)?;
    let json = format == TextFormat::Json;
    let mut bytes = Vec::new();
    if let Err(e) = reader.take(limit.saturating_add(1)).read_to_end(&mut bytes) {
        return Err(read_error(e, Position::START.after(&bytes), source.name));
    }
    if bytes.len() > source.max_object_bytes {
        return Err(too_large(source));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = Position::START.after(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        let why = input::NOT_UTF8.to_owned();
        at.error(source.name, if json { DecodeReason::Json(why) } else { DecodeReason::Yaml(why) })
    })?;
    if !json {
        source.check_yaml(&text)?;
    }
    let has_mark = json && text.as_bytes().starts_with(BYTE_ORDER_MARK);
    Ok((if has_mark { text[BYTE_ORDER_MARK.len()..].to_owned() } else { text }, format))
}
