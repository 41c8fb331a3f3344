//! The arrows between files: who names what, where, and whether it needs it.

use super::names::{Lookup, Names, Place};
use super::syntax::{Binding, Mention, Path, Role, Use};
use super::tree::Tree;

/// One import or mention of what another file defines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrow {
    pub from: usize,
    pub line: usize,
    /// The path, as it is written.
    pub name: String,
    /// The file that defines it.
    pub to: usize,
    /// Whether `from` needs what is in `to`. A re-export only hands it on, and the import of a module only shortens the
    /// paths that begin with it: who uses these has the arrow.
    pub needs: bool,
    /// The files that hand the name on.
    pub through: Vec<usize>,
    /// A `use` of the same file names where this path begins.
    pub shortened: bool,
}

/// All arrows, sorted by file and line.
pub(super) fn arrows(tree: &Tree) -> Vec<Arrow> {
    let names = Names::new(tree);
    let mut arrows = Vec::new();
    for (file, content) in tree.files.iter().enumerate() {
        for (scope, uses) in content.syntax.scopes.iter().enumerate() {
            let at = Place { file, scope };
            arrows.extend(uses.uses.iter().filter_map(|import| of_import(tree, &names, at, import)));
        }
        arrows.extend(content.syntax.mentions.iter().filter_map(|mention| of_mention(tree, &names, file, mention)));
    }
    arrows.retain(|arrow| arrow.from != arrow.to || !arrow.through.is_empty());
    arrows.sort();
    arrows.dedup();
    arrows
}

fn of_import(tree: &Tree, names: &Names<'_>, at: Place, import: &Use) -> Option<Arrow> {
    let item = names.item(at, &import.path);
    let module = || names.module(at, &import.path);
    let (to, through, needs, rest) = match (&import.binds, item) {
        (Binding::Name(_), Lookup::Ours { what, through }) => (what, through, true, ""),
        (Binding::Name(_), _) => match module() {
            Lookup::Ours { what, through } => (tree.modules[what].file, through, false, ""),
            _ => return None,
        },
        (Binding::Glob, item) => match (module(), item) {
            (Lookup::Ours { what, through }, _) => (tree.modules[what].file, through, true, "::*"),
            (_, Lookup::Ours { what, through }) => (what, through, true, "::*"),
            _ => return None,
        },
    };
    let name = format!("{}{rest}", import.path);
    let needs = needs && !import.reexport;
    let shortened = is_shortened(names, at, &import.path);
    Some(Arrow { from: at.file, line: import.path.line, name, to, needs, through, shortened })
}

fn of_mention(tree: &Tree, names: &Names<'_>, file: usize, mention: &Mention) -> Option<Arrow> {
    let at = Place { file, scope: mention.scope };
    let path = &mention.path;
    let found = match (mention.role, path.single()) {
        (Role::Macro, Some(name)) => names.macro_named(at, name),
        _ => names.item(at, path),
    };
    let (to, through) = match found {
        Lookup::Ours { what, through } => (what, through),
        // A whole module, such as in `#[serde(with = "crate::time")]`. A name alone is something else.
        _ if path.single().is_none() => match names.module(at, path) {
            Lookup::Ours { what, through } => (tree.modules[what].file, through),
            _ => return None,
        },
        _ => return None,
    };
    let shortened = is_shortened(names, at, path);
    Some(Arrow { from: file, line: path.line, name: path.to_string(), to, needs: true, through, shortened })
}

fn is_shortened(names: &Names<'_>, at: Place, path: &Path) -> bool {
    path.segments.first().is_some_and(|name| names.is_imported(at, name))
}
