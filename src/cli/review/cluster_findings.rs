//! The findings about several objects together, of files that describe one cluster: Services and workloads, and what is
//! stored of them.

use std::{cell::Cell, collections::BTreeMap};

use roster_engine::{
    model::{
        ObjectKey,
        json::raw::{is_name_generated, object_key},
    },
    phrase::counted,
    reason::{Finding, Reason},
};
use roster_manifests::{
    decode::{self, Document},
    inventory::{Inventory, workloads::UnreadObjects},
    lint::{CustomizedObject, OverlayPlace, Overlays, PatchRoom, scopes},
};

use super::{
    file_finding::{FileFinding, FileObject},
    finding_room::FindingRoom,
    findings_of_overlays::FindingsOfOverlays,
    reviewed_object::{ClusterNumber, ReviewedObject, placed},
    source_args::SourceArgs,
    stale_findings,
};
use crate::cli::overlay_objects;

/// Kinds of which directories hold several versions, one for each cluster.
const COPIED: [&str; 8] =
    ["Service", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"];

/// Most objects, and bytes of them, that are read again for overlays and for versions of one directory, each time that they are: a
/// few megabytes of kustomizations could otherwise take hours.
const MOST_READ: (usize, usize) = (1 << 20, 1 << 30);

/// Adds the findings to the objects that they are about. `inventory` has all objects. Returns what is not checked, because the
/// objects have too many combinations.
pub(super) fn add<'a>(
    items: &mut [ReviewedObject<'a>],
    sources: &SourceArgs,
    inventory: &Inventory,
    overlays: &Overlays,
) -> anyhow::Result<Vec<FileFinding<'a>>> {
    let mut groups = groups(&compared(items), sources);
    // What another object replaces is in no cluster.
    for place in report_duplicates(items, sources, overlays) {
        groups[place] = NO_GROUP;
    }
    let comparison =
        Comparison { sources, unread: &inventory.unread.of_text(), left: Cell::new(MOST_READ), skipped: Cell::new(0) };
    let found = if overlays.variants() > 1 || overlays.has_patches() {
        comparison.of_overlays(items, &groups, overlays)?
    } else {
        note_clusters(items, 0, groups.iter().copied().enumerate());
        let of_all = inventory.workload_findings(&sources.defaults());
        comparison.of_groups(&compared(items), &groups, &of_all)?
    };
    let mut room = FindingRoom::default();
    for (item, found) in items.iter_mut().zip(&found) {
        let before = item.count();
        item.add_workload_findings(found.iter());
        item.keep_within(&mut room, before);
    }
    comparison.add_stale(items, &groups, inventory)?;
    Ok(comparison.not_checked(items, overlays))
}

/// How objects are compared with each other.
struct Comparison<'s> {
    sources: &'s SourceArgs,
    /// Where text cannot be read.
    unread: &'s UnreadObjects,
    /// How many objects, and bytes of them, may still be read.
    left: Cell<(usize, usize)>,
    /// How many comparisons are left out, because too many objects would be read.
    skipped: Cell<usize>,
}

/// An object that is compared with others.
#[derive(Clone, Copy)]
struct ComparedItem<'r, 'a> {
    item: &'r ReviewedObject<'a>,
    /// What it is decoded to in one overlay; `None` if it is the same everywhere.
    decoded: Option<&'r DecodedObject>,
}

impl ComparedItem<'_, '_> {
    /// The key by which findings name it.
    fn key(&self) -> &ObjectKey {
        self.decoded.map_or(&self.item.key, |decoded| &decoded.key)
    }
}

/// What an object is decoded to, and its key, which patches may have changed.
struct DecodedObject {
    key: ObjectKey,
    inventory: Inventory,
}

/// What objects are decoded to, in the order of their places and of the overlays that change them.
type DecodedObjects = Vec<((usize, Option<OverlayPlace>), DecodedObject)>;

/// The objects as they are everywhere.
fn compared<'r, 'a>(items: &'r [ReviewedObject<'a>]) -> Vec<ComparedItem<'r, 'a>> {
    items.iter().map(|item| ComparedItem { item, decoded: None }).collect()
}

