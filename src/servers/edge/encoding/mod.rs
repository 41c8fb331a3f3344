//! How responses are encoded: JSON, as the cache has it, or protobuf.

pub(super) mod body_encoding;
pub(super) mod protobuf;
pub(super) mod protobuf_list;
pub(super) mod unencodable_objects;
