//! Parts of sentences in messages: numbers of things, names in a row, and texts of the input.

use std::{borrow::Cow, collections::BTreeMap};

/// `1 pod`, `2 pods`: a number of things.
pub fn counted(n: usize, thing: &str) -> String {
    match (n, thing.strip_suffix("ss")) {
        (1, _) => format!("1 {thing}"),
        (_, Some(_)) => format!("{n} {thing}es"),
        _ => format!("{n} {thing}s"),
    }
}

/// `port 8080 in 1 pod and 8081 in 2 pods`: how many pods use each number of a named port; at most `max` numbers.
pub fn port_numbers(pods: &BTreeMap<i32, usize>, max: usize) -> String {
    let parts: Vec<String> =
        pods.iter().take(max).map(|(n, &pods)| format!("{n} in {}", counted(pods, "pod"))).collect();
    match parts.split_last() {
        _ if pods.len() > max => format!("port {}, …", parts.join(", ")),
        Some((last, others @ [_, ..])) => format!("port {} and {last}", others.join(", ")),
        _ => format!("port {}", parts.concat()),
    }
}

/// `no Pods of namespaces a, b in the input`: the namespaces of which an input contains no objects of a kind; without
/// namespaces, it contains none at all.
pub fn absent(kinds: &str, namespaces: &[&str]) -> String {
    const NAMED: usize = 3;
    let named: Vec<&str> = namespaces.iter().take(NAMED).map(|name| clip(name)).collect();
    let more = match namespaces.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {}", counted(n, "other")),
    };
    match namespaces.len() {
        0 => format!("no {kinds} in the input"),
        1 => absent_of(kinds, &format!("namespace {}", named.concat())),
        _ => absent_of(kinds, &format!("namespaces {}{more}", named.join(", "))),
    }
}

/// `no Pods of shop/db in the input`: what an input contains no objects of a kind of.
pub fn absent_of(kinds: &str, what: &str) -> String {
    format!("no {kinds} of {what} in the input")
}

/// The first 64 characters of a text from the input, which messages may repeat for every pod and port.
pub fn clip(text: &str) -> &str {
    clip_to(text, 64)
}

/// The begin of the name of an object: names in a cluster are whole.
pub fn clip_name(name: &str) -> &str {
    clip_to(name, 253)
}

/// The first `most` characters of a text.
pub(crate) fn clip_to(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// The key or value of a label for a message: in quotes unless it has only the characters of labels, because a space at its
/// end cannot be seen.
pub fn label_text(text: &str) -> Cow<'_, str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    if !text.is_empty() && text.bytes().all(is_plain) { Cow::Borrowed(text) } else { Cow::Owned(format!("{text:?}")) }
}

/// `a`, `a or b`, `a, b or c`: names of which one is meant.
pub fn any_of(names: &[impl AsRef<str>]) -> String {
    joined(names, "or")
}

/// `a`, `a and b`, `a, b and c`.
pub fn all_of(names: &[impl AsRef<str>]) -> String {
    joined(names, "and")
}

fn joined(names: &[impl AsRef<str>], word: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, others @ [_, ..])) => format!("{} {word} {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted_where_they_are_not_plain() {
        for (text, want) in [
            ("web", "web"),
            ("example.com/a_b-c", "example.com/a_b-c"),
            ("web ", "\"web \""),
            ("", "\"\""),
            ("ü", "\"ü\""),
        ] {
            assert_eq!(label_text(text), want);
        }
    }

    #[test]
    fn a_few_namespaces_are_named() {
        for (namespaces, want) in [
            (&[][..], "no Pods in the input"),
            (&["a"], "no Pods of namespace a in the input"),
            (&["a", "b"], "no Pods of namespaces a, b in the input"),
            (&["a", "b", "c", "d"], "no Pods of namespaces a, b, c and 1 other in the input"),
            (&["a", "b", "c", "d", "e"], "no Pods of namespaces a, b, c and 2 others in the input"),
        ] {
            assert_eq!(absent("Pods", namespaces), want);
        }
    }

    #[test]
    fn port_numbers_are_a_list() {
        for (pods, want) in [
            (&[(80, 2)][..], "port 80 in 2 pods"),
            (&[(80, 1), (81, 2)], "port 80 in 1 pod and 81 in 2 pods"),
            (&[(80, 1), (81, 2), (82, 3)], "port 80 in 1 pod, 81 in 2 pods and 82 in 3 pods"),
            (&[(80, 1), (81, 2), (82, 3), (83, 4)], "port 80 in 1 pod, 81 in 2 pods, 82 in 3 pods, …"),
        ] {
            assert_eq!(port_numbers(&pods.iter().copied().collect(), 3), want);
        }
    }

    #[test]
    fn alternatives_are_named() {
        for (names, want) in [(&[][..], ""), (&["a"], "a"), (&["a", "b"], "a or b"), (&["a", "b", "c"], "a, b or c")] {
            assert_eq!(any_of(names), want);
        }
    }
}
