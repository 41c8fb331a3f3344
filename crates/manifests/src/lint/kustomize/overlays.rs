//! Overlays: kustomizations that share a base, so that a cluster has the objects of one of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use roster_engine::model::HashSeed;
use serde_json::value::RawValue;

use super::{
    customization::{Customization, CustomizedObject, KustomizePatches, PatchRoom},
    file_path::normal,
    kustomization::Kustomizations,
    kustomization_graph::KustomizationGraph,
    kustomize_patch::KustomizePatch,
    kustomized_labels::MOST_LABELS,
    overlay_combinations::{MAX_COMBINATIONS, combinations, count},
};

/// Most kustomizations and files that are looked at: thousands of kustomizations could name each other.
const MOST: usize = 1 << 18;
/// Most overlays of a base that are kept apart: all objects are compared once for each.
const MAX_OVERLAYS: usize = 16;

/// Which files belong to which overlay of a base.
///
/// An overlay is a kustomization that no other one names. Overlays that share a Service or a workload are alternatives:
/// a cluster has one of them. All other kustomizations, and files that none names, may be applied to one cluster.
#[derive(Clone, Debug, Default)]
pub struct Overlays {
    /// The folders of the overlays of each base.
    folders: Vec<Vec<PathBuf>>,
    /// The overlays of each base that differ in what is known of them.
    families: Vec<Vec<AlikeOverlays>>,
    /// The overlays that reach a file, by family and place in it, sorted, if a cluster has the file only with one of these.
    files: HashMap<PathBuf, Vec<(usize, usize)>, HashSeed>,
    /// The overlay of each family in each variant.
    variants: Vec<Vec<usize>>,
    /// The patches of objects without alternatives.
    patches: Customization,
    /// The folders of the overlays that have these patches, by the files that they name.
    patched_by: OverlaysOfFiles,
}

/// The folders of overlays, by the files that they name.
type OverlaysOfFiles = HashMap<PathBuf, Vec<PathBuf>, HashSeed>;

/// Overlays that are alike.
#[derive(Clone, Debug)]
struct AlikeOverlays {
    folders: Vec<PathBuf>,
    /// What each of them changes.
    customization: Customization,
}

/// An overlay, by its family and place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OverlayPlace((usize, usize));

impl Overlays {
    /// The overlays among these kustomizations.
    pub fn of(kustomizations: &Kustomizations) -> Self {
        let graph = KustomizationGraph::of(kustomizations);
        let mut room = MOST;
        let roots = graph.roots();
        let mut files_of: Vec<Vec<usize>> = Vec::new();
        let mut roots_of: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
        for (root, folder) in roots.iter().enumerate() {
            let Some(files) = graph.files_of(*folder, &mut room) else { return Self::default() };
            for file in &files {
                roots_of.entry(graph.file(*file)).or_default().push(root);
            }
            files_of.push(files);
        }
        // Applications may share a Namespace and be in one cluster.
        let shared = roots_of.iter().filter(|(file, _)| kustomizations.has_pods(file)).map(|(_, roots)| roots);
        let mut room = MOST_LABELS;
        let mut of_root = |root: usize| {
            let files: Vec<&Path> = files_of[root].iter().map(|file| graph.file(*file)).collect();
            let customization = Customization::of_overlay(kustomizations, &graph, roots[root], &mut room);
            OverlayContent {
                root,
                customization: customization.unwrap_or_else(|| Customization::unknown(&files)),
                files,
            }
        };
        let families = families(roots.len(), shared).into_iter().filter(|roots| roots.len() > 1);
        let families = kept_apart(families.map(|roots| alike(roots.into_iter().map(&mut of_root))).collect());
        let in_families: BTreeSet<usize> = families.iter().flatten().flatten().map(|overlay| overlay.root).collect();
        let others = (0..roots.len()).filter(|root| !in_families.contains(root)).map(of_root);
        let others: Vec<OverlayContent<'_>> = others.collect();
        let roots: Vec<&Path> = roots.into_iter().map(|root| graph.node(root).folder).collect();
        let patched_by = patched_by(&others, &roots);
        let patches = Customization { patches: common_patches(others), ..Customization::default() };
        Self { patches, patched_by, ..Self::of_families(&families, &roots, roots_of) }
    }

