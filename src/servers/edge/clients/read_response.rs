//! The responses to a get and to a list, written piece by piece.

use std::io::Write;

use axum::{body::Body, http::StatusCode, response::Response};
use bytes::Bytes;
use futures::stream;
use roster_engine::model::Resource;
use tokio::task::yield_now;

use crate::runtime::status_error::StatusError;
use crate::servers::edge::{
    cache::{edge_cache::ObjectList, json_text::json_text, raw_object::ObjectName, watch_cache::VersionedObject},
    encoding::{
        body_encoding::{BodyEncoding, PIECE},
        protobuf::UnencodableObject,
        protobuf_list::ProtobufList,
    },
};

/// One object.
pub(crate) fn object(
    resource: Resource,
    versioned: &VersionedObject,
    encoding: BodyEncoding,
) -> Result<Response, UnencodableObject> {
    let mut body = Vec::with_capacity(versioned.object.size() + 64);
    encoding.write(resource, versioned, &mut body)?;
    Ok(encoding.response(body.into()))
}

/// The object does not exist.
pub(super) fn not_found(resource: Resource, name: &ObjectName) -> StatusError {
    let of_group = if resource.group().is_empty() { String::new() } else { format!(".{}", resource.group()) };
    let message = format!("{}{of_group} {} not found", resource.plural(), json_text(&name.name));
    StatusError::new(StatusCode::NOT_FOUND, "NotFound", message)
}

/// A list. Its objects are held until they are written; others change meanwhile, and these do not.
pub(crate) fn list(pieces: ListPieces) -> Response {
    let encoding = pieces.encoding();
    let pieces = stream::unfold((pieces, false), async |(mut pieces, is_begun)| {
        if is_begun {
            // A socket that takes megabytes at once must not delay others.
            yield_now().await;
        }
        pieces.next_piece().map(|piece| (piece, (pieces, true)))
    });
    encoding.response(Body::from_stream(pieces))
}

/// The pieces of a list.
pub(crate) enum ListPieces {
    Json(JsonList),
    Protobuf(ProtobufList),
}

impl ListPieces {
    fn encoding(&self) -> BodyEncoding {
        match self {
            Self::Json(_) => BodyEncoding::Json,
            Self::Protobuf(_) => BodyEncoding::Protobuf,
        }
    }

    fn next_piece(&mut self) -> Option<Result<Bytes, UnencodableObject>> {
        match self {
            Self::Json(list) => list.next_piece().map(Ok),
            Self::Protobuf(list) => list.next_piece(),
        }
    }
}

/// A list as JSON, in pieces.
pub(crate) struct JsonList {
    text: Vec<u8>,
    objects: std::vec::IntoIter<VersionedObject>,
    is_first: bool,
    is_closed: bool,
}

impl JsonList {
    pub(crate) fn new(resource: Resource, list: ObjectList) -> Self {
        let mut first = Vec::new();
        // Writing to memory does not fail.
        let _ = write!(
            first,
            r#"{{"kind":"{}List","apiVersion":"{}","metadata":{{"resourceVersion":"{}"}},"items":["#,
            resource.kind(),
            resource.api_version(),
            list.version,
        );
        Self { text: first, objects: list.objects.into_iter(), is_first: true, is_closed: false }
    }

    fn next_piece(&mut self) -> Option<Bytes> {
        if self.is_closed {
            return None;
        }
        let mut text = std::mem::take(&mut self.text);
        while text.len() < PIECE {
            let Some(VersionedObject { version, object }) = self.objects.next() else {
                text.extend_from_slice(b"]}\n");
                self.is_closed = true;
                break;
            };
            if !std::mem::take(&mut self.is_first) {
                text.push(b',');
            }
            object.write(version, &mut text);
        }
        Some(text.into())
    }
}
