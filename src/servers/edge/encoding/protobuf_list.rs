//! A list as protobuf, in pieces. Its length comes first, so that its objects are written twice: the first time to be measured.
//!
//! To measure is work before the first byte, for a client that may be gone by then. So the size of an object is remembered: of
//! a second list, only the objects that have changed are measured. And only a few lists are measured at once: callers take turns.

use bytes::Bytes;
use roster_engine::model::Resource;
use tokio::task::yield_now;

use super::{
    body_encoding::{PIECE, protobuf_kind},
    protobuf::{ProtobufKind, UnencodableObject},
    unencodable_objects::UnencodableObjects,
};
use crate::runtime::{places::Places, status_error::StatusError};
use crate::servers::edge::{
    access::{caller::CallerDigest, caller_places},
    cache::{edge_cache::ObjectList, watch_cache::VersionedObject},
    upstream::proxy::too_many,
};

/// How many lists are measured at once, and how many wait for that.
const MEASURED: usize = 4;
const WAITING: usize = 256;

/// The lists of all clients.
#[derive(Debug)]
pub(crate) struct ProtobufLists {
    pub(crate) places: Places,
    unencodable: UnencodableObjects,
}

impl ProtobufLists {
    pub(crate) fn new(unencodable: UnencodableObjects) -> Self {
        Self { places: caller_places::in_turns(MEASURED, WAITING), unencodable }
    }

    /// Measures a list of a caller, once it is its turn. An error if too many lists wait for that.
    pub(crate) async fn begin(
        &self,
        resource: Resource,
        list: ObjectList,
        caller: CallerDigest,
    ) -> Result<ProtobufList, StatusError> {
        let internal = |error: UnencodableObject| StatusError::internal(error.to_string());
        let kind = protobuf_kind(resource).map_err(internal)?;
        let ObjectList { objects, version } = list;
        let size = if let Some(size) = measured_size(&objects) {
            size
        } else {
            let place = caller_places::wait(&self.places, caller).await;
            let _place = place.ok_or_else(|| too_many("lists as protobuf"))?;
            let measured = measure(kind, &objects).await;
            measured.map_err(|(error, object)| self.unencodable.report(resource, object, &error))?
        };
        ProtobufList::new(kind, version, size, objects).map_err(internal)
    }
}

/// How many bytes these objects take as the items of a list, if all of them were measured before.
fn measured_size(objects: &[VersionedObject]) -> Option<usize> {
    objects.iter().map(|object| object.object.item_size(object.version)).sum()
}

/// How many bytes these objects take as the items of a list. Others run meanwhile.
async fn measure(
    kind: ProtobufKind,
    objects: &[VersionedObject],
) -> Result<usize, (UnencodableObject, &VersionedObject)> {
    let (mut json, mut item) = (Vec::new(), Vec::new());
    let (mut size, mut since_pause) = (0, 0);
    for object in objects {
        if let Some(of_item) = object.object.item_size(object.version) {
            size += of_item;
            continue;
        }
        item.clear();
        write_item(kind, object, &mut json, &mut item).map_err(|error| (error, object))?;
        object.object.remember_item_size(object.version, item.len());
        size += item.len();
        since_pause += json.len();
        if since_pause >= PIECE {
            since_pause = 0;
            yield_now().await;
        }
    }
    Ok(size)
}

fn write_item(
    kind: ProtobufKind,
    versioned: &VersionedObject,
    json: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), UnencodableObject> {
    json.clear();
    versioned.object.write(versioned.version, json);
    kind.write_item(json, out)
}

/// The pieces of a list.
pub(crate) struct ProtobufList {
    kind: ProtobufKind,
    head: Vec<u8>,
    objects: std::vec::IntoIter<VersionedObject>,
    json: Vec<u8>,
    is_closed: bool,
}

impl ProtobufList {
    /// A list whose items take `size` bytes.
    fn new(
        kind: ProtobufKind,
        version: u64,
        size: usize,
        objects: Vec<VersionedObject>,
    ) -> Result<Self, UnencodableObject> {
        let mut head = Vec::new();
        kind.write_list_head(version, size, &mut head)?;
        Ok(Self { kind, head, objects: objects.into_iter(), json: Vec::new(), is_closed: false })
    }

    /// The next piece; `None`: all was written.
    pub(crate) fn next_piece(&mut self) -> Option<Result<Bytes, UnencodableObject>> {
        if self.is_closed {
            return None;
        }
        let mut out = std::mem::take(&mut self.head);
        while out.len() < PIECE {
            let Some(object) = self.objects.next() else {
                ProtobufKind::write_list_end(&mut out);
                self.is_closed = true;
                break;
            };
            // It was written before, when it was measured.
            if let Err(error) = write_item(self.kind, &object, &mut self.json, &mut out) {
                self.is_closed = true;
                return Some(Err(error));
            }
        }
        Some(Ok(out.into()))
    }
}
