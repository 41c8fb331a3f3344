//! How responses are encoded: JSON, as the cache has it, or protobuf.

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use roster_engine::model::Resource;

use super::protobuf::{ProtobufKind, UnencodableObject};
use crate::runtime::status_error::{JSON, StatusError};
use crate::servers::edge::cache::watch_cache::VersionedObject;

/// The size of a piece of a response, about.
pub(crate) const PIECE: usize = 16 << 10;

const PROTOBUF: HeaderValue = HeaderValue::from_static("application/vnd.kubernetes.protobuf");
const PROTOBUF_EVENTS: HeaderValue = HeaderValue::from_static("application/vnd.kubernetes.protobuf;stream=watch");

/// The encoding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEncoding {
    Json,
    Protobuf,
}

impl BodyEncoding {
    /// A response with an object or a list.
    pub(crate) fn response(self, body: Body) -> Response {
        with_type(body, if self == Self::Json { JSON } else { PROTOBUF })
    }

    /// A response with the events of a watch.
    pub(crate) fn watch_response(self, body: Body) -> Response {
        with_type(body, if self == Self::Json { JSON } else { PROTOBUF_EVENTS })
    }

    /// Appends an object.
    pub(crate) fn write(
        self,
        resource: Resource,
        object: &VersionedObject,
        out: &mut Vec<u8>,
    ) -> Result<(), UnencodableObject> {
        let VersionedObject { version, object } = object;
        if self == Self::Json {
            object.write(*version, out);
            return Ok(());
        }
        let mut json = Vec::with_capacity(object.size() + 64);
        object.write(*version, &mut json);
        protobuf_kind(resource)?.write(&json, out)
    }

    /// Appends an event of a watch with an object.
    pub(crate) fn write_event(
        self,
        resource: Resource,
        event: &str,
        object: &VersionedObject,
        out: &mut Vec<u8>,
    ) -> Result<(), UnencodableObject> {
        let VersionedObject { version, object } = object;
        if self == Self::Json {
            write_json_event(event, |out| object.write(*version, out), out);
            return Ok(());
        }
        let mut json = Vec::with_capacity(object.size() + 64);
        object.write(*version, &mut json);
        protobuf_kind(resource)?.write_event(event, &json, out)
    }

    /// Appends a bookmark, whose object is given as JSON.
    pub(crate) fn write_bookmark(self, resource: Resource, json: &[u8], out: &mut Vec<u8>) {
        match (self, ProtobufKind::of(resource)) {
            (Self::Protobuf, Some(kind)) => {
                // It has only texts, which are texts in the table as well.
                let _ = kind.write_event("BOOKMARK", json, out);
            }
            _ => write_json_event("BOOKMARK", |out| out.extend_from_slice(json), out),
        }
    }

    /// Appends the event by which a watch ends with an error.
    pub(crate) fn write_error(self, status: &StatusError, out: &mut Vec<u8>) {
        let json = status.to_json();
        if self == Self::Json {
            return write_json_event("ERROR", |out| out.extend_from_slice(&json), out);
        }
        // It has only texts and a number, which are the same in the table.
        let _ = ProtobufKind::STATUS.write_event("ERROR", &json, out);
    }
}

fn with_type(body: Body, content_type: HeaderValue) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

fn write_json_event(event: &str, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":""#);
    out.extend_from_slice(event.as_bytes());
    out.extend_from_slice(br#"","object":"#);
    write(out);
    out.extend_from_slice(b"}\n");
}

/// The kind of the objects of a resource. All that are cached have one.
pub(super) fn protobuf_kind(resource: Resource) -> Result<ProtobufKind, UnencodableObject> {
    ProtobufKind::of(resource).ok_or_else(|| UnencodableObject::without_message(resource.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::edge::permissions::CACHED;

    #[test]
    fn everything_that_is_cached_is_written_as_protobuf() {
        for resource in CACHED {
            assert!(protobuf_kind(resource).is_ok(), "{resource:?}");
        }
    }
}
