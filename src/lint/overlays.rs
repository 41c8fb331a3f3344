//! Overlays: kustomizations that share a base, so that a cluster has the objects of one of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::kustomization::{Kustomizations, normal};

/// Most kustomizations and files that are looked at: thousands of kustomizations could name each other.
const MOST: usize = 1 << 18;
/// Most overlays of a base that are kept apart: all objects are compared once for each.
const MAX_OVERLAYS: usize = 16;

/// Which files belong to which overlay of a base.
///
/// An overlay is a kustomization that no other one names. Overlays that reach one file are alternatives. All other
/// kustomizations, and files that none names, may be applied to one cluster.
#[derive(Clone, Debug, Default)]
pub struct Overlays {
    /// The overlays of each base, by their folders.
    families: Vec<Vec<PathBuf>>,
    /// By file: the family, and the places of the overlays that reach it.
    files: BTreeMap<PathBuf, (usize, BTreeSet<usize>)>,
}

impl Overlays {
    /// The overlays among these kustomizations.
    pub fn of(kustomizations: &Kustomizations) -> Self {
        let mut room = MOST;
        let named: BTreeSet<&Path> =
            kustomizations.folders().flat_map(|folder| kustomizations.named_by(folder)).collect();
        let roots: Vec<&Path> = kustomizations.folders().filter(|folder| !named.contains(folder)).collect();
        let mut roots_of: BTreeMap<&PathBuf, Vec<usize>> = BTreeMap::new();
        for (root, folder) in roots.iter().enumerate() {
            let files = kustomizations.files(folder, &mut room);
            let Some(left) = room.checked_sub(files.len()) else { return Self::default() };
            room = left;
            for file in files {
                roots_of.entry(file).or_default().push(root);
            }
        }
        let mut members = families(roots.len(), roots_of.values());
        members.retain(|_, roots| (2..=MAX_OVERLAYS).contains(&roots.len()));
        let place_of: BTreeMap<usize, (usize, usize)> = members
            .values()
            .enumerate()
            .flat_map(|(family, roots)| roots.iter().enumerate().map(move |(place, root)| (*root, (family, place))))
            .collect();
        let place = |roots: Vec<usize>| {
            let places: Vec<(usize, usize)> = roots.iter().filter_map(|root| place_of.get(root)).copied().collect();
            Some((places.first()?.0, places.iter().map(|(_, place)| *place).collect()))
        };
        Self {
            families: members.values().map(|all| all.iter().map(|root| roots[*root].to_owned()).collect()).collect(),
            files: roots_of.into_iter().filter_map(|(file, roots)| Some((file.clone(), place(roots)?))).collect(),
        }
    }

    /// How often objects are compared, so that those of each overlay are once without those of the others.
    pub fn variants(&self) -> usize {
        self.families.iter().map(Vec::len).max().unwrap_or(1)
    }

    /// Whether the objects of a file are among those of a variant, which has one overlay of each base.
    pub fn is_in(&self, variant: usize, file: &str) -> bool {
        let Some((family, overlays)) = self.files.get(&normal(Path::new(file))) else { return true };
        self.families.get(*family).is_none_or(|all| overlays.contains(&(variant % all.len())))
    }

    /// Whether each overlay that has the objects of `file` has those of `other`, too.
    pub fn has_always(&self, file: &str, other: &str) -> bool {
        let of = |file: &str| self.files.get(&normal(Path::new(file)));
        match (of(file), of(other)) {
            (Some((family, overlays)), Some((other, of_other))) => family != other || overlays.is_subset(of_other),
            _ => true,
        }
    }

    /// The overlays of the base of a file, if not all of them have its objects.
    pub fn beside(&self, file: &str) -> Option<&[PathBuf]> {
        let (family, overlays) = self.files.get(&normal(Path::new(file)))?;
        let all = self.families.get(*family)?;
        (overlays.len() < all.len()).then_some(all)
    }
}

/// The members of each family, by the first of them. `together` are some that belong together.
fn families<'t>(count: usize, together: impl Iterator<Item = &'t Vec<usize>>) -> BTreeMap<usize, Vec<usize>> {
    let mut parents: Vec<usize> = (0..count).collect();
    for some in together {
        let Some((first, others)) = some.split_first() else { continue };
        for other in others {
            let (a, b) = (first_of(&mut parents, *first), first_of(&mut parents, *other));
            parents[a.max(b)] = a.min(b);
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for member in 0..count {
        members.entry(first_of(&mut parents, member)).or_default().push(member);
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

    fn overlays(all: &[(&str, Value)]) -> Overlays {
        let mut kustomizations = Kustomizations::default();
        for (folder, content) in all {
            let raw = serde_json::value::to_raw_value(content).unwrap();
            kustomizations.add(&format!("{folder}/kustomization.yaml"), &raw);
        }
        Overlays::of(&kustomizations)
    }

    #[test]
    fn overlays_of_one_base_are_apart() {
        let of = |resources: &[&str]| json!({ "resources": resources });
        let overlays = overlays(&[
            ("base", of(&["web.yaml"])),
            ("dev", of(&["../base", "debug.yaml"])),
            ("prod", of(&["../base", "hpa.yaml", "../names"])),
            ("names", json!({ "kind": "Component", "resources": ["names.yaml"] })),
            // Nothing of it is in the others.
            ("other", of(&["other.yaml"])),
            ("test", of(&["../base"])),
        ]);
        assert_eq!(overlays.variants(), 3);
        for (file, want) in [
            ("base/web.yaml", [true, true, true]),
            ("./dev/debug.yaml", [true, false, false]),
            ("prod/hpa.yaml", [false, true, false]),
            ("names/names.yaml", [false, true, false]),
            ("other/other.yaml", [true, true, true]),
            ("none.yaml", [true, true, true]),
        ] {
            assert_eq!([0, 1, 2].map(|variant| overlays.is_in(variant, file)), want, "{file}");
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
        let folders = ["dev", "prod", "test"].map(PathBuf::from);
        assert_eq!((overlays.beside("dev/debug.yaml"), overlays.beside("base/web.yaml")), (Some(&folders[..]), None));
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
