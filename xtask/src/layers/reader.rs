//! Reads one file with `syn`, without what only tests compile.

use std::collections::BTreeSet;
use std::mem;

use proc_macro2::TokenStream;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItem, Item, Lit, Meta, Stmt, TraitItem, UseTree, Visibility};

use super::syntax::{Binding, Declaration, Mention, Path, Role, Scope, Syntax, Use};
use super::test_code::only_tests;
use super::tokens::{Fragment, fragments, name};

/// Reads the text of a file; none if the whole file is for tests.
pub(super) fn read(text: &str) -> syn::Result<Option<Syntax>> {
    let file = syn::parse_file(text)?;
    if only_tests(&file.attrs) {
        return Ok(None);
    }
    let mut reader = Reader::default();
    reader.syntax.scopes.push(Scope::default());
    reader.visit_file(&file);
    Ok(Some(reader.finish()))
}

#[derive(Default)]
struct Reader {
    syntax: Syntax,
    scope: usize,
    /// The names that patterns of the current function bind.
    variables: BTreeSet<String>,
}

impl Reader {
    /// A name that stands alone is of the same file, or a `use` has brought it in, which is an arrow already: only
    /// names from globs and re-exports remain, and macros, which need no `use`.
    fn finish(self) -> Syntax {
        let Syntax { scopes, mut mentions, exported } = self.syntax;
        let uses = || scopes.iter().flat_map(|scope| &scope.uses);
        let globs = uses().any(|u| u.binds == Binding::Glob);
        mentions.retain(|mention| {
            let reexported = |name| uses().any(|u| u.reexport && u.binds(name));
            mention.path.single().is_none_or(|name| globs || mention.role == Role::Macro || reexported(name))
        });
        Syntax { scopes, mentions, exported }
    }

    fn here(&mut self) -> &mut Scope {
        &mut self.syntax.scopes[self.scope]
    }

    /// Visits what is inside a module or block.
    fn inside(&mut self, module: Option<String>, visit: impl FnOnce(&mut Self)) {
        let outer = self.scope;
        self.scope = self.syntax.scopes.len();
        self.syntax.scopes.push(Scope { parent: Some(outer), module, ..Scope::default() });
        visit(self);
        self.scope = outer;
    }

    /// Visits a function, and forgets the mentions that were its variables.
    fn function(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = mem::take(&mut self.variables);
        let before = self.syntax.mentions.len();
        visit(self);
        let variables = mem::replace(&mut self.variables, outer);
        let is_variable = |m: &Mention| m.role == Role::Value && m.path.single().is_some_and(|n| variables.contains(n));
        let inside = self.syntax.mentions.split_off(before);
        self.syntax.mentions.extend(inside.into_iter().filter(|m| !is_variable(m)));
    }

    fn mention(&mut self, path: Path, role: Role) {
        self.syntax.mentions.push(Mention { path, role, scope: self.scope });
    }

    fn tokens(&mut self, stream: TokenStream, line: Option<usize>) {
        for found in fragments(stream) {
            match found {
                Fragment::Path(path, role) => self.mention(Path { line: line.unwrap_or(path.line), ..path }, role),
                Fragment::Use(item) => self.visit_item_use(&item),
            }
        }
    }

