//! Kustomizations, which name each other and files, as a graph.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use roster_engine::model::HashSeed;

use super::kustomization::{Kustomization, Kustomizations};

/// Kustomizations, and the files that they name. Each folder and each file has a number; those of folders are in the order of
/// their paths.
#[derive(Debug)]
pub(super) struct KustomizationGraph<'k> {
    nodes: Vec<KustomizationNode<'k>>,
    files: Vec<&'k Path>,
}

/// A kustomization, with the numbers of what it names.
#[derive(Debug)]
pub(super) struct KustomizationNode<'k> {
    pub(super) folder: &'k Path,
    pub(super) kustomization: &'k Kustomization,
    /// The folders among its resources.
    pub(super) bases: Vec<usize>,
    components: Vec<usize>,
    files: Vec<usize>,
    /// The nodes with the files that it reaches through its bases and components. Those that have no file and one such node
    /// themselves are passed over, so that a chain of them is one step.
    next: Vec<usize>,
    /// Whether it, or one that it reaches, changes names or namespaces.
    pub(super) renames: bool,
}

impl<'k> KustomizationGraph<'k> {
    pub(super) fn of(all: &'k Kustomizations) -> Self {
        let folders: HashMap<&Path, usize, HashSeed> =
            all.iter().enumerate().map(|(number, (folder, _))| (folder, number)).collect();
        let mut files: HashMap<&Path, usize, HashSeed> = HashMap::default();
        let mut this = Self { nodes: Vec::with_capacity(folders.len()), files: Vec::new() };
        for (folder, kustomization) in all.iter() {
            let mut node = KustomizationNode::new(folder, kustomization);
            let Kustomization { resources, components, .. } = kustomization;
            for (named, folders_of) in [(resources, &mut node.bases), (components, &mut node.components)] {
                for path in named {
                    if let Some(folder) = folders.get(path.as_path()) {
                        folders_of.push(*folder);
                        continue;
                    }
                    let next = this.files.len();
                    let file = *files.entry(path).or_insert(next);
                    if file == next {
                        this.files.push(path);
                    }
                    node.files.push(file);
                }
            }
            node.files = sorted(node.files);
            this.nodes.push(node);
        }
        this.set_reach();
        this
    }

    /// Sets what each node reaches, after all that it names. A circle has none that is first: kustomize refuses it, and what is
    /// renamed in one is not known everywhere in it.
    fn set_reach(&mut self) {
        // Each node, and if it is passed over, the one that follows.
        let mut ends: Vec<Option<usize>> = (0..self.nodes.len()).map(Some).collect();
        let mut seen = vec![false; self.nodes.len()];
        let mut open: Vec<(usize, bool)> = (0..self.nodes.len()).map(|node| (node, false)).collect();
        // Without recursion: a chain is as long as the input allows.
        while let Some((number, is_below_done)) = open.pop() {
            let node = &self.nodes[number];
            if is_below_done {
                let next = node.named().filter_map(|below| ends[below]).filter(|end| *end != number);
                let next = sorted(next.collect());
                if node.files.is_empty() && next.len() < 2 {
                    ends[number] = next.first().copied();
                }
                let renames = node.renames || node.named().any(|below| self.nodes[below].renames);
                (self.nodes[number].next, self.nodes[number].renames) = (next, renames);
            } else if !std::mem::replace(&mut seen[number], true) {
                open.push((number, true));
                open.extend(node.named().map(|below| (below, false)));
            }
        }
    }

    /// The number of kustomizations.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, number: usize) -> &KustomizationNode<'k> {
        &self.nodes[number]
    }

    /// The path of a file.
    pub(super) fn file(&self, number: usize) -> &'k Path {
        self.files[number]
    }

    /// The kustomizations that no other one names.
    pub(super) fn roots(&self) -> Vec<usize> {
        let named: HashSet<usize, HashSeed> = self.nodes.iter().flat_map(KustomizationNode::named).collect();
        (0..self.nodes.len()).filter(|node| !named.contains(node)).collect()
    }

    /// The files of a kustomization and of those that it names, itself or through others. All that is looked at takes some of
    /// the room; `None` if there is not so much.
    pub(super) fn files_of(&self, number: usize, room: &mut usize) -> Option<Vec<usize>> {
        let reached = self.walk(number, room, |node| node.next.iter().copied())?;
        let files = reached.into_iter().flat_map(|node| &self.nodes[node].files);
        let files: Vec<usize> = files.copied().collect();
        *room = room.checked_sub(files.len())?;
        Some(sorted(files))
    }

    /// A kustomization, and all that it names, itself or through others, in the order of their folders.
    pub(super) fn reached(&self, number: usize, room: &mut usize) -> Option<Vec<usize>> {
        self.walk(number, room, KustomizationNode::named).map(sorted)
    }

    /// A kustomization with its components, and with those of these: they change the same objects.
    pub(super) fn with_components(&self, number: usize, room: &mut usize) -> Option<Vec<usize>> {
        self.walk(number, room, |node| node.components.iter().copied())
    }

    /// A node, and those that lead on from it.
    fn walk<'g, I: Iterator<Item = usize>>(
        &'g self,
        number: usize,
        room: &mut usize,
        next: impl Fn(&'g KustomizationNode<'k>) -> I,
    ) -> Option<Vec<usize>> {
        let (mut reached, mut seen, mut open) = (Vec::new(), HashSet::<usize, HashSeed>::default(), vec![number]);
        while let Some(number) = open.pop() {
            *room = room.checked_sub(1)?;
            if seen.insert(number) {
                reached.push(number);
                open.extend(next(&self.nodes[number]));
            }
        }
        Some(reached)
    }
}

