//! Which file defines what a path names: through modules, imports, re-exports and globs.

use std::collections::BTreeMap;

use self::Lookup::{Foreign, Nothing, Ours};
use super::syntax::{Binding, Path, Scope};
use super::tree::Tree;

/// The name of the library, as the program writes it.
const LIBRARY: &str = "roster";

/// A scope of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub file: usize,
    pub scope: usize,
}

/// The answer for one name or path.
pub(super) enum Lookup<T> {
    Ours {
        what: T,
        /// The files that hand it on, by `use`.
        through: Vec<usize>,
    },
    /// Another crate defines it, or the language.
    Foreign,
    Nothing,
}

/// How far a path leads through modules.
enum Walk {
    /// To the scopes in which the next name is looked up.
    To {
        scopes: Vec<Place>,
        module: Option<usize>,
        through: Vec<usize>,
    },
    /// To a type, whose associated items follow.
    Item {
        file: usize,
        through: Vec<usize>,
    },
    Foreign,
}

/// What is being looked up, so that a circle of imports ends.
type Trail = Vec<(Place, String, Namespace)>;

/// A module and an item may have the same name: `use engine::plan` brings in both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespace {
    Item,
    Module,
}

/// The names of both crates.
pub(super) struct Names<'a> {
    tree: &'a Tree,
    exported: BTreeMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    pub(super) fn new(tree: &'a Tree) -> Self {
        let exported = tree.files.iter().enumerate();
        let exported = exported.flat_map(|(file, f)| f.syntax.exported.iter().map(move |name| (name.as_str(), file)));
        Self { tree, exported: exported.collect() }
    }

    /// The file that defines the item at this path. An item that a macro makes cannot be seen, so a name that is found
    /// nowhere counts for the file of the module before it.
    pub(super) fn item(&self, at: Place, path: &Path) -> Lookup<usize> {
        self.item_at(at, path, &mut Trail::new())
    }

    /// The module at this path.
    pub(super) fn module(&self, at: Place, path: &Path) -> Lookup<usize> {
        self.module_at(at, path, &mut Trail::new())
    }

    /// The file that defines a macro which is called by its name alone: it is imported, or defined further out.
    pub(super) fn macro_named(&self, at: Place, name: &str) -> Lookup<usize> {
        if let found @ Ours { .. } = self.item_in(&self.around(at), name, &mut Trail::new()) {
            return found;
        }
        let mut module = Some(self.module_of(at));
        while let Some(here) = module.map(|m| &self.tree.modules[m]) {
            if self.scope(Place { file: here.file, scope: here.scope }).macros.contains(name) {
                return Ours { what: here.file, through: Vec::new() };
            }
            module = here.parent;
        }
        Nothing
    }

    /// Whether a `use` brings this name in.
    pub(super) fn is_imported(&self, at: Place, name: &str) -> bool {
        self.around(at).into_iter().any(|place| self.scope(place).uses.iter().any(|u| u.binds(name)))
    }

    fn item_at(&self, at: Place, path: &Path, trail: &mut Trail) -> Lookup<usize> {
        let Some((last, before)) = path.segments.split_last() else { return Nothing };
        if matches!(last.as_str(), "crate" | "self" | "super") {
            return Nothing;
        }
        let (scopes, module, through) = match self.walk(at, path, before, trail) {
            Walk::To { scopes, module, through } => (scopes, module, through),
            Walk::Item { file, through } => return Ours { what: file, through },
            Walk::Foreign => return Foreign,
        };
        match (self.item_in(&scopes, last, trail), module) {
            (Nothing, Some(module)) => match self.module_in(&scopes, last, trail) {
                Nothing => Ours { what: self.tree.modules[module].file, through },
                Foreign => Foreign,
                Ours { .. } => Nothing,
            },
            (found, _) => found.handed_on(through),
        }
    }

    fn module_at(&self, at: Place, path: &Path, trail: &mut Trail) -> Lookup<usize> {
        match self.walk(at, path, &path.segments, trail) {
            Walk::To { module: Some(what), through, .. } => Ours { what, through },
            Walk::To { module: None, .. } | Walk::Item { .. } => Nothing,
            Walk::Foreign => Foreign,
        }
    }

    /// Follows the first names of a path.
    fn walk(&self, at: Place, path: &Path, segments: &[String], trail: &mut Trail) -> Walk {
        let (mut module, mut rest) = self.start(at, segments);
        let mut through = Vec::new();
        if path.global && rest.first().is_none_or(|name| name != LIBRARY) {
            return Walk::Foreign;
        }
        while let Some((name, after)) = rest.split_first() {
            let scopes = module.map_or_else(|| self.around(at), |m| vec![self.place(m)]);
            match self.module_in(&scopes, name, trail) {
                Ours { what, through: more } => {
                    module = Some(what);
                    through.extend(more);
                }
                Foreign => return Walk::Foreign,
                Nothing => match (self.item_in(&scopes, name, trail), module) {
                    (Ours { what: file, through: more }, _) => {
                        through.extend(more);
                        return Walk::Item { file, through };
                    }
                    (Nothing, Some(module)) => return Walk::Item { file: self.tree.modules[module].file, through },
                    (Nothing, None) if name == LIBRARY && self.tree.library.is_some() => module = self.tree.library,
                    _ => return Walk::Foreign,
                },
            }
            rest = after;
        }
        let scopes = module.map_or_else(|| self.around(at), |m| vec![self.place(m)]);
        Walk::To { scopes, module, through }
    }

    /// The module that `crate`, `self` and `super` mean at the start of a path, and the names that follow.
    fn start<'p>(&self, at: Place, segments: &'p [String]) -> (Option<usize>, &'p [String]) {
        let here = self.module_of(at);
        let mut module = None;
        let mut rest = segments;
        while let Some((name, after)) = rest.split_first() {
            module = match (name.as_str(), module) {
                ("crate", None) => Some(self.tree.modules[here].root),
                ("self", None) => Some(here),
                ("super", from) => self.tree.modules[from.unwrap_or(here)].parent,
                _ => break,
            };
            rest = after;
        }
        (module, rest)
    }

    fn item_in(&self, scopes: &[Place], name: &str, trail: &mut Trail) -> Lookup<usize> {
        let own = |place: Place| {
            let scope = self.scope(place);
            let exported = self.tree.library.filter(|root| self.place(*root) == place);
            let exported = exported.and_then(|_| self.exported.get(name).copied());
            (scope.items.contains(name) || scope.macros.contains(name)).then_some(place.file).or(exported)
        };
        self.lookup(scopes, name, Namespace::Item, trail, own)
    }

    fn module_in(&self, scopes: &[Place], name: &str, trail: &mut Trail) -> Lookup<usize> {
        let own = |place: Place| {
            let module = self.module_of(place);
            let children = &self.tree.modules[module].children;
            if self.place(module) == place { children.get(name).copied() } else { None }
        };
        self.lookup(scopes, name, Namespace::Module, trail, own)
    }

    /// The innermost scope that has the name counts; in it, what it defines, then what it imports, then its globs.
    fn lookup(
        &self,
        scopes: &[Place],
        name: &str,
        namespace: Namespace,
        trail: &mut Trail,
        own: impl Fn(Place) -> Option<usize>,
    ) -> Lookup<usize> {
        for place in scopes.iter().copied() {
            if let Some(what) = own(place) {
                return Ours { what, through: Vec::new() };
            }
            let step = (place, name.to_owned(), namespace);
            if trail.contains(&step) {
                continue;
            }
            trail.push(step);
            let found = self.imported(place, name, namespace, trail);
            trail.pop();
            if !matches!(found, Nothing) {
                return found;
            }
        }
        Nothing
    }

    fn imported(&self, place: Place, name: &str, namespace: Namespace, trail: &mut Trail) -> Lookup<usize> {
        let mut foreign = false;
        for import in self.scope(place).uses.iter().filter(|u| u.binds(name)) {
            let found = match namespace {
                Namespace::Item => self.item_at(place, &import.path, trail),
                Namespace::Module => self.module_at(place, &import.path, trail),
            };
            match found {
                Ours { .. } => return found.handed_on(vec![place.file]),
                Foreign => foreign = true,
                Nothing => {}
            }
        }
        if foreign {
            return Foreign;
        }
        for glob in self.scope(place).uses.iter().filter(|u| u.binds == Binding::Glob) {
            let Ours { what: module, .. } = self.module_at(place, &glob.path, trail) else { continue };
            let scopes = [self.place(module)];
            let found = match namespace {
                Namespace::Item => self.item_in(&scopes, name, trail),
                Namespace::Module => self.module_in(&scopes, name, trail),
            };
            if matches!(found, Ours { .. }) {
                return found.handed_on(vec![place.file]);
            }
        }
        Nothing
    }

    fn scope(&self, place: Place) -> &Scope {
        &self.tree.files[place.file].syntax.scopes[place.scope]
    }

    fn module_of(&self, place: Place) -> usize {
        self.tree.files[place.file].modules[place.scope]
    }

    /// Where the items of a module are.
    fn place(&self, module: usize) -> Place {
        let module = &self.tree.modules[module];
        Place { file: module.file, scope: module.scope }
    }

    /// This scope, and those around it up to its module.
    fn around(&self, at: Place) -> Vec<Place> {
        let module = self.place(self.module_of(at));
        let mut places = vec![at];
        let mut inner = at;
        while inner != module
            && let Some(scope) = self.scope(inner).parent
        {
            inner = Place { scope, ..inner };
            places.push(inner);
        }
        places
    }
}

impl<T> Lookup<T> {
    /// The same, handed on by these files too.
    fn handed_on(mut self, more: Vec<usize>) -> Self {
        if let Ours { through, .. } = &mut self {
            through.extend(more);
        }
        self
    }
}
