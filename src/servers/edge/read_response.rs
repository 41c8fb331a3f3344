//! The responses to a get and to a list, written piece by piece.

use std::{convert::Infallible, io::Write};

use axum::{body::Body, http::StatusCode, response::Response};
use bytes::Bytes;
use futures::stream;
use tokio::task::yield_now;

use super::{edge_cache::ObjectList, json_text::json_text, raw_object::ObjectName, watch_cache::VersionedObject};
use crate::{
    model::Resource,
    runtime::status_error::{StatusError, json},
};

/// The size of a piece of a response, about.
pub(super) const PIECE: usize = 16 << 10;

/// One object.
pub(super) fn object(versioned: &VersionedObject) -> Response {
    let mut text = Vec::with_capacity(versioned.object.size() + 64);
    versioned.object.write(versioned.version, &mut text);
    json(text)
}

/// The object does not exist.
pub(super) fn not_found(resource: Resource, name: &ObjectName) -> StatusError {
    let of_group = if resource.group().is_empty() { String::new() } else { format!(".{}", resource.group()) };
    let message = format!("{}{of_group} {} not found", resource.plural(), json_text(&name.name));
    StatusError::new(StatusCode::NOT_FOUND, "NotFound", message)
}

/// A list. Its objects are held until they are written; others change meanwhile, and these do not.
pub(super) fn list(resource: Resource, list: ObjectList) -> Response {
    let mut first = Vec::new();
    // Writing to memory does not fail.
    let _ = write!(
        first,
        r#"{{"kind":"{}List","apiVersion":"{}","metadata":{{"resourceVersion":"{}"}},"items":["#,
        resource.kind(),
        resource.api_version(),
        list.version,
    );
    let body =
        ListBody { text: first, objects: list.objects.into_iter(), is_begun: false, is_first: true, is_closed: false };
    let pieces = stream::unfold(body, async |mut body| {
        if body.is_begun {
            // A socket that takes megabytes at once must not delay others.
            yield_now().await;
        }
        body.is_begun = true;
        body.next_piece().map(|piece| (Ok::<_, Infallible>(piece), body))
    });
    let mut response = json(Vec::new());
    *response.body_mut() = Body::from_stream(pieces);
    response
}

struct ListBody {
    text: Vec<u8>,
    objects: std::vec::IntoIter<VersionedObject>,
    is_begun: bool,
    is_first: bool,
    is_closed: bool,
}

impl ListBody {
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
