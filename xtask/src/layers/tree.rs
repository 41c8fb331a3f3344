//! The modules of both crates, from `src/lib.rs` and `src/main.rs` on, as `mod` declarations list them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::reader;
use super::syntax::{Declaration, Syntax};

/// The text of every Rust file below `src/`, by its path from the root of the repository.
pub(super) type Sources = BTreeMap<String, String>;

/// The files of the crates that are not tests, and the modules in them.
#[derive(Default)]
pub(super) struct Tree {
    pub files: Vec<File>,
    pub modules: Vec<Module>,
    /// The module of `src/lib.rs`.
    pub library: Option<usize>,
}

/// One file of a crate.
pub(super) struct File {
    pub path: String,
    pub syntax: Syntax,
    /// The module of each scope: its own, or that around the block.
    pub modules: Vec<usize>,
}

/// A module: which scope of which file it is, and what is around it and in it.
pub(super) struct Module {
    pub file: usize,
    pub scope: usize,
    pub parent: Option<usize>,
    /// The root of its crate.
    pub root: usize,
    pub children: BTreeMap<String, usize>,
}

/// A file that is to be read, and where it belongs.
struct NextFile {
    path: String,
    /// The folder in which its children are.
    folder: String,
    /// Its name, and the module that declares it; a root has neither.
    declared: Option<(String, usize)>,
}

impl Tree {
    /// Reads the files of both crates. A file that does not parse and a module without a file are errors.
    pub(super) fn read(sources: &Sources) -> Result<Self> {
        let mut tree = Self::default();
        let root = |path: &str| NextFile { path: path.to_owned(), folder: "src".to_owned(), declared: None };
        let roots = ["src/lib.rs", "src/main.rs"].into_iter().filter(|path| sources.contains_key(*path));
        let mut queue: Vec<NextFile> = roots.map(root).collect();
        let mut seen: BTreeSet<String> = queue.iter().map(|p| p.path.clone()).collect();
        while !queue.is_empty() {
            let read = parse(sources, &queue);
            let mut next = Vec::new();
            for (file, syntax) in queue.into_iter().zip(read) {
                if let Some(syntax) = syntax? {
                    next.extend(tree.add(sources, file, syntax)?);
                }
            }
            // Two declarations, under different features, may name one file.
            next.retain(|p| seen.insert(p.path.clone()));
            queue = next;
        }
        Ok(tree)
    }

    /// Adds a file with the modules in it, and returns the files that it declares.
    fn add(&mut self, sources: &Sources, next: NextFile, syntax: Syntax) -> Result<Vec<NextFile>> {
        let NextFile { path, folder, declared } = next;
        let file = self.files.len();
        let mut modules: Vec<usize> = Vec::new();
        let mut folders: Vec<String> = Vec::new();
        let mut found = Vec::new();
        for (scope, content) in syntax.scopes.iter().enumerate() {
            let outer = content.parent.map(|parent| (modules[parent], folders[parent].clone()));
            let (module, below) = match (outer, &content.module) {
                (None, _) => (self.module(file, scope, declared.clone()), folder.clone()),
                (Some((parent, above)), Some(name)) => {
                    (self.module(file, scope, Some((name.clone(), parent))), format!("{above}/{name}"))
                }
                (Some(outer), None) => outer,
            };
            let home = Home { module, file: &path, folder: &below, inline: content.module.is_some() };
            for declaration in &content.declarations {
                found.push(home.locate(sources, declaration)?);
            }
            modules.push(module);
            folders.push(below);
        }
        if path == "src/lib.rs" {
            self.library = modules.first().copied();
        }
        self.files.push(File { path, syntax, modules });
        Ok(found)
    }

    fn module(&mut self, file: usize, scope: usize, declared: Option<(String, usize)>) -> usize {
        let module = self.modules.len();
        let parent = declared.as_ref().map(|(_, parent)| *parent);
        let root = parent.map_or(module, |parent| self.modules[parent].root);
        if let Some((name, parent)) = declared {
            // Of two variants of a module under different features, the first counts.
            self.modules[parent].children.entry(name).or_insert(module);
        }
        self.modules.push(Module { file, scope, parent, root, children: BTreeMap::new() });
        module
    }
}

/// The module around a declaration.
struct Home<'a> {
    module: usize,
    file: &'a str,
    /// The folder in which its children are.
    folder: &'a str,
    inline: bool,
}

impl Home<'_> {
    /// Finds the file of a declaration, by the rules of Rust.
    fn locate(&self, sources: &Sources, declaration: &Declaration) -> Result<NextFile> {
        let Declaration { name, path, line } = declaration;
        let declared = Some((name.clone(), self.module));
        if let Some(given) = path {
            let base = if self.inline { self.folder } else { parent_of(self.file) };
            let path = plain(&format!("{base}/{given}"));
            ensure!(sources.contains_key(&path), "{}:{line}: mod {name}: there is no {path}", self.file);
            let folder = parent_of(&path).to_owned();
            return Ok(NextFile { path, folder, declared });
        }
        let folder = format!("{}/{name}", self.folder);
        let places = [format!("{folder}.rs"), format!("{folder}/mod.rs")];
        match places.iter().find(|place| sources.contains_key(*place)) {
            Some(path) => Ok(NextFile { path: path.clone(), folder, declared }),
            None => bail!("{}:{line}: mod {name}: there is neither {} nor {}", self.file, places[0], places[1]),
        }
    }
}

fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Without `.` and `..`.
fn plain(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Parses files on all cores, in order.
fn parse(sources: &Sources, queue: &[NextFile]) -> Vec<Result<Option<Syntax>>> {
    let one = |next: &NextFile| {
        let path = &next.path;
        let text = sources.get(path).with_context(|| format!("there is no {path}"))?;
        reader::read(text).map_err(|error| anyhow!("{path}:{}: {error}", error.span().start().line))
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = queue.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let parts = queue.chunks(share).map(|part| scope.spawn(move || part.iter().map(one).collect::<Vec<_>>()));
        let running: Vec<_> = parts.collect();
        running
            .into_iter()
            .flat_map(|thread| {
                thread.join().unwrap_or_else(|_| vec![Err(anyhow!("a thread that reads files panicked"))])
            })
            .collect()
    })
}
