//! Units: what of an input is applied together, and what is nearest to it.
//!
//! A unit is the output of a renderer, a request, the files of one folder, or one file. The files of a folder are a unit
//! unless two of them have the same object: then they are versions of each other, and each is a unit. Objects of one unit may
//! conflict. What an object refers to is looked for in its own unit first, and then in the nearest folder that has it.

mod folder_tree;
mod template_reach;

use std::{collections::HashMap, ops::Range};

use roster_engine::model::{HashSeed, ObjectKey};

use folder_tree::{FolderNumber, FolderTree, parts};
pub use template_reach::TemplateReach;

/// The units of an input. Documents are numbered in the order of [`Units::order`].
#[derive(Debug, Default)]
pub struct Units {
    tree: FolderTree,
    files: Vec<FilePlace>,
    /// The documents of each folder itself.
    folders: Vec<Range<usize>>,
}

/// Where the documents of a file are.
#[derive(Clone, Debug)]
struct FilePlace {
    documents: Range<usize>,
    folder: FolderNumber,
    /// Whether the file is a unit of its own.
    is_unit: bool,
}

/// A file, by what units depend on.
#[derive(Clone, Debug)]
pub struct UnitFile<'a> {
    /// Its path, with `/` between the parts; any name for other inputs.
    pub name: &'a str,
    /// Whether its objects are applied by themselves: standard input, a request, the output of a renderer.
    pub is_apart: bool,
    /// Its objects, one for each document.
    pub objects: Vec<ObjectKey>,
}

impl Units {
    /// The order in which units need their files: those of a folder beside each other, and before those of the folders in it.
    pub fn order(names: &[&str]) -> Vec<usize> {
        let folders: Vec<Vec<&str>> = names.iter().map(|name| parts(name)).collect();
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|a, b| folders[*a].cmp(&folders[*b]));
        order
    }

    /// The units of some files, which are in [order](Self::order).
    pub fn of(files: &[UnitFile<'_>]) -> Self {
        let paths: Vec<Vec<&str>> = files.iter().map(|file| parts(file.name)).collect();
        let (tree, numbers) = FolderTree::of(&paths);
        let mut this = Self { folders: vec![0..0; tree.below(0).end], tree, files: Vec::with_capacity(files.len()) };
        let mut end = 0;
        for (file, folder) in files.iter().zip(&numbers) {
            let documents = end..end + file.objects.len();
            end = documents.end;
            this.files.push(FilePlace { documents, folder: *folder, is_unit: file.is_apart });
        }
        this.end_folders();
        for of_folder in this.files_of_folders() {
            let together = || of_folder.clone().filter(|file| !files[*file].is_apart);
            if have_same_object(together().map(|file| files[file].objects.as_slice())) {
                of_folder.clone().for_each(|file| this.files[file].is_unit = true);
            }
        }
        this
    }

    /// Everything in one unit.
    pub fn one(documents: usize) -> Self {
        let files = vec![FilePlace { documents: 0..documents, folder: 0, is_unit: true }];
        let (tree, _) = FolderTree::of(&[]);
        Self { tree, files, folders: std::iter::once(0..documents).collect() }
    }

    /// Sets the documents of all folders, also of those that have no file.
    fn end_folders(&mut self) {
        let mut files = self.files.iter().peekable();
        let mut end = 0;
        for (number, folder) in self.folders.iter_mut().enumerate() {
            let start = end;
            while let Some(file) = files.next_if(|file| file.folder == number) {
                end = file.documents.end;
            }
            *folder = start..end;
        }
    }

    /// The numbers of the files of each folder that has some.
    fn files_of_folders(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let of_folder = |files: &[FilePlace]| {
            let from = start;
            start += files.len();
            from..start
        };
        self.files.chunk_by(|a, b| a.folder == b.folder).map(of_folder).collect()
    }

    fn file_of(&self, document: usize) -> Option<&FilePlace> {
        self.files.get(self.files.partition_point(|file| file.documents.end <= document))
    }

    /// The documents of the file of a document.
    pub fn file(&self, document: usize) -> Range<usize> {
        self.file_of(document).map_or(document..document + 1, |file| file.documents.clone())
    }

    /// The documents that are applied together with a document.
    pub fn unit(&self, document: usize) -> Range<usize> {
        match self.file_of(document) {
            Some(file) if file.is_unit => file.documents.clone(),
            Some(file) => self.folders[file.folder].clone(),
            None => document..document + 1,
        }
    }

    /// Where to look for what a document refers to: its unit, the other files of its folder, those of the folders in it, and
    /// then the same of each folder above. Each range contains those before it, but for the unit of standard input or a request.
    pub fn nearest(&self, document: usize) -> impl Iterator<Item = Range<usize>> {
        let folder = self.file_of(document).map(|file| file.folder);
        let own = folder.map(|folder| self.folders[folder].clone());
        let upwards = folder.into_iter().flat_map(|folder| self.tree.upwards(folder));
        let below = upwards.map(|folder| {
            let folders = &self.folders[self.tree.below(folder)];
            folders.first().map_or(0, |first| first.start)..folders.last().map_or(0, |last| last.end)
        });
        std::iter::once(self.unit(document)).chain(own).chain(below)
    }
}

