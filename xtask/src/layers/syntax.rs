//! What one file says by itself: the modules it has, the names it defines and imports, and the paths it writes.
//!
//! Plain values without spans, so that a thread can hand them to another one.

use std::collections::BTreeSet;
use std::fmt;

/// One file, read.
#[derive(Debug, Default)]
pub(super) struct Syntax {
    /// The first is the module of the file itself.
    pub scopes: Vec<Scope>,
    pub mentions: Vec<Mention>,
    /// The macros with `#[macro_export]`: they are at the root of the crate.
    pub exported: BTreeSet<String>,
}

/// Where names are looked up: a module, or a block with items of its own.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The scope around it, in the same file.
    pub parent: Option<usize>,
    /// The name of an inline module; a block and the module of the file have none.
    pub module: Option<String>,
    pub items: BTreeSet<String>,
    pub macros: BTreeSet<String>,
    pub uses: Vec<Use>,
    pub declarations: Vec<Declaration>,
}

/// `mod name;`: a module in another file.
#[derive(Debug)]
pub(super) struct Declaration {
    pub name: String,
    /// The value of `#[path]`.
    pub path: Option<String>,
    pub line: usize,
}

/// One leaf of a `use` tree.
#[derive(Debug)]
pub(super) struct Use {
    pub path: Path,
    pub binds: Binding,
    /// `pub use`, with any restriction: it hands a name on.
    pub reexport: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Binding {
    Name(String),
    Glob,
}

impl Use {
    pub(super) fn binds(&self, name: &str) -> bool {
        matches!(&self.binds, Binding::Name(bound) if bound == name)
    }
}

/// A path in an expression, a type, a pattern, an attribute or the tokens of a macro.
#[derive(Debug)]
pub(super) struct Mention {
    pub path: Path,
    pub role: Role,
    pub scope: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Path,
    /// A name alone in an expression: it may be a variable.
    Value,
    /// The name of a macro that is called.
    Macro,
}

/// A path as it is written, and the line of its last name.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// It begins with `::`, so another crate defines it.
    pub global: bool,
    pub segments: Vec<String>,
    pub line: usize,
}

impl Path {
    /// The only name of it, if it has one.
    pub(super) fn single(&self) -> Option<&str> {
        match self.segments.as_slice() {
            [name] if !self.global => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = if self.global { "::" } else { "" };
        write!(f, "{start}{}", self.segments.join("::"))
    }
}
