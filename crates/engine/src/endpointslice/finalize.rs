//! The changes that the draft of an address type becomes (`finalize`).

use crate::{model::Family, record::Recorder, state::SliceChanges};

use super::{draft::SliceDraft, job::SliceJob, owned_slices, records};

/// Turns deletions into updates where something is to be created, and sets the trigger time.
pub(super) fn finalize(
    job: &SliceJob<'_>,
    family: Family,
    draft: SliceDraft<'_>,
    changes: &mut SliceChanges,
    recorder: &mut impl Recorder,
) {
    let SliceDraft { mut create, mut update, delete, unchanged, .. } = draft;
    for stored in delete {
        // Slices of an earlier Service of this name will be garbage-collected: their names cannot be reused.
        match create.pop_if(|_| owned_slices::owned(stored, job.service)) {
            // Without resource version or uid: the update is unconditional.
            Some(mut slice) => {
                slice.meta.name = stored.meta.name.clone();
                update.push(slice);
            }
            None => changes.delete.push(stored.meta.name.clone()),
        }
    }
    if job.service.meta.deleting() {
        // Creating slices would race with the garbage collector.
        records::not_created(job, family, &create, recorder);
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
