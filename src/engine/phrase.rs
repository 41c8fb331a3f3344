//! Parts of sentences in messages.

/// `1 pod`, `2 pods`: a number of things.
pub(crate) fn counted(n: usize, thing: &str) -> String {
    match (n, thing.strip_suffix("ss")) {
        (1, _) => format!("1 {thing}"),
        (_, Some(_)) => format!("{n} {thing}es"),
        _ => format!("{n} {thing}s"),
    }
}

/// The first 64 characters of a text from the input, which messages may repeat for every pod and port.
pub(crate) fn clip(text: &str) -> &str {
    match text.char_indices().nth(64) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
