//! JSON pointers (RFC 6901), and field paths as Kubernetes writes them: `spec.ports[0].name`.

use std::{borrow::Cow, fmt};

use super::message::shortened;

/// A JSON pointer that is formatted only on demand: each step refers to the pointer of its container.
#[derive(Clone, Copy, Debug)]
pub enum Pointer<'p> {
    /// A pointer that is text already; empty for the whole document.
    At(&'p str),
    /// A member of an object.
    Key(&'p Pointer<'p>, &'p str),
    /// An element of a list.
    Index(&'p Pointer<'p>, usize),
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(pointer) => f.write_str(pointer),
            // Input may have keys of any length.
            Self::Key(container, key) => write!(f, "{container}/{}", escape(&shortened(key))),
            Self::Index(container, index) => write!(f, "{container}/{index}"),
        }
    }
}

/// The pointer to the member that these keys lead to.
pub fn pointer(keys: &[&str]) -> String {
    keys.iter().fold(String::new(), |out, key| out + "/" + &escape(key))
}

/// A key as a token of a pointer.
pub fn escape(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) { key.replace('~', "~0").replace('/', "~1").into() } else { key.into() }
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// A pointer as a field path: `/spec/rules/2/mode` is `spec.rules[2].mode`.
pub fn field_path(pointer: &str) -> String {
    let mut out = String::new();
    for name in pointer.split('/').skip(1).map(unescape) {
        if name.bytes().all(|b| b.is_ascii_digit()) {
            out.extend(["[", &name, "]"]);
        } else if name.contains(['.', '/']) {
            out.extend(["[\"", &name, "\"]"]);
        } else {
            out.extend([if out.is_empty() { "" } else { "." }, &name]);
        }
    }
    out
}

/// The keys and indexes of a field path (`a.b[0][c.d/e]`) or of a pointer (`/a/b/0/c.d~1e`).
pub fn steps(field: &str) -> Vec<Cow<'_, str>> {
    if let Some(pointer) = field.strip_prefix('/') {
        return pointer.split('/').map(|token| unescape(token).into()).collect();
    }
    let (mut steps, mut rest) = (Vec::new(), field);
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        steps.push(step.trim_matches('"').into());
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_joins_and_escapes_its_steps() {
        let root = Pointer::At("/service");
        let labels = Pointer::Key(&root, "a/b~c");
        assert_eq!(Pointer::Index(&labels, 3).to_string(), "/service/a~1b~0c/3");
        assert_eq!(Pointer::At("").to_string(), "");
        assert_eq!(pointer(&["metadata", "labels", "a/b"]), "/metadata/labels/a~1b");
    }

    #[test]
    fn a_pointer_and_its_field_path_have_the_same_steps() {
        for (pointer, path, want) in [
            ("/spec/rules/2/mode", "spec.rules[2].mode", vec!["spec", "rules", "2", "mode"]),
            ("/metadata/labels/a.b~1c", "metadata.labels[\"a.b/c\"]", vec!["metadata", "labels", "a.b/c"]),
            ("/0/x", "[0].x", vec!["0", "x"]),
        ] {
            assert_eq!(field_path(pointer), path);
            assert_eq!(
                (steps(pointer), steps(path)),
                (want.iter().map(|s| (*s).into()).collect(), want.iter().map(|s| (*s).into()).collect())
            );
        }
    }
}