    /// Text in attributes may be a path, such as `#[serde(with = "crate::time")]`.
    fn texts(&mut self, stream: TokenStream) {
        for token in stream {
            match token {
                proc_macro2::TokenTree::Group(group) => self.texts(group.stream()),
                proc_macro2::TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    if let Lit::Str(text) = Lit::new(literal) {
                        self.text(&text.value(), line);
                    }
                }
                _ => {}
            }
        }
    }

    fn text(&mut self, text: &str, line: usize) {
        if text.contains("::")
            && let Ok(stream) = text.parse()
        {
            self.tokens(stream, Some(line));
        }
    }

    fn leaves(&mut self, tree: &UseTree, path: &Path, reexport: bool) {
        let with = |name: String, line| {
            let mut segments = path.segments.clone();
            segments.push(name);
            Path { segments, line, ..*path }
        };
        let line = tree.span().start().line;
        let (path, binds) = match tree {
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.leaves(tree, path, reexport)),
            UseTree::Path(part) => return self.leaves(&part.tree, &with(name(&part.ident), line), reexport),
            UseTree::Glob(_) => (Path { line, ..path.clone() }, Binding::Glob),
            UseTree::Name(leaf) if leaf.ident == "self" && !path.segments.is_empty() => {
                let bound = path.segments.last().cloned().unwrap_or_default();
                (Path { line, ..path.clone() }, Binding::Name(bound))
            }
            UseTree::Name(leaf) => (with(name(&leaf.ident), line), Binding::Name(name(&leaf.ident))),
            UseTree::Rename(leaf) if leaf.ident == "self" && !path.segments.is_empty() => {
                (Path { line, ..path.clone() }, Binding::Name(name(&leaf.rename)))
            }
            UseTree::Rename(leaf) => (with(name(&leaf.ident), line), Binding::Name(name(&leaf.rename))),
        };
        self.here().uses.push(Use { path, binds, reexport });
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if only_tests(attributes(item)) {
            return;
        }
        if let Some(defined) = defined(item) {
            self.here().items.insert(name(defined));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let line = item.ident.span().start().line;
        if let Some((_, items)) = &item.content {
            self.inside(Some(name(&item.ident)), |reader| items.iter().for_each(|item| reader.visit_item(item)));
        } else {
            let path = item.attrs.iter().find_map(path_attribute);
            self.here().declarations.push(Declaration { name: name(&item.ident), path, line });
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let reexport = match &item.vis {
            Visibility::Inherited => false,
            Visibility::Restricted(to) => !to.path.is_ident("self"),
            Visibility::Public(_) => true,
        };
        let path = Path { global: item.leading_colon.is_some(), segments: Vec::new(), line: 0 };
        self.leaves(&item.tree, &path, reexport);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if let Some(defined) = &item.ident {
            if item.attrs.iter().any(|a| a.path().is_ident("macro_export")) {
                self.syntax.exported.insert(name(defined));
            }
            self.here().macros.insert(name(defined));
            self.tokens(item.mac.tokens.clone(), None);
        } else {
            visit::visit_item_macro(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(|reader| visit::visit_item_fn(reader, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !only_tests(&item.attrs) {
            self.function(|reader| visit::visit_impl_item_fn(reader, item));
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            _ => &[],
        };
        if !only_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if !only_tests(&item.attrs) {
            self.function(|reader| visit::visit_trait_item_fn(reader, item));
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let attributes: &[Attribute] = match item {
            TraitItem::Const(item) => &item.attrs,
            TraitItem::Type(item) => &item.attrs,
            TraitItem::Macro(item) => &item.attrs,
            _ => &[],
        };
        if !only_tests(attributes) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        if block.stmts.iter().any(|s| matches!(s, Stmt::Item(_))) {
            self.inside(None, |reader| visit::visit_block(reader, block));
        } else {
            visit::visit_block(self, block);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        // What is called is a function, even where the result has its name: `let plan = plan(state);`.
        match &*call.func {
            Expr::Path(function) if function.qself.is_none() => self.visit_path(&function.path),
            other => self.visit_expr(other),
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        match path.path.get_ident() {
            Some(ident) if path.qself.is_none() => self.mention(single(ident), Role::Value),
            _ => visit::visit_expr_path(self, path),
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        let bound = name(&pattern.ident);
        // A pattern in capitals is a constant, a variant or a unit struct.
        if bound.starts_with(char::is_uppercase) {
            self.mention(single(&pattern.ident), Role::Path);
        } else {
            self.variables.insert(bound);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|s| name(&s.ident)).collect();
        let line = path.segments.last().map_or(0, |s| s.ident.span().start().line);
        self.mention(Path { global: path.leading_colon.is_some(), segments, line }, Role::Path);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        match called.path.get_ident() {
            Some(ident) => self.mention(single(ident), Role::Macro),
            None => self.visit_path(&called.path),
        }
        self.tokens(called.tokens.clone(), None);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        match &attribute.meta {
            Meta::List(list) => {
                self.tokens(list.tokens.clone(), None);
                self.texts(list.tokens.clone());
            }
            // `#[doc = "…"]` may say anything.
            Meta::NameValue(_) | Meta::Path(_) => {}
        }
    }

    /// `pub(in super::super)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !only_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_stmt_macro(&mut self, statement: &'ast syn::StmtMacro) {
        if !only_tests(&statement.attrs) {
            visit::visit_stmt_macro(self, statement);
        }
    }

    fn visit_expr_block(&mut self, block: &'ast syn::ExprBlock) {
        if !only_tests(&block.attrs) {
            visit::visit_expr_block(self, block);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !only_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_field_value(&mut self, value: &'ast syn::FieldValue) {
        if !only_tests(&value.attrs) {
            visit::visit_field_value(self, value);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        if !only_tests(&variant.attrs) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !only_tests(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }
}

fn single(ident: &proc_macro2::Ident) -> Path {
    Path { global: false, segments: vec![name(ident)], line: ident.span().start().line }
}

/// The value of `#[path = "…"]`.
fn path_attribute(attribute: &Attribute) -> Option<String> {
    let value = attribute.meta.require_name_value().ok().filter(|meta| meta.path.is_ident("path"))?;
    match &value.value {
        Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item gives to its module, if that is not a module or a macro.
fn defined(item: &Item) -> Option<&proc_macro2::Ident> {
    Some(match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    })
}
