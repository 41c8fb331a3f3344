//! What Kubernetes puts around a message: an envelope that names its kind, and the frames of a watch.

use roster_engine::model::Resource;

use super::{
    encoder::{UnencodableObject, write_message},
    message::Message,
    messages::{
        CORE_ENDPOINTS, CORE_NAMESPACE, CORE_NODE, CORE_SERVICE, DISCOVERY_ENDPOINT_SLICE, META_LIST_META, META_STATUS,
    },
    wire::{varint_size, wrap, write_bytes, write_length},
};

/// What an envelope begins with.
const MAGIC: &[u8; 4] = b"k8s\0";
/// What it ends with: `contentEncoding` and `contentType`, which are empty.
const END: [u8; 4] = [0x1a, 0, 0x22, 0];

/// A kind that is written as protobuf.
#[derive(Clone, Copy, Debug)]
pub(in crate::servers::edge) struct ProtobufKind {
    api_version: &'static str,
    kind: &'static str,
    message: &'static Message,
}

impl ProtobufKind {
    /// The kind of errors.
    pub(in crate::servers::edge) const STATUS: Self = Self { api_version: "v1", kind: "Status", message: &META_STATUS };

    /// The kind of the objects of a resource; `None`: they are not written as protobuf.
    pub(in crate::servers::edge) fn of(resource: Resource) -> Option<Self> {
        let message = match resource {
            Resource::Service => &CORE_SERVICE,
            Resource::Endpoints => &CORE_ENDPOINTS,
            Resource::EndpointSlice => &DISCOVERY_ENDPOINT_SLICE,
            Resource::Namespace => &CORE_NAMESPACE,
            Resource::Node => &CORE_NODE,
            _ => return None,
        };
        Some(Self { api_version: resource.api_version(), kind: resource.kind(), message })
    }

    /// Appends an object, which is given as JSON, in its envelope.
    pub(in crate::servers::edge) fn write(self, json: &[u8], out: &mut Vec<u8>) -> Result<(), UnencodableObject> {
        let mut message = Vec::with_capacity(json.len());
        write_message(self.message, json, &mut message)?;
        write_head(self.api_version, self.kind, message.len(), out);
        out.extend_from_slice(&message);
        out.extend_from_slice(&END);
        Ok(())
    }

    /// Appends an event of a watch with an object, in the frame that says its length.
    pub(in crate::servers::edge) fn write_event(
        self,
        event: &str,
        json: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), UnencodableObject> {
        let mut object = Vec::with_capacity(json.len());
        self.write(json, &mut object)?;
        // `object` is a `RawExtension`, whose only field has the bytes.
        wrap(1, 0, &mut object);
        let size = 2 + event.len() + 1 + varint_size(object.len()) + object.len();
        out.reserve(4 + size);
        // Nothing is near four gigabytes: the text of an object is bounded where it is read.
        out.extend_from_slice(&u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
        write_bytes(1, event.as_bytes(), out);
        write_bytes(2, &object, out);
        Ok(())
    }

    /// Appends an object as an item of a list.
    pub(in crate::servers::edge) fn write_item(self, json: &[u8], out: &mut Vec<u8>) -> Result<(), UnencodableObject> {
        let begin = out.len();
        write_message(self.message, json, out)?;
        wrap(2, begin, out);
        Ok(())
    }

    /// Appends the begin of a list, up to its items, which take `items` bytes.
    pub(in crate::servers::edge) fn write_list_head(
        self,
        version: u64,
        items: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), UnencodableObject> {
        let mut metadata = Vec::new();
        write_message(&META_LIST_META, format!(r#"{{"resourceVersion":"{version}"}}"#).as_bytes(), &mut metadata)?;
        wrap(1, 0, &mut metadata);
        write_head(self.api_version, &format!("{}List", self.kind), metadata.len() + items, out);
        out.extend_from_slice(&metadata);
        Ok(())
    }

    /// Appends the end of a list, after its items.
    pub(in crate::servers::edge) fn write_list_end(out: &mut Vec<u8>) {
        out.extend_from_slice(&END);
    }
}

/// Appends the begin of an envelope, up to the message, which takes `size` bytes.
fn write_head(api_version: &str, kind: &str, size: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    let begin = out.len();
    write_bytes(1, api_version.as_bytes(), out);
    write_bytes(2, kind.as_bytes(), out);
    wrap(1, begin, out);
    write_length(2, size, out);
}
