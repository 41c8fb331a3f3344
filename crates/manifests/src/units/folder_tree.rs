//! The folders of files, in the order of their paths.

use std::ops::Range;

/// The deepest folder that has a number of its own: those below it count as one.
const MAX_DEPTH: usize = 64;

/// A number of a folder: those below a folder follow it.
pub(super) type FolderNumber = usize;

/// Folders in the order of their paths, with all folders above them.
#[derive(Debug, Default)]
pub(super) struct FolderTree {
    /// The folder above each one; the first one is its own.
    parents: Vec<FolderNumber>,
    /// The end of the numbers of those below each one.
    ends: Vec<FolderNumber>,
}

impl FolderTree {
    /// The tree of some folders, which are sorted by [`parts`], and the number of each.
    pub(super) fn of(folders: &[Vec<&str>]) -> (Self, Vec<FolderNumber>) {
        let mut this = Self { parents: vec![0], ends: vec![1] };
        // The numbers from the root to the last folder.
        let mut open = vec![0];
        let mut last: &[&str] = &[];
        let mut numbers = Vec::with_capacity(folders.len());
        for folder in folders {
            let common = folder.iter().zip(last).take_while(|(a, b)| a == b).count();
            this.close(&mut open, common + 1);
            for _ in common..folder.len() {
                let number = this.parents.len();
                this.parents.push(open.last().copied().unwrap_or_default());
                this.ends.push(number + 1);
                open.push(number);
            }
            numbers.push(open.last().copied().unwrap_or_default());
            last = folder;
        }
        this.close(&mut open, 0);
        (this, numbers)
    }

    /// Ends the folders beyond a depth.
    fn close(&mut self, open: &mut Vec<FolderNumber>, depth: usize) {
        let end = self.parents.len();
        for number in open.drain(depth.min(open.len())..) {
            self.ends[number] = end;
        }
    }

    /// The numbers of a folder and of all below it.
    pub(super) fn below(&self, folder: FolderNumber) -> Range<FolderNumber> {
        folder..self.ends[folder]
    }

    /// A folder and those above it, from the innermost.
    pub(super) fn upwards(&self, folder: FolderNumber) -> impl Iterator<Item = FolderNumber> + '_ {
        std::iter::successors(Some(folder), |&number| (number > 0).then(|| self.parents[number]))
    }
}

/// The parts of the path to the folder of a file.
pub(super) fn parts(file: &str) -> Vec<&str> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    folder.split('/').filter(|part| !part.is_empty() && *part != ".").take(MAX_DEPTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_below_one_follow_it() {
        let mut folders: Vec<Vec<&str>> = ["a/b/x", "a/y", "z", "c/d/x", "a/b/c/x"].into_iter().map(parts).collect();
        folders.sort_unstable();
        let (tree, numbers) = FolderTree::of(&folders);
        // The root, a, a/b, a/b/c, c, c/d.
        assert_eq!(numbers, [0, 1, 2, 3, 5]);
        let below: Vec<_> = (0..6).map(|folder| tree.below(folder)).collect();
        assert_eq!(below, [0..6, 1..4, 2..4, 3..4, 4..6, 5..6]);
        let upwards: Vec<_> = tree.upwards(3).collect();
        assert_eq!(upwards, [3, 2, 1, 0]);
    }

    #[test]
    fn the_parts_of_a_path_are_those_of_its_folder() {
        for (file, want) in [("x", &[][..]), ("./x", &[]), ("a//b/x", &["a", "b"]), ("/a/x", &["a"]), ("../x", &[".."])]
        {
            assert_eq!(parts(file), want, "{file}");
        }
        assert_eq!(parts(&"a/".repeat(100)).len(), MAX_DEPTH);
    }
}
