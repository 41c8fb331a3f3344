//! From the draft of an address type to the writes (`finalize`).

use crate::{
    engine::{record::Recorder, state::SliceChanges},
    model::Family,
};

use super::{Job, notes, packing::Draft, stored};

/// Turns deletions into updates where something is to be created, and sets the trigger time.
pub(super) fn finalize(
    job: &Job<'_>,
    family: Family,
    draft: Draft<'_>,
    changes: &mut SliceChanges,
    trace: &mut impl Recorder,
) {
    let Draft { mut create, mut update, delete, unchanged, .. } = draft;
    for stored in delete {
        // Slices of an earlier Service of this name are being garbage-collected: their names are of no use.
        match create.pop_if(|_| stored::owned(stored, job.service)) {
            // Without resource version or uid: the update is unconditional.
            Some(mut slice) => {
                slice.meta.name = stored.meta.name.clone();
                update.push(slice);
            }
            None => changes.delete.push(stored.meta.name.clone()),
        }
    }
    if job.service.meta.deleting() {
        // Otherwise the controller would race with the garbage collector.
        notes::not_created(job, family, &create, trace);
        create.clear();
    }
    update.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    for slice in create.iter_mut().chain(&mut update) {
        job.context.set_trigger_time(&mut slice.meta);
    }
    changes.create.append(&mut create);
    changes.update.append(&mut update);
    changes.unchanged.extend(unchanged.into_iter().map(|s| s.meta.name.clone()));
}