impl Comparison<'_> {
    /// Whether some objects may be read once more.
    fn may_read(&self, items: &[ComparedItem<'_, '_>]) -> bool {
        let bytes = items.iter().map(|one| one.item.document.raw.get().len()).sum();
        let (objects, left) = self.left.get();
        let left = objects.checked_sub(items.len()).zip(left.checked_sub(bytes));
        match left {
            Some(left) => self.left.set(left),
            None => self.skipped.set(self.skipped.get() + 1),
        }
        left.is_some()
    }

    /// The finding that not all combinations are checked, at the first object that has some.
    fn not_checked<'a>(&self, items: &[ReviewedObject<'a>], overlays: &Overlays) -> Vec<FileFinding<'a>> {
        if self.skipped.get() == 0 {
            return Vec::new();
        }
        let Some(first) = items.iter().find(|item| overlays.variants_of(item.file).len() > 1).or(items.first()) else {
            return Vec::new();
        };
        let message = format!(
            "not checked: what does not fit together in {} of overlays and directories with versions of the same objects; more than {} \
             objects or {} GiB of them would be compared",
            counted(self.skipped.get(), "more combination"),
            MOST_READ.0,
            MOST_READ.1 >> 30
        );
        vec![FileFinding::not_checked(FileObject::of(first.file, &first.document, &first.key), message)]
    }

    /// The findings about each object, of which `groups` has the groups. `of_all` are those about all objects together.
    fn of_groups(
        &self,
        items: &[ComparedItem<'_, '_>],
        groups: &[usize],
        of_all: &[Finding],
    ) -> anyhow::Result<Vec<Vec<Finding>>> {
        let mut found = vec![Vec::new(); items.len()];
        if groups.iter().all(|group| *group == 0) {
            self.attach(&(0..items.len()).collect::<Vec<_>>(), items, of_all, &mut found);
            return Ok(found);
        }
        // What one group lacks may be in another one that has no copy of it.
        let by_group = by_group(groups);
        let mut certain: Vec<(Reason, &ObjectKey)> = of_all.iter().map(|f| (f.code, &f.object)).collect();
        certain.sort_unstable();
        let is_certain = |f: &Finding| {
            const OF_ABSENCE: [Reason; 4] = [
                Reason::SelectorMatchesNoTemplate,
                Reason::GoverningServiceMissing,
                Reason::SubdomainServiceMissing,
                Reason::ScaleTargetMissing,
            ];
            by_group.len() == 1 || !OF_ABSENCE.contains(&f.code) || certain.binary_search(&(f.code, &f.object)).is_ok()
        };
        for places in by_group.values() {
            let of_group: Vec<ComparedItem<'_, '_>> = places.iter().map(|place| items[*place]).collect();
            if !self.may_read(&of_group) {
                continue;
            }
            let mut findings = self.inventory(&of_group)?.workload_findings(&self.sources.defaults());
            findings.retain(is_certain);
            self.attach(places, items, &findings, &mut found);
        }
        Ok(found)
    }

    /// The findings about each object beside those of each overlay in turn, with the labels that this overlay adds: never beside
    /// two overlays of one base.
    fn of_overlays(
        &self,
        items: &mut [ReviewedObject<'_>],
        groups_of_all: &[usize],
        overlays: &Overlays,
    ) -> anyhow::Result<Vec<Vec<Finding>>> {
        let mut of_variants: Vec<FindingsOfOverlays> = items.iter().map(|_| FindingsOfOverlays::default()).collect();
        let decoded = self.decoded(items, overlays)?;
        for (variant, mut places) in places_of_variants(items, overlays).into_iter().enumerate() {
            places.retain(|place| groups_of_all[*place] != NO_GROUP);
            let in_variant = |place: &usize| {
                let item = &items[*place];
                let decoded_in = |overlay: Option<OverlayPlace>| {
                    let at = decoded.binary_search_by_key(&(*place, overlay), |(at, _)| *at).ok()?;
                    Some(&decoded[at].1)
                };
                let of_overlay = overlays.overlay_of(item.file, variant);
                let of_overlay = of_overlay.and_then(|overlay| decoded_in(Some(overlay)));
                ComparedItem { item, decoded: of_overlay.or_else(|| decoded_in(None)) }
            };
            let some: Vec<ComparedItem<'_, '_>> = places.iter().map(in_variant).collect();
            if !self.may_read(&some) {
                // Nothing is known of this one: it has no part in what is missing, either.
                for place in places {
                    of_variants[place].skip(variant);
                }
                continue;
            }
            let groups = groups(&some, self.sources);
            let of_all = self.inventory(&some)?.workload_findings(&self.sources.defaults());
            let found = self.of_groups(&some, &groups, &of_all)?;
            let written = self.of_written(items, &places, &found, overlays)?;
            note_clusters(items, variant, places.iter().copied().zip(groups));
            for (at, (place, found)) in places.into_iter().zip(found).enumerate() {
                of_variants[place].add(variant, found, written.as_ref().map(|written| written[at].as_slice()));
            }
        }
        let finished = of_variants.into_iter().zip(items);
        Ok(finished.map(|(found, item)| found.finish(overlays, item.file)).collect())
    }

    /// The findings about the objects at some places as they are written, without patches; `None` if there is nothing to compare
    /// with them: no patch, or nothing found with patches.
    fn of_written(
        &self,
        items: &[ReviewedObject<'_>],
        places: &[usize],
        patched: &[Vec<Finding>],
        overlays: &Overlays,
    ) -> anyhow::Result<Option<Vec<Vec<Finding>>>> {
        if !overlays.are_patched() || patched.iter().all(Vec::is_empty) {
            return Ok(None);
        }
        let written = |place: &usize| ComparedItem { item: &items[*place], decoded: None };
        let written: Vec<ComparedItem<'_, '_>> = places.iter().map(written).collect();
        if !self.may_read(&written) {
            return Ok(None);
        }
        let groups = groups(&written, self.sources);
        let of_all = self.inventory(&written)?.workload_findings(&self.sources.defaults());
        self.of_groups(&written, &groups, &of_all).map(Some)
    }

    /// What the objects are decoded to: in each overlay that changes them, and in all others.
    fn decoded(&self, items: &[ReviewedObject<'_>], overlays: &Overlays) -> anyhow::Result<DecodedObjects> {
        let (mut all, mut room) = (DecodedObjects::new(), PatchRoom::default());
        for (place, item) in items.iter().enumerate() {
            let of_file = overlays.of_file(item.file);
            let plain = if of_file.is_empty() { item.document.clone() } else { item.document.to_original() };
            for overlay in of_file {
                let customized = overlays.customize(overlay, item.file, &plain.raw, &mut room);
                if !matches!(customized, CustomizedObject::Same) {
                    all.push(((place, Some(overlay)), self.read(item, &plain, customized)?));
                }
            }
            let patched = overlays.patch(item.file, &plain.raw, &mut room);
            all.push(((place, None), self.read(item, &plain, patched)?));
        }
        all.sort_unstable_by_key(|(at, _)| *at);
        Ok(all)
    }

    /// What an object is decoded to after the changes of an overlay.
    fn read(
        &self,
        item: &ReviewedObject<'_>,
        plain: &Document<'_>,
        customized: CustomizedObject,
    ) -> anyhow::Result<DecodedObject> {
        let key = match &customized {
            CustomizedObject::Changed(raw) => object_key(raw),
            CustomizedObject::Same | CustomizedObject::Removed | CustomizedObject::Unknown => item.key.clone(),
        };
        let mut inventory = Inventory::default();
        overlay_objects::read(plain, customized, &self.sources.source(item.file), &mut inventory)?;
        Ok(DecodedObject { key, inventory })
    }

    /// Adds what of stored objects does not hold any more.
    fn add_stale(
        &self,
        items: &mut [ReviewedObject<'_>],
        groups: &[usize],
        inventory: &Inventory,
    ) -> anyhow::Result<()> {
        if inventory.endpoints.is_empty() && inventory.slices.is_empty() {
            return Ok(());
        }
        if groups.iter().all(|group| *group == 0) {
            stale_findings::add(items, 0..items.len(), self.sources, inventory);
            return Ok(());
        }
        for places in by_group(groups).into_values() {
            let compared: Vec<ComparedItem<'_, '_>> =
                places.iter().map(|place| ComparedItem { item: &items[*place], decoded: None }).collect();
            if !self.may_read(&compared) {
                continue;
            }
            let inventory = self.inventory(&compared)?;
            stale_findings::add(items, places, self.sources, &inventory);
        }
        Ok(())
    }

    /// The objects of a group.
    fn inventory(&self, items: &[ComparedItem<'_, '_>]) -> anyhow::Result<Inventory> {
        let mut inventory = Inventory::default();
        inventory.unread.clone_from(self.unread);
        for run in items.chunk_by(|a, b| a.decoded.is_none() && b.decoded.is_none() && a.item.file == b.item.file) {
            match run {
                [ComparedItem { decoded: Some(decoded), .. }] => inventory.merge(decoded.inventory.clone()),
                [first, ..] => {
                    let documents: Vec<Document<'_>> = run.iter().map(|one| one.item.document.clone()).collect();
                    decode::objects(&documents, &self.sources.source(first.item.file), &mut inventory, |_, _| {})?;
                }
                [] => {}
            }
        }
        Ok(inventory)
    }

    /// Adds to the objects at some places the findings about them.
    fn attach(
        &self,
        places: &[usize],
        items: &[ComparedItem<'_, '_>],
        findings: &[Finding],
        found: &mut [Vec<Finding>],
    ) {
        let mut findings_of: BTreeMap<&ObjectKey, Vec<&Finding>> = BTreeMap::new();
        for finding in findings {
            findings_of.entry(&finding.object).or_default().push(finding);
        }
        for place in places {
            let of_item = findings_of.get(&placed(items[*place].key(), &self.sources.namespace));
            found[*place].extend(of_item.into_iter().flatten().map(|f| (*f).clone()));
        }
    }
}

/// Notes that a variant has the objects at some places, and in which groups.
fn note_clusters(items: &mut [ReviewedObject<'_>], variant: usize, groups: impl Iterator<Item = (usize, usize)>) {
    for (place, group) in groups.filter(|(_, group)| *group != NO_GROUP) {
        items[place].clusters.push(ClusterNumber { variant, group });
    }
}

/// The places of the objects that each variant has.
fn places_of_variants(items: &[ReviewedObject<'_>], overlays: &Overlays) -> Vec<Vec<usize>> {
    let mut places = vec![Vec::new(); overlays.variants()];
    let mut start = 0;
    for of_file in items.chunk_by(|a, b| a.file == b.file) {
        let end = start + of_file.len();
        for variant in of_file.first().map(|item| overlays.variants_of(item.file)).unwrap_or_default() {
            places[variant].extend(start..end);
        }
        start = end;
    }
    places
}

/// The places of the objects of each group.
fn by_group(groups: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut all: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, group) in groups.iter().enumerate().filter(|(_, group)| **group != NO_GROUP) {
        all.entry(*group).or_default().push(place);
    }
    all
}

/// Most places of an object that are named.
const MAX_NAMED: usize = 100;

/// The group of an object that another one replaces.
const NO_GROUP: usize = usize::MAX;

/// Adds a finding to each object that replaces another one of its kind, namespace and name in its directory, in one
/// cluster with it. Returns the places of those that are replaced.
fn report_duplicates(items: &mut [ReviewedObject<'_>], sources: &SourceArgs, overlays: &Overlays) -> Vec<usize> {
    // The last of several objects, and each of the others.
    let mut others_of: Vec<(usize, usize)> = Vec::new();
    for places in repeated(items, sources) {
        let mut of_variants: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for place in places {
            for variant in overlays.variants_of(items[place].file) {
                of_variants.entry(variant).or_default().push(place);
            }
        }
        for mut places in of_variants.into_values() {
            if let Some(last) = places.pop() {
                others_of.extend(places.into_iter().map(|place| (last, place)));
            }
        }
    }
    others_of.sort_unstable();
    others_of.dedup();
    for others in others_of.chunk_by(|a, b| a.0 == b.0) {
        let Some((last, _)) = others.first().copied() else { continue };
        let at = |(_, place): &(usize, usize)| format!("{}:{}", items[*place].file, items[*place].document.line);
        let more = match others.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more place")),
        };
        let named: Vec<String> = others.iter().take(MAX_NAMED).map(at).collect();
        let key = items[last].key.clone();
        let message = format!("{key} is also at {}{more}; the last one counts", named.join(", "));
        let finding = Finding::new(Reason::DuplicateObject, key, message);
        items[last].add_workload_findings(std::iter::once(&finding));
    }
    others_of.into_iter().map(|(_, place)| place).collect()
}

/// The places of objects of the same kind, namespace and name in one directory.
fn repeated(items: &[ReviewedObject<'_>], sources: &SourceArgs) -> Vec<Vec<usize>> {
    let mut places: Vec<((&str, ObjectKey), usize)> = Vec::new();
    for (place, item) in items.iter().enumerate().filter(|(_, item)| is_named(item)) {
        let folder = item.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        // Two files may hold what a cluster printed at different times.
        let folder = if item.is_recorded() { item.file } else { folder };
        places.push(((folder, placed(&item.key, &sources.namespace)), place));
    }
    places.sort_unstable();
    let mut repeated: Vec<Vec<usize>> = Vec::new();
    for alike in places.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        // Another group may have a kind of the same name.
        let with_group = |(_, place): &(_, usize)| (items[*place].api_group(), *place);
        let mut alike: Vec<(String, usize)> = alike.iter().map(with_group).collect();
        alike.sort_unstable();
        let of_groups = alike.chunk_by(|a, b| a.0 == b.0).filter(|of_group| of_group.len() > 1);
        repeated.extend(of_groups.map(|of_group| of_group.iter().map(|(_, place)| *place).collect()));
    }
    repeated
}

/// Whether the object has a name of its own. Of two with one `generateName`, none replaces the other.
fn is_named(item: &ReviewedObject<'_>) -> bool {
    !item.key.name.is_empty() && !is_name_generated(&item.document.raw)
}

/// The group of each object: that of its file.
fn groups(items: &[ComparedItem<'_, '_>], sources: &SourceArgs) -> Vec<usize> {
    let mut files: Vec<(&str, Vec<ObjectKey>)> = Vec::new();
    let mut file_of = Vec::with_capacity(items.len());
    for ComparedItem { item, .. } in items {
        if files.last().is_none_or(|(file, _)| *file != item.file) {
            files.push((item.file, Vec::new()));
        }
        file_of.push(files.len() - 1);
        if let Some((_, keys)) = files.last_mut().filter(|_| COPIED.contains(&item.key.kind.as_str())) {
            keys.push(placed(&item.key, &sources.namespace));
        }
    }
    let groups = scopes(&files);
    file_of.into_iter().map(|file| groups[file]).collect()
}