    /// The overlays of these families, of which `roots` has the folders, and `roots_of` those that reach a file.
    fn of_families(families: &[OverlayFamily<'_>], roots: &[&Path], roots_of: BTreeMap<&Path, Vec<usize>>) -> Self {
        let sizes: Vec<usize> = families.iter().map(Vec::len).collect();
        let mut this = Self { variants: combinations(&sizes), ..Self::default() };
        let mut place_of = vec![None; roots.len()];
        for (family, places) in families.iter().enumerate() {
            for (place, overlays) in places.iter().enumerate() {
                for overlay in overlays {
                    place_of[overlay.root] = Some((family, place));
                }
            }
            let alike = |overlays: &Vec<OverlayContent<'_>>| {
                let folders = overlays.iter().map(|overlay| roots[overlay.root].to_owned()).collect();
                Some(AlikeOverlays { folders, customization: overlays.first()?.customization.clone() })
            };
            this.families.push(places.iter().filter_map(alike).collect());
            let members: BTreeSet<usize> = places.iter().flatten().map(|overlay| overlay.root).collect();
            this.folders.push(members.into_iter().map(|root| roots[root].to_owned()).collect());
        }
        let places = |roots: Vec<usize>| {
            let places = roots.into_iter().map(|root| place_of[root]);
            places.collect::<Option<Vec<(usize, usize)>>>().map(sorted)
        };
        this.files = roots_of.into_iter().filter_map(|(file, roots)| Some((file.to_owned(), places(roots)?))).collect();
        this
    }

    /// How often objects are compared: each variant has one overlay of each base, and each two overlays of different
    /// bases are in one of them.
    pub fn variants(&self) -> usize {
        self.variants.len().max(1)
    }

    /// The variants that have the objects of a file.
    pub fn variants_of(&self, file: &str) -> Vec<usize> {
        let of_file = self.overlays_of(file);
        let is_in = |variant: &usize| {
            of_file.is_none_or(|all| all.iter().any(|(family, place)| self.variants[*variant][*family] == *place))
        };
        (0..self.variants()).filter(is_in).collect()
    }

    /// The overlays that have the objects of a file; none if a cluster always has the file.
    pub fn of_file(&self, file: &str) -> Vec<OverlayPlace> {
        self.overlays_of(file).into_iter().flatten().copied().map(OverlayPlace).collect()
    }

    /// The overlay of a variant that has the objects of a file; `None` if all variants have the same.
    pub fn overlay_of(&self, file: &str, variant: usize) -> Option<OverlayPlace> {
        let chosen = self.variants.get(variant)?;
        let is_in = |place: &&(usize, usize)| chosen.get(place.0) == Some(&place.1);
        self.overlays_of(file)?.iter().find(is_in).copied().map(OverlayPlace)
    }

    /// What an overlay makes of an object of a file.
    pub fn customize(
        &self,
        overlay: OverlayPlace,
        file: &str,
        object: &RawValue,
        room: &mut PatchRoom,
    ) -> CustomizedObject {
        let alike = self.alike(overlay.0);
        alike.map_or(CustomizedObject::Same, |alike| alike.customization.apply(file, object, room))
    }

    /// What patches make of an object, if it has no alternatives.
    pub fn patch(&self, file: &str, object: &RawValue, room: &mut PatchRoom) -> CustomizedObject {
        self.patches.apply(file, object, room)
    }

    /// Whether the patches of objects without alternatives change something.
    pub fn has_patches(&self) -> bool {
        !self.patches.patches.is_empty()
    }

    /// Whether some overlay has patches.
    pub fn are_patched(&self) -> bool {
        self.has_patches() || self.patched().is_some()
    }

