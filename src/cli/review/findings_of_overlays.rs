//! The findings about an object beside the objects of each overlay.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::{
    engine::reason::{Finding, Reason},
    lint::Overlays,
};

/// What is missing with one overlay, and may be there with another one.
const OF_ABSENCE: [Reason; 6] = [
    Reason::SelectorMatchesNoTemplate,
    Reason::SelectorNotChecked,
    Reason::OtherNamespace,
    Reason::GoverningServiceMissing,
    Reason::SubdomainServiceMissing,
    Reason::ScaleTargetMissing,
];

/// How many overlays are named.
const NAMED: usize = 3;

/// The findings about an object beside the objects of each overlay.
#[derive(Clone, Default)]
pub(super) struct FindingsOfOverlays {
    variants: BTreeSet<usize>,
    /// What is wrong with one of them. Messages differ: of one port, each workload may lack the name.
    found: BTreeMap<Finding, Occurrence>,
    /// What is missing, by the field that names it.
    missing: BTreeMap<Option<String>, (Vec<Finding>, Occurrence)>,
}

/// Where a finding occurs.
#[derive(Clone, Default)]
struct Occurrence {
    variants: BTreeSet<usize>,
    /// Whether it occurs only with patches.
    is_patched: bool,
}

impl FindingsOfOverlays {
    /// Adds those of a variant. `written` are the findings without patches, if there are any patches.
    pub(super) fn add(&mut self, variant: usize, found: Vec<Finding>, written: Option<&[Finding]>) {
        self.variants.insert(variant);
        let is_written = |found: &Finding| {
            let is_same = |other: &Finding| (other.code, &other.pointer) == (found.code, &found.pointer);
            written.is_none_or(|written| written.iter().any(is_same))
        };
        let (missing, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|f| OF_ABSENCE.contains(&f.code));
        for finding in found {
            let is_patched = !is_written(&finding);
            self.found.entry(finding).or_default().add(variant, is_patched);
        }
        let mut by_field: BTreeMap<Option<String>, Vec<Finding>> = BTreeMap::new();
        for finding in missing {
            by_field.entry(finding.pointer.clone()).or_default().push(finding);
        }
        for (field, findings) in by_field {
            let is_patched = !findings.iter().any(is_written);
            self.missing.entry(field).or_insert((findings, Occurrence::default())).1.add(variant, is_patched);
        }
    }

    /// All of them. Those that not every overlay has, or only patches cause, name the overlays: the files do not show them.
    ///
    /// An overlay may remove what lacks something, and add what is missing: it is missing if no overlay has it.
    pub(super) fn finish(self, overlays: &Overlays, file: &str) -> Vec<Finding> {
        let Self { variants, found, missing } = self;
        let is_missing = |occurrence: &Occurrence| occurrence.variants.len() >= variants.len();
        let missing = missing.into_values().filter(|(_, occurrence)| is_missing(occurrence));
        let missing = missing.flat_map(|(all, occurrence)| all.into_iter().map(move |one| (one, occurrence.clone())));
        let mut of_all = overlays.folders_in(file, &variants);
        // The objects of an overlay itself are in no other one.
        of_all.retain(|folder| !Path::new(file).starts_with(folder));
        let named = |(finding, occurrence): (Finding, Occurrence)| {
            let mut folders = overlays.folders_in(file, &occurrence.variants);
            folders.retain(|folder| of_all.contains(folder));
            let is_told = occurrence.is_patched || folders.len() < of_all.len();
            if is_told { with_overlays(finding, &folders) } else { finding }
        };
        found.into_iter().chain(missing).map(named).collect()
    }
}

impl Occurrence {
    fn add(&mut self, variant: usize, is_patched: bool) {
        self.is_patched = is_patched && (self.is_patched || self.variants.is_empty());
        self.variants.insert(variant);
    }
}

/// A finding that names the overlays in which it occurs.
fn with_overlays(mut finding: Finding, folders: &[&Path]) -> Finding {
    let named: Vec<String> = folders.iter().take(NAMED).map(|folder| folder.display().to_string()).collect();
    let more = if folders.len() > NAMED { ", …" } else { "" };
    if !named.is_empty() {
        finding.message = format!("{} (in {}{more})", finding.message, named.join(", "));
    }
    finding
}
