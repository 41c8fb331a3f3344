//! Paths among tokens that are not parsed: the arguments of macros, the bodies of `macro_rules!`, attributes.

use proc_macro2::{Delimiter, Ident, Spacing, TokenStream, TokenTree};

use super::syntax::{Path, Role};

/// What is found among tokens.
pub(super) enum Fragment {
    Path(Path, Role),
    Use(syn::ItemUse),
}

/// Every path of two names or more, and the names that stand alone and cannot be a variable or a field: types, calls
/// of functions, macros.
pub(super) fn fragments(stream: TokenStream) -> Vec<Fragment> {
    let mut found = Vec::new();
    read(stream, &mut found);
    found
}

fn read(stream: TokenStream, found: &mut Vec<Fragment>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Group(group) => read(group.stream(), found),
            TokenTree::Ident(ident) if ident == "use" => {
                if let Some((item, next)) = import(&tokens, at) {
                    found.push(Fragment::Use(item));
                    at = next;
                    continue;
                }
            }
            TokenTree::Ident(ident) => {
                let (path, next) = path(&tokens, at, ident);
                if let Some(role) = role(&tokens, at, next, &path) {
                    found.push(Fragment::Path(path, role));
                }
                at = next;
                continue;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        at += 1;
    }
}

/// The `use` item that begins here, and what follows it.
fn import(tokens: &[TokenTree], at: usize) -> Option<(syn::ItemUse, usize)> {
    let rest = tokens.get(at..)?;
    let length = rest.iter().position(|t| is_punct(Some(t), ';'))? + 1;
    let item = rest.iter().take(length).cloned().collect();
    Some((syn::parse2(item).ok()?, at + length))
}

/// The longest path that begins here, and what follows it.
fn path(tokens: &[TokenTree], mut at: usize, first: &Ident) -> (Path, usize) {
    let mut path = Path { global: false, segments: vec![name(first)], line: first.span().start().line };
    at += 1;
    while is_separator(tokens, at)
        && let Some(TokenTree::Ident(ident)) = tokens.get(at + 2)
    {
        path.segments.push(name(ident));
        path.line = ident.span().start().line;
        at += 3;
    }
    (path, at)
}

/// What a path means here; nothing if it cannot be a path of ours.
fn role(tokens: &[TokenTree], start: usize, end: usize, path: &Path) -> Option<Role> {
    let before = start.checked_sub(1).and_then(|at| tokens.get(at));
    let variable = is_punct(before, '$') && path.segments.first().is_none_or(|s| s != "crate");
    let continued = start.checked_sub(2).is_some_and(|at| is_separator(tokens, at));
    if variable || continued {
        return None;
    }
    if is_punct(tokens.get(end), '!') && matches!(tokens.get(end + 1), Some(TokenTree::Group(_))) {
        return Some(Role::Macro);
    }
    let Some(name) = path.single() else { return Some(Role::Path) };
    let called = matches!(tokens.get(end), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis);
    let stands_alone = !is_punct(before, '.') && (called || name.starts_with(char::is_uppercase));
    stands_alone.then_some(Role::Path)
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// Whether `::` is here.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let joint =
        matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':' && p.spacing() == Spacing::Joint);
    joint && is_punct(tokens.get(at + 1), ':')
}

/// A name without the mark of a raw one.
pub(super) fn name(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or_else(|| text.clone(), str::to_owned)
}