    /// The folders of the overlays by which variants have the objects of a file. If all have them by the same, only patches make
    /// a difference, and those with patches are returned.
    pub fn folders_in(&self, file: &str, variants: &BTreeSet<usize>) -> Vec<&Path> {
        if self.overlays_of(file).is_none() {
            let patched_by = self.patched_by.get(&normal(Path::new(file)));
            return patched_by.into_iter().flatten().map(PathBuf::as_path).collect();
        }
        let some = variants.iter().filter_map(|variant| self.overlay_of(file, *variant));
        let some = sorted(some.map(|overlay| overlay.0).collect());
        some.iter()
            .filter_map(|place| self.alike(*place))
            .flat_map(|alike| &alike.folders)
            .map(PathBuf::as_path)
            .collect()
    }

    /// The overlays of the first base of which some have patches.
    pub fn patched(&self) -> Option<&[PathBuf]> {
        let is_patched = |alike: &AlikeOverlays| !alike.customization.patches.is_empty();
        let family = self.families.iter().position(|family| family.iter().any(is_patched))?;
        self.folders.get(family).map(Vec::as_slice)
    }

    /// Whether each overlay that has the objects of `file` has those of `other`, too.
    pub fn has_always(&self, file: &str, other: &str) -> bool {
        let (Some(all), Some(of_other)) = (self.overlays_of(file), self.overlays_of(other)) else { return true };
        let is_in_family = |family: usize| of_other.iter().any(|(other, _)| *other == family);
        all.iter().all(|overlay| of_other.binary_search(overlay).is_ok() || !is_in_family(overlay.0))
    }

    /// The overlays of the base of a file, if not all of them have its objects.
    pub fn beside(&self, file: &str) -> Option<&[PathBuf]> {
        let overlays = self.overlays_of(file)?;
        let (family, _) = overlays.first()?;
        (overlays.len() < self.families.get(*family)?.len()).then(|| self.folders[*family].as_slice())
    }

    /// The overlays that reach a file, if a cluster may lack it.
    fn overlays_of(&self, file: &str) -> Option<&[(usize, usize)]> {
        self.files.get(&normal(Path::new(file))).map(Vec::as_slice)
    }

    /// The overlays at a place of a family.
    fn alike(&self, (family, place): (usize, usize)) -> Option<&AlikeOverlays> {
        self.families.get(family)?.get(place)
    }
}

/// The same places, sorted, each once.
fn sorted(mut places: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    places.sort_unstable();
    places.dedup();
    places
}

/// An overlay, as far as it is known.
struct OverlayContent<'k> {
    /// Its number.
    root: usize,
    files: Vec<&'k Path>,
    customization: Customization,
}

/// The overlays of a base, those that are alike together.
type OverlayFamily<'k> = Vec<Vec<OverlayContent<'k>>>;

/// The patches of overlays that are not kept apart, of which each file may have several. What these patch in different ways is
/// unknown.
fn common_patches(overlays: Vec<OverlayContent<'_>>) -> KustomizePatches {
    let mut common: BTreeMap<PathBuf, Vec<Arc<KustomizePatch>>> = BTreeMap::new();
    for OverlayContent { files, mut customization, .. } in overlays {
        for file in files {
            let patches = customization.patches.remove(file).unwrap_or_default();
            let without_labels = |patches: &[Arc<KustomizePatch>]| -> Vec<Arc<KustomizePatch>> {
                patches.iter().filter(|patch| !patch.is_labels()).cloned().collect()
            };
            match common.get_mut(file) {
                None => drop(common.insert(file.to_owned(), patches)),
                Some(known) if without_labels(known) != without_labels(&patches) => {
                    let all = without_labels(known).into_iter().chain(without_labels(&patches));
                    let mut all: Vec<KustomizePatch> = all.map(|patch| patch.to_unknown()).collect();
                    all.sort_unstable();
                    all.dedup();
                    *known = all.into_iter().map(Arc::new).collect();
                }
                Some(_) => {}
            }
        }
    }
    common.retain(|_, patches| !patches.is_empty());
    common
}

