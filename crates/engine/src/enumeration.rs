//! Names in a row, as messages list them.

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
    fn alternatives_are_named() {
        for (names, want) in [(&[][..], ""), (&["a"], "a"), (&["a", "b"], "a or b"), (&["a", "b", "c"], "a, b or c")] {
            assert_eq!(any_of(names), want);
        }
    }
}
