//! One file of the input.

use roster_engine::model::{ObjectKey, json::raw::ObjectIdentity};
use roster_manifests::{
    decode::Document,
    inventory::workloads::UnreadObjects,
    units::{UnitFile, Units},
};

/// One input file and its objects.
#[derive(Debug, Default)]
pub struct InputFile<'a> {
    /// The name, as findings show it.
    pub name: &'a str,
    /// The objects.
    pub documents: Vec<Document<'a>>,
    /// Whether a kustomization changes the objects before they are applied.
    pub is_listed: bool,
    /// Whether it is in a folder of tests, which may make what its objects refer to.
    pub is_test: bool,
    /// Whether it is applied without any other file: standard input, or what a renderer printed.
    pub is_apart: bool,
}

/// The manifests of all files.
#[derive(Default)]
pub struct Manifests<'a> {
    /// The files, in the order of their units.
    pub files: Vec<InputFile<'a>>,
    /// What of them is applied together.
    pub units: Units,
    /// What may be there though it is not among the objects.
    pub unread: UnreadObjects,
    /// Whether these are all files.
    pub complete: bool,
}

impl<'a> Manifests<'a> {
    /// Files of which each can be read, in any order.
    pub fn of(files: Vec<InputFile<'a>>) -> Self {
        let order = Units::order(&files.iter().map(|file| file.name).collect::<Vec<_>>());
        let mut files: Vec<Option<InputFile<'_>>> = files.into_iter().map(Some).collect();
        let files: Vec<InputFile<'_>> = order.into_iter().filter_map(|place| files[place].take()).collect();
        let units = Units::of(&unit_files(&files));
        Self { files, units, unread: UnreadObjects::default(), complete: true }
    }
}

/// Files, by what their units depend on.
pub(crate) fn unit_files<'f>(files: &'f [InputFile<'_>]) -> Vec<UnitFile<'f>> {
    let file = |file: &'f InputFile<'_>| UnitFile {
        name: file.name,
        is_apart: file.is_apart,
        objects: file.documents.iter().map(unit_key).collect(),
    };
    files.iter().map(file).collect()
}

/// The key of an object of which a folder may have several versions; that of other objects has no name.
fn unit_key(document: &Document<'_>) -> ObjectKey {
    const COPIED: [&str; 8] =
        ["Service", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"];
    let ObjectIdentity { key, group, .. } = document.identity();
    if !COPIED.contains(&key.kind.as_str()) {
        return ObjectKey::default();
    }
    // Another group may have a kind of the same name.
    ObjectKey { kind: format!("{group}/{}", key.kind).into(), ..key.clone() }
}
