//! The objects of several overlays of one base, which are read as those of one cluster.

use std::{path::PathBuf, slice};

use roster_engine::{
    model::{ObjectKey, Text},
    phrase::counted,
    reason::{Finding, Reason},
};
use roster_manifests::{
    decode::{self, DecodeError, Document, Source},
    inventory::Inventory,
    lint::{CustomizedObject, Overlays},
};

/// Reads an object as an overlay has it.
pub(super) fn read(
    document: &Document<'_>,
    customized: CustomizedObject,
    source: &Source<'_>,
    inventory: &mut Inventory,
) -> Result<(), DecodeError> {
    match customized {
        CustomizedObject::Same => decode::objects(slice::from_ref(document), source, inventory, |_, _| {}),
        CustomizedObject::Changed(raw) => {
            decode::objects(&[document.clone().without_lines(raw)], source, inventory, |_, _| {})
        }
        CustomizedObject::Removed => Ok(()),
        CustomizedObject::Unknown => {
            decode::record_unknown(&document.raw, source, inventory);
            Ok(())
        }
    }
}

/// Most workloads of one name that are looked at for an autoscaler.
const MAX_ALIKE: usize = 256;
/// How many overlays are named.
const NAMED: usize = 3;

/// Which files the workloads and autoscalers of an inventory come from.
pub(super) struct OverlayObjects<'o> {
    overlays: &'o Overlays,
    /// For each file its name, and how many workloads and autoscalers there are with those of the files before it.
    files: Vec<(&'o str, usize, usize)>,
    /// Overlays whose objects are read beside those of others.
    beside: Option<&'o [PathBuf]>,
    /// How many workloads and autoscalers there were before.
    start: (usize, usize),
}

impl<'o> OverlayObjects<'o> {
    /// No files, in front of what `inventory` gets from now on.
    pub(super) fn new(overlays: &'o Overlays, inventory: &Inventory) -> Self {
        let start = (inventory.workloads.len(), inventory.autoscalers.len());
        Self { overlays, files: Vec::new(), beside: None, start }
    }

    /// Adds a file, whose objects the inventory has just got.
    pub(super) fn add(&mut self, file: &'o str, inventory: &Inventory) {
        self.files.push((file, inventory.workloads.len(), inventory.autoscalers.len()));
        self.beside = self.beside.or_else(|| self.overlays.beside(file));
    }

    /// Marks the autoscalers that only some overlays of their workloads have. Says what is assumed, if there are several
    /// overlays with objects of their own.
    pub(super) fn apply(&self, inventory: &mut Inventory) -> Option<Finding> {
        let patched = self.overlays.patched();
        let beside = self.beside.or(patched)?;
        let mut workloads: Vec<((Text, Text, Text), usize)> = Vec::new();
        for (place, workload) in inventory.workloads.iter().enumerate().skip(self.start.0) {
            workloads.push(((workload.namespace.clone(), workload.kind.clone(), workload.name.clone()), place));
        }
        workloads.sort_unstable();
        let mut marked = Vec::new();
        for place in self.start.1..inventory.autoscalers.len() {
            let Some(file) = self.file(place, |(_, _, autoscalers)| *autoscalers) else { continue };
            let autoscaler = &mut inventory.autoscalers[place];
            let target = &autoscaler.target;
            let key = (autoscaler.namespace.clone(), target.kind.clone(), target.name.clone());
            let is_partial = |place: &usize| {
                let of_workload = self.file(*place, |(_, workloads, _)| *workloads);
                autoscaler.targets(&inventory.workloads[*place])
                    && of_workload.is_some_and(|other| !self.overlays.has_always(other, file))
            };
            let first = workloads.partition_point(|(other, _)| *other < key);
            let alike = workloads[first..].iter().take_while(|(other, _)| *other == key).take(MAX_ALIKE);
            if alike.map(|(_, place)| place).any(is_partial) {
                autoscaler.is_of_overlay = true;
                marked.push(autoscaler.name.to_string());
            }
        }
        Some(Finding::new(Reason::Assumed, ObjectKey::default(), text(beside, patched.is_some(), &marked)))
    }

    /// The file of the object at a place, by the number of objects at the end of each file.
    fn file(&self, place: usize, end: impl Fn(&(&'o str, usize, usize)) -> usize) -> Option<&'o str> {
        let file = self.files.partition_point(|file| end(file) <= place);
        self.files.get(file).map(|(name, ..)| *name)
    }
}

/// What is assumed of overlays, and the autoscalers that are in some of them only.
fn text(overlays: &[PathBuf], have_patches: bool, autoscalers: &[String]) -> String {
    let named: Vec<String> = overlays.iter().take(NAMED).map(|folder| folder.display().to_string()).collect();
    let more = if overlays.len() > NAMED { ", …" } else { "" };
    let count = counted(overlays.len(), "overlay");
    let without = if have_patches { ", and no patch of theirs" } else { "" };
    let text = format!(
        "{count} share a base ({}{more}); assumed: the objects of all of them in one cluster{without}",
        named.join(", ")
    );
    match autoscalers {
        [] => text,
        [one] => format!("{text}, without HorizontalPodAutoscaler {one}, which only some have"),
        all => format!("{text}, without {}, which only some have", counted(all.len(), "HorizontalPodAutoscaler")),
    }
}
