//! The documents of a YAML text up to the limit of their number.

use super::{
    error::{DecodeError, DecodeReason, Position},
    source::Source,
};

/// The text before the line `---` that begins one document too many, and the error there. Millions of documents are not converted
/// only to be counted.
pub(super) fn first_documents<'t>(text: &'t str, source: &Source<'_>) -> (&'t str, Option<DecodeError>) {
    let bytes = text.as_bytes();
    let is_marker = |at: &usize| {
        let is_at_line = *at == 0 || [b'\n', b'\r'].contains(&bytes[*at - 1]);
        is_at_line && bytes.get(*at + 3).is_none_or(u8::is_ascii_whitespace)
    };
    let mut markers = memchr::memmem::find_iter(bytes, "---").filter(is_marker);
    // The first one may be in front of the first document.
    let Some(end) = markers.nth(source.max_objects.saturating_add(1)) else { return (text, None) };
    let at = Position::START.after(&bytes[..end]);
    (&text[..end], Some(at.error(source.name, DecodeReason::TooManyDocuments(source.max_objects))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_before_the_document_that_is_too_many() {
        let source = Source { max_objects: 2, ..Source::file("f") };
        for (text, want) in [
            ("", None),
            ("a: 1\n---\nb: 1\n", None),
            // The first line may stand in front of the first document, and the last one of none.
            ("---\na: 1\n---\nb: 1\n---\n", None),
            ("---\na: 1\n---\nb: 1\n---\n---\n", Some((22, 6))),
            ("a\r---\rb\r---\rc\r---\r---\r", Some((18, 1))),
            ("---\na: 1\n--- # b\nb: ---\n---- c\n--- {}\n---", Some((38, 7))),
        ] {
            let (first, error) = first_documents(text, &source);
            let want = want.unwrap_or((text.len(), 0));
            assert_eq!((first.len(), error.map_or(0, |e| e.line)), want, "{text:?}");
        }
    }
}
