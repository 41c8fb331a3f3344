//! The findings about several objects together, of files that describe one cluster: Services and workloads, and what is
//! stored of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    reviewed_object::{ReviewedObject, placed},
    source_args::SourceArgs,
    stale_findings,
};
use crate::{
    decode::{self, Document},
    engine::reason::{Finding, Reason},
    inventory::Inventory,
    lint::scopes,
    model::{ObjectKey, json::raw::is_name_generated},
};

/// Kinds of which directories hold several versions, one for each cluster.
const COPIED: [&str; 8] =
    ["Service", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"];

/// Adds the findings to the objects that they are about. `inventory` has all objects.
pub(super) fn add(items: &mut [ReviewedObject<'_>], sources: &SourceArgs, inventory: &Inventory) -> anyhow::Result<()> {
    let mut groups = groups(items, sources);
    let replaced = report_duplicates(items, &groups, sources);
    for (place, (item, group)) in items.iter_mut().zip(&groups).enumerate() {
        item.group = Some(*group).filter(|_| !replaced.contains(&place));
    }
    let of_all = inventory.workload_findings(&sources.defaults());
    if groups.iter().all(|group| *group == 0) && replaced.is_empty() {
        attach(items.iter_mut(), sources, &of_all);
        stale_findings::add(items, sources, inventory);
        return Ok(());
    }
    // What another object replaces is in no cluster.
    for place in replaced {
        groups[place] = NO_GROUP;
    }
    let mut by_group: BTreeMap<usize, Vec<&mut ReviewedObject<'_>>> = BTreeMap::new();
    for (item, group) in items.iter_mut().zip(groups).filter(|(_, group)| *group != NO_GROUP) {
        by_group.entry(group).or_default().push(item);
    }
    // What one group lacks may be in another one that has no copy of it.
    let is_one = by_group.len() == 1;
    let certain: BTreeSet<(Reason, &ObjectKey)> = of_all.iter().map(|f| (f.code, &f.object)).collect();
    let is_certain = |f: &Finding| {
        const OF_ABSENCE: [Reason; 3] =
            [Reason::SelectorMatchesNoTemplate, Reason::GoverningServiceMissing, Reason::ScaleTargetMissing];
        is_one || !OF_ABSENCE.contains(&f.code) || certain.contains(&(f.code, &f.object))
    };
    for mut items in by_group.into_values() {
        let mut inventory = Inventory::default();
        for (file, documents) in documents_of(&items) {
            decode::objects(&documents, &sources.source(file), &mut inventory, |_, _| {})?;
        }
        let mut found = inventory.workload_findings(&sources.defaults());
        found.retain(is_certain);
        attach(items.iter_mut().map(|item| &mut **item), sources, &found);
        stale_findings::add(items, sources, &inventory);
    }
    Ok(())
}

/// The group of an object that another one replaces.
const NO_GROUP: usize = usize::MAX;

/// Adds a finding to each object that replaces another one of its kind, namespace and name in its directory.
/// Returns the places of those that are replaced.
fn report_duplicates(items: &mut [ReviewedObject<'_>], groups: &[usize], sources: &SourceArgs) -> BTreeSet<usize> {
    let mut places: BTreeMap<(usize, &str, ObjectKey), Vec<usize>> = BTreeMap::new();
    for (place, item) in items.iter().enumerate().filter(|(_, item)| is_named(item)) {
        let folder = item.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        // Two files may hold what a cluster printed at different times.
        let folder = if item.is_recorded() { item.file } else { folder };
        places.entry((groups[place], folder, placed(&item.key, &sources.namespace))).or_default().push(place);
    }
    let mut repeated: Vec<Vec<usize>> = Vec::new();
    for alike in places.into_values().filter(|places| places.len() > 1) {
        // Another group may have a kind of the same name.
        let mut of_group: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for place in alike {
            of_group.entry(items[place].api_group()).or_default().push(place);
        }
        repeated.extend(of_group.into_values().filter(|places| places.len() > 1));
    }
    let mut replaced = BTreeSet::new();
    for mut places in repeated {
        let Some(last) = places.pop() else { continue };
        let others: Vec<String> =
            places.iter().map(|place| format!("{}:{}", items[*place].file, items[*place].document.line)).collect();
        let key = items[last].key.clone();
        let message = format!("{key} is also at {}; the last one counts", others.join(", "));
        let finding = Finding::new(Reason::DuplicateObject, key, message);
        items[last].add_workload_findings(std::iter::once(&finding));
        replaced.extend(places);
    }
    replaced
}

/// Whether the object has a name of its own. Of two with one `generateName`, none replaces the other.
fn is_named(item: &ReviewedObject<'_>) -> bool {
    !item.key.name.is_empty() && !is_name_generated(&item.document.raw)
}

/// The group of each object: that of its file.
fn groups(items: &[ReviewedObject<'_>], sources: &SourceArgs) -> Vec<usize> {
    let mut files: Vec<(&str, Vec<ObjectKey>)> = Vec::new();
    let mut file_of = Vec::with_capacity(items.len());
    for item in items {
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

/// The documents of these objects, by file.
fn documents_of<'a>(items: &[&mut ReviewedObject<'a>]) -> Vec<(&'a str, Vec<Document<'a>>)> {
    let files = items.chunk_by(|a, b| a.file == b.file);
    let documents = |of_file: &[&mut ReviewedObject<'a>]| of_file.iter().map(|item| item.document.clone()).collect();
    files.filter_map(|of_file| Some((of_file.first()?.file, documents(of_file)))).collect()
}

/// Adds the findings to the objects that they are about.
fn attach<'i, 'a: 'i>(
    items: impl IntoIterator<Item = &'i mut ReviewedObject<'a>>,
    sources: &SourceArgs,
    findings: &[Finding],
) {
    let mut findings_of: BTreeMap<&ObjectKey, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        findings_of.entry(&finding.object).or_default().push(finding);
    }
    for item in items {
        let found = findings_of.get(&placed(&item.key, &sources.namespace));
        item.add_workload_findings(found.into_iter().flatten().copied());
    }
}