impl<'k> KustomizationNode<'k> {
    fn new(folder: &'k Path, kustomization: &'k Kustomization) -> Self {
        let renames = kustomization.renames;
        let [bases, components, files, next] = Default::default();
        Self { folder, kustomization, bases, components, files, next, renames }
    }

    /// The kustomizations that it names.
    fn named(&self) -> impl Iterator<Item = usize> {
        self.bases.iter().chain(&self.components).copied()
    }
}

/// The same numbers, sorted, each once.
fn sorted(mut numbers: Vec<usize>) -> Vec<usize> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

    use serde_json::json;

    use super::*;

    /// Kustomizations in folders `k0`, `k1` …, and what each names: numbers of others, and files.
    fn kustomizations(all: &[(Vec<usize>, Vec<&str>)]) -> Kustomizations {
        let mut kustomizations = Kustomizations::new(|_| None, PathBuf::new());
        for (number, (others, files)) in all.iter().enumerate() {
            let others: Vec<String> = others.iter().map(|other| format!("../k{other}")).collect();
            // Bases and components lead on in the same way.
            let (bases, components) = others.split_at(others.len() / 2);
            let content = json!({ "resources": files, "bases": bases, "components": components });
            let raw = serde_json::value::to_raw_value(&content).unwrap();
            kustomizations.add(&format!("k{number}/kustomization.yaml"), &raw);
        }
        kustomizations
    }

    /// The files that a kustomization reaches, by the definition.
    fn reached<'a>(all: &[(Vec<usize>, Vec<&'a str>)], from: usize) -> BTreeSet<(usize, &'a str)> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(number) = open.pop() {
            if seen.insert(number) {
                open.extend(&all[number].0);
            }
        }
        seen.into_iter().flat_map(|number| all[number].1.iter().map(move |file| (number, *file))).collect()
    }

    #[test]
    fn files_are_reached_in_chains_and_circles() {
        for (name, all) in [
            ("a chain", vec![(vec![], vec!["a"]), (vec![0], vec![]), (vec![1], vec![]), (vec![2], vec!["b"])]),
            ("nothing at its end", vec![(vec![], vec![]), (vec![0], vec![]), (vec![1, 0], vec!["a"])]),
            ("two ways", vec![(vec![], vec!["a"]), (vec![0], vec![]), (vec![0], vec![]), (vec![1, 2], vec![])]),
            ("itself", vec![(vec![0], vec!["a"]), (vec![1], vec![]), (vec![0, 1], vec![])]),
            ("a circle", vec![(vec![2], vec![]), (vec![0], vec!["a"]), (vec![1], vec![]), (vec![2], vec![])]),
            ("a circle without files", vec![(vec![1], vec![]), (vec![0], vec![]), (vec![1], vec!["a"])]),
            (
                "two circles",
                vec![(vec![1, 2], vec![]), (vec![0], vec!["a"]), (vec![0, 3], vec![]), (vec![2], vec!["b"])],
            ),
            ("the same file twice", vec![(vec![], vec!["a", "./a"]), (vec![0, 0], vec![])]),
        ] {
            let kustomizations = kustomizations(&all);
            let graph = KustomizationGraph::of(&kustomizations);
            for number in 0..all.len() {
                let found = graph.files_of(number, &mut { 1000 }).unwrap();
                let found: BTreeSet<&Path> = found.into_iter().map(|file| graph.file(file)).collect();
                let want = reached(&all, number).into_iter().map(|(number, file)| format!("k{number}/{file}"));
                let want: BTreeSet<String> = want.map(|file| file.replace("./", "")).collect();
                assert_eq!(found, want.iter().map(Path::new).collect(), "{name}, {number}");
            }
        }
    }

    /// A chain takes one step, and where there is no room, there is no answer.
    #[test]
    fn a_long_chain_is_one_step() {
        const LENGTH: usize = 50_000;
        let mut all = vec![(Vec::new(), vec!["a"])];
        all.extend((1..LENGTH).map(|number| (vec![number - 1], Vec::new())));
        let kustomizations = kustomizations(&all);
        let graph = KustomizationGraph::of(&kustomizations);
        let [root] = graph.roots()[..] else { panic!("{} roots", graph.roots().len()) };
        assert_eq!(graph.files_of(root, &mut { 3 }), Some(vec![0]));
        assert_eq!(graph.files_of(root, &mut { 2 }), None);
        assert_eq!(graph.reached(root, &mut { LENGTH }).map(|all| all.len()), Some(LENGTH));
        assert_eq!(graph.reached(root, &mut { LENGTH - 1 }), None);
    }
}
