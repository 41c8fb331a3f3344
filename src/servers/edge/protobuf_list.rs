//! A list as protobuf, in pieces. Its length comes first: all objects are written twice, the first time to be counted.

use bytes::Bytes;
use tokio::task::yield_now;

use super::{
    body_encoding::PIECE,
    protobuf::{ProtobufKind, UnencodableObject},
    watch_cache::VersionedObject,
};

/// How many bytes these objects take as the items of a list. Others run meanwhile.
pub(super) async fn measure_list(
    kind: ProtobufKind,
    objects: &[VersionedObject],
) -> Result<usize, (UnencodableObject, &VersionedObject)> {
    let (mut json, mut item) = (Vec::new(), Vec::new());
    let (mut size, mut since_pause) = (0, 0);
    for object in objects {
        write_item(kind, object, &mut json, &mut item).map_err(|error| (error, object))?;
        size += item.len();
        since_pause += json.len();
        item.clear();
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
pub(super) struct ProtobufList {
    kind: ProtobufKind,
    head: Vec<u8>,
    objects: std::vec::IntoIter<VersionedObject>,
    json: Vec<u8>,
    is_closed: bool,
}

impl ProtobufList {
    /// A list whose items take `size` bytes.
    pub(super) fn new(
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
    pub(super) fn next_piece(&mut self) -> Option<Result<Bytes, UnencodableObject>> {
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
            // It was written before, when it was counted.
            if let Err(error) = write_item(self.kind, &object, &mut self.json, &mut out) {
                self.is_closed = true;
                return Some(Err(error));
            }
        }
        Some(Ok(out.into()))
    }
}