/// Whether two files have an object of the same kind, namespace and name.
fn have_same_object<'k>(files: impl Iterator<Item = &'k [ObjectKey]>) -> bool {
    let mut first: HashMap<&ObjectKey, usize, HashSeed> = HashMap::default();
    for (file, objects) in files.enumerate() {
        for key in objects.iter().filter(|key| !key.name.is_empty()) {
            if *first.entry(key).or_insert(file) != file {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files with their objects, one letter each.
    fn units(files: &[(&'static str, &str)]) -> Units {
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        assert_eq!(Units::order(&names), (0..names.len()).collect::<Vec<_>>(), "the rows are in order");
        let key = |name: char| ObjectKey::new("Service", &"default".into(), &name.to_string().into());
        let file = |(name, objects): &(&'static str, &str)| UnitFile {
            name,
            is_apart: *name == "-",
            objects: objects.chars().map(key).collect(),
        };
        Units::of(&files.iter().map(file).collect::<Vec<_>>())
    }

    #[test]
    fn the_files_of_a_folder_are_a_unit_unless_they_are_versions() {
        for (files, want) in [
            (&[("a.yaml", "ab"), ("b.yaml", "c")][..], &[0..3, 0..3][..]),
            (&[("a.yaml", "ab"), ("b.yaml", "b")], &[0..2, 2..3]),
            (&[("a.yaml", "ab"), ("b.yaml", "b"), ("c.yaml", "d")], &[0..2, 2..3, 3..4]),
            // A file may repeat an object: that is a conflict in it.
            (&[("a.yaml", "aa"), ("b.yaml", "b")], &[0..3, 0..3]),
            (&[("-", "a"), ("b.yaml", "a")], &[0..1, 0..2]),
            (&[("x/a.yaml", "a"), ("y/a.yaml", "a"), ("y/b.yaml", "b")], &[0..1, 1..3, 1..3]),
            (&[("a.yaml", "a"), ("x/y/a.yaml", "b")], &[0..1, 1..2]),
        ] {
            let units = units(files);
            let firsts = files.iter().scan(0, |end, (_, objects)| Some(std::mem::replace(end, *end + objects.len())));
            assert_eq!(firsts.map(|document| units.unit(document)).collect::<Vec<_>>(), want, "{files:?}");
        }
    }

    #[test]
    fn the_nearest_folder_comes_first() {
        let files =
            [("top.yaml", "a"), ("x/1.yaml", "b"), ("x/2.yaml", "bc"), ("x/in/3.yaml", "d"), ("y/z/4.yaml", "e")];
        let units = units(&files);
        let nearest = |document| units.nearest(document).collect::<Vec<_>>();
        assert_eq!(nearest(0), [0..1, 0..1, 0..6]);
        assert_eq!(nearest(2), [2..4, 1..4, 1..5, 0..6]);
        assert_eq!(nearest(5), [5..6, 5..6, 5..6, 5..6, 0..6]);
        assert_eq!(Units::one(3).nearest(1).next(), Some(0..3));
    }
}