/// The folders of the overlays with patches, by the files that these name.
fn patched_by(overlays: &[OverlayContent<'_>], roots: &[&Path]) -> OverlaysOfFiles {
    let mut patched_by = OverlaysOfFiles::default();
    for overlay in overlays.iter().filter(|overlay| !overlay.customization.patches.is_empty()) {
        for file in &overlay.files {
            patched_by.entry((*file).to_owned()).or_default().push(roots[overlay.root].to_owned());
        }
    }
    patched_by
}

/// Puts overlays together that are alike.
fn alike<'k>(overlays: impl Iterator<Item = OverlayContent<'k>>) -> OverlayFamily<'k> {
    let mut all = OverlayFamily::new();
    let mut places: BTreeMap<(Vec<&Path>, Customization), usize> = BTreeMap::new();
    for overlay in overlays {
        let place = *places.entry((overlay.files.clone(), overlay.customization.clone())).or_insert(all.len());
        if place == all.len() {
            all.push(Vec::new());
        }
        all[place].push(overlay);
    }
    all
}

/// The families whose overlays are kept apart. With too many combinations, those of the largest families are not.
fn kept_apart(mut members: Vec<OverlayFamily<'_>>) -> Vec<OverlayFamily<'_>> {
    members.retain(|overlays| (2..=MAX_OVERLAYS).contains(&overlays.len()));
    let sizes = |members: &[OverlayFamily<'_>]| members.iter().map(Vec::len).collect::<Vec<_>>();
    while let Some(largest) = members.iter().map(Vec::len).max()
        && count(&sizes(&members)) > MAX_COMBINATIONS
    {
        members.retain(|overlays| overlays.len() < largest);
    }
    members
}

/// The members of each family, at the place of the first of them. `together` are some that belong together.
fn families<'t>(count: usize, together: impl Iterator<Item = &'t Vec<usize>>) -> Vec<Vec<usize>> {
    let mut parents: Vec<usize> = (0..count).collect();
    for some in together {
        let Some((first, others)) = some.split_first() else { continue };
        for other in others {
            let (a, b) = (first_of(&mut parents, *first), first_of(&mut parents, *other));
            parents[a.max(b)] = a.min(b);
        }
    }
    let mut members = vec![Vec::new(); count];
    for member in 0..count {
        members[first_of(&mut parents, member)].push(member);
    }
    members
}

/// The first member of the family of a member.
fn first_of(parents: &mut [usize], mut member: usize) -> usize {
    while parents[member] != member {
        // Halves the way for the next search.
        parents[member] = parents[parents[member]];
        member = parents[member];
    }
    member
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The overlays among kustomizations, and files that have a Service or, by their names, something else.
    fn overlays(all: &[(&str, Value)]) -> Overlays {
        let mut kustomizations =
            Kustomizations::new(|text| serde_json::from_str(text).ok().map(|patch| vec![patch]), PathBuf::new());
        let mut add = |file: &str, content: &Value| {
            kustomizations.add(file, &serde_json::value::to_raw_value(content).unwrap());
        };
        for (folder, content) in all {
            add(&format!("{folder}/kustomization.yaml"), content);
            for name in content["resources"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let kind = if name.ends_with("namespace.yaml") { "Namespace" } else { "Service" };
                add(&format!("./{folder}/{name}"), &json!({ "kind": kind }));
            }
        }
        Overlays::of(&kustomizations)
    }

    fn of(resources: &[&str]) -> Value {
        json!({ "resources": resources })
    }

    #[test]
    fn overlays_of_one_base_are_apart() {
        let overlays = overlays(&[
            ("base", of(&["web.yaml"])),
            ("dev", of(&["../base", "debug.yaml"])),
            ("prod", of(&["../base", "hpa.yaml", "../names"])),
            ("names", json!({ "kind": "Component", "resources": ["names.yaml"] })),
            // Nothing of it is in the others.
            ("other", of(&["other.yaml"])),
            ("test", of(&["../base"])),
            // It differs from the one before in patches alone.
            ("test-2", of(&["../base"])),
        ]);
        for (file, want) in [
            ("base/web.yaml", &[0, 1, 2][..]),
            ("./dev/debug.yaml", &[0]),
            ("prod/hpa.yaml", &[1]),
            ("names/names.yaml", &[1]),
            ("other/other.yaml", &[0, 1, 2]),
            ("none.yaml", &[0, 1, 2]),
        ] {
            assert_eq!(overlays.variants_of(file), want, "{file}");
        }
        for (file, other, want) in [
            ("base/web.yaml", "prod/hpa.yaml", false),
            ("prod/hpa.yaml", "base/web.yaml", true),
            ("names/names.yaml", "prod/hpa.yaml", true),
            ("base/web.yaml", "other/other.yaml", true),
            ("base/web.yaml", "none.yaml", true),
        ] {
            assert_eq!(overlays.has_always(file, other), want, "{file} {other}");
        }
        let folders = ["dev", "prod", "test", "test-2"].map(PathBuf::from);
        assert_eq!((overlays.beside("dev/debug.yaml"), overlays.beside("base/web.yaml")), (Some(&folders[..]), None));
    }

    /// Each overlay of one base goes with each one of the other, whatever their names are.
    #[test]
    fn overlays_of_two_bases_go_together() {
        let overlays = overlays(&[
            ("a", of(&["web.yaml"])),
            ("a-dev", of(&["../a", "web.yaml", "../namespace.yaml"])),
            ("a-prod", of(&["../a", "web.yaml", "../namespace.yaml"])),
            ("b", of(&["web.yaml"])),
            ("b-x", of(&["../b", "web.yaml", "../namespace.yaml"])),
            ("b-y", of(&["../b", "web.yaml"])),
        ]);
        for (file, want) in [
            ("a/web.yaml", &[0, 1, 2, 3][..]),
            ("a-dev/web.yaml", &[0, 1]),
            ("a-prod/web.yaml", &[2, 3]),
            ("b-x/web.yaml", &[0, 2]),
            ("b-y/web.yaml", &[1, 3]),
            ("namespace.yaml", &[0, 1, 2, 3]),
        ] {
            assert_eq!(overlays.variants_of(file), want, "{file}");
        }
    }

    #[test]
    fn one_overlay_goes_with_its_base() {
        for (name, all) in [
            ("nothing", vec![]),
            ("a base", vec![("base", json!({ "resources": ["web.yaml"] }))]),
            (
                "one overlay",
                vec![("base", json!({ "resources": ["web.yaml"] })), ("prod", json!({ "bases": ["../base"] }))],
            ),
            (
                "overlays that are alike",
                vec![
                    ("base", json!({ "resources": ["web.yaml"] })),
                    ("dev", json!({ "bases": ["../base"] })),
                    ("prod", json!({ "bases": ["../base"], "patches": [{ "path": "replicas.yaml" }] })),
                ],
            ),
            (
                "applications that share a Namespace",
                vec![
                    ("base", json!({ "resources": ["namespace.yaml"] })),
                    ("a", json!({ "resources": ["../base", "a.yaml"] })),
                    ("b", json!({ "resources": ["../base", "b.yaml"] })),
                ],
            ),
            (
                "overlays that are applied together",
                vec![
                    ("base", json!({ "resources": ["web.yaml"] })),
                    ("a", json!({ "resources": ["../base", "a.yaml"] })),
                    ("b", json!({ "resources": ["../base", "b.yaml"] })),
                    ("all", json!({ "resources": ["../a", "../b"] })),
                ],
            ),
        ] {
            assert_eq!(overlays(&all).variants(), 1, "{name}");
        }
    }
}
