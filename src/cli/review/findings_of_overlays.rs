//! The findings about an object beside the objects of each overlay.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use roster_engine::reason::{Finding, Reason};
use roster_manifests::lint::{OverlayPlace, Overlays};

/// What is missing beside one overlay, and may be there beside another one.
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
#[derive(Default)]
pub(super) struct FindingsOfOverlays {
    variants: BTreeSet<usize>,
    /// What is wrong with one of them. Messages differ: of one port, each workload may lack the name.
    found: BTreeMap<Finding, Occurrence>,
    /// What is missing, by the field that names it, in the order of the variants that lack it.
    missing: BTreeMap<Option<String>, Vec<MissingObject>>,
}

/// The findings about what one variant lacks.
struct MissingObject {
    variant: usize,
    findings: Vec<Finding>,
    /// Whether only patches make it missing.
    is_patched: bool,
}

/// Where a finding occurs.
#[derive(Default)]
struct Occurrence {
    variants: BTreeSet<usize>,
    /// Whether it occurs only with patches.
    is_patched: bool,
}

impl FindingsOfOverlays {
    /// Adds those of the next variant. `written` are the findings without patches, if there are any patches.
    pub(super) fn add(&mut self, variant: usize, found: Vec<Finding>, written: Option<&[Finding]>) {
        self.variants.insert(variant);
        let written: Option<BTreeSet<(Reason, Option<&str>)>> =
            written.map(|written| written.iter().map(|other| (other.code, other.pointer.as_deref())).collect());
        let is_written = |found: &Finding| {
            written.as_ref().is_none_or(|written| written.contains(&(found.code, found.pointer.as_deref())))
        };
        let (missing, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|f| OF_ABSENCE.contains(&f.code));
        for finding in found {
            let is_patched = !is_written(&finding);
            self.found.entry(finding).or_default().add(variant, is_patched);
        }
        for finding in missing {
            let of_field = self.missing.entry(finding.pointer.clone()).or_default();
            if of_field.last().is_none_or(|last| last.variant != variant) {
                of_field.push(MissingObject { variant, findings: Vec::new(), is_patched: true });
            }
            if let Some(object) = of_field.last_mut() {
                object.is_patched &= !is_written(&finding);
                object.findings.push(finding);
            }
        }
    }

    /// Notes that the findings of a variant are not known.
    pub(super) fn skip(&mut self, variant: usize) {
        self.variants.insert(variant);
    }

    /// All of them. Those that not every overlay has, or only patches cause, name the overlays: the files do not show them.
    ///
    /// The overlay of another base may have what is missing: it is missing in an overlay if it is so beside all of the others.
    pub(super) fn finish(mut self, overlays: &Overlays, file: &str) -> Vec<Finding> {
        let with_overlay = |variant: &usize| (overlays.overlay_of(file, *variant), *variant);
        let mut variants: Vec<(Option<OverlayPlace>, usize)> = self.variants.iter().map(with_overlay).collect();
        variants.sort_unstable();
        for missing in std::mem::take(&mut self.missing).into_values() {
            let of_variant = |(_, variant): &(_, usize)| {
                let place = missing.binary_search_by_key(variant, |object| object.variant);
                place.ok().map(|place| &missing[place])
            };
            for of_overlay in variants.chunk_by(|a, b| a.0 == b.0) {
                // Messages differ in what is nearest: one of them is enough.
                let all: Option<Vec<&MissingObject>> = of_overlay.iter().map(of_variant).collect();
                let Some(first) = all.and_then(|all| all.first().copied()) else { continue };
                for finding in &first.findings {
                    let occurrence = self.found.entry(finding.clone()).or_default();
                    for (_, variant) in of_overlay {
                        occurrence.add(*variant, first.is_patched);
                    }
                }
            }
        }
        let Self { variants, found, .. } = self;
        let of_all = overlays.folders_in(file, &variants);
        let named = |(finding, occurrence): (Finding, Occurrence)| {
            let folders = overlays.folders_in(file, &occurrence.variants);
            let is_told = occurrence.is_patched || folders.len() < of_all.len();
            if is_told { with_overlays(finding, &folders) } else { finding }
        };
        found.into_iter().map(named).collect()
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
    let name = |folder: &&Path| if folder.as_os_str() == "" { ".".to_owned() } else { folder.display().to_string() };
    let named: Vec<String> = folders.iter().take(NAMED).map(name).collect();
    let more = if folders.len() > NAMED { ", …" } else { "" };
    if !named.is_empty() {
        finding.message = format!("{} (in {}{more})", finding.message, named.join(", "));
    }
    finding
}
