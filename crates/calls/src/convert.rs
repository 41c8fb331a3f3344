//! Objects in another version, or as another kind.

use roster_admission::convert::{self, ConversionTarget};
use roster_manifests::decode::{self, Document};

use crate::{Answer, PostedBody, PreparedCall, Problem, input, params::read_pairs};

pub(crate) fn prepare(query: &str) -> Result<PreparedCall, Problem> {
    let to = target(query)?;
    Ok(PreparedCall::new(move |posted| of_body(posted, to)))
}

fn of_body(posted: &PostedBody<'_>, to: ConversionTarget) -> Result<Answer, Problem> {
    let (text, source) = input::text(posted)?;
    let json = input::json(posted, text)?;
    // A document that is `null` is not an object, and not an error.
    let documents: Vec<Document<'_>> = decode::documents(&json, &source).map_err(|e| input::decode_error(&e))?;
    posted.charge(memory_of(&documents, to))?;
    let objects: Vec<_> = documents.iter().map(|d| d.raw.as_ref()).collect();
    Answer::json(&convert::convert_objects_until(&objects, to, posted.interrupt)?)
}

/// About what a conversion takes besides the text: the references to the objects, its output, and the parts of the objects
/// that are open at once. For Endpoints these are all slices.
fn memory_of(documents: &[Document<'_>], to: ConversionTarget) -> usize {
    let mut sum = size_of_val(documents);
    let mut most = 0;
    for document in documents {
        let text = document.raw.get();
        sum += text.len();
        // A longer one is not opened.
        if text.len() <= convert::MAX_TEXT {
            let opened = memory_of_parts(text);
            most = opened.max(most);
            sum += if to == ConversionTarget::Endpoints { opened } else { 0 };
        }
    }
    sum + most
}

/// About what the members and elements of an opened object take.
fn memory_of_parts(text: &str) -> usize {
    const OBJECT: usize = 640;
    const LIST: usize = 128;
    let count = |byte: u8| memchr::memchr_iter(byte, text.as_bytes()).count();
    OBJECT * count(b'{') + LIST * count(b'[')
}

/// The value of the only parameter.
fn target(query: &str) -> Result<ConversionTarget, Problem> {
    let mut to = None;
    read_pairs(query, &[&["to"]], |_, value| {
        to = Some(value.parse()?);
        Ok(())
    })?;
    to.ok_or_else(|| Problem::of_parameter("to", "the parameter is missing".to_owned()))
}
