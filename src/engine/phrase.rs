//! Parts of sentences in messages.

use std::collections::BTreeMap;

/// `1 pod`, `2 pods`: a number of things.
pub(crate) fn counted(n: usize, thing: &str) -> String {
    match (n, thing.strip_suffix("ss")) {
        (1, _) => format!("1 {thing}"),
        (_, Some(_)) => format!("{n} {thing}es"),
        _ => format!("{n} {thing}s"),
    }
}

/// `port 8080 in 1 pod and 8081 in 2 pods`: how many pods use each number of a named port; at most `max` numbers.
pub(crate) fn port_numbers(pods: &BTreeMap<i32, usize>, max: usize) -> String {
    let parts: Vec<String> =
        pods.iter().take(max).map(|(n, &pods)| format!("{n} in {}", counted(pods, "pod"))).collect();
    match parts.split_last() {
        _ if pods.len() > max => format!("port {}, …", parts.join(", ")),
        Some((last, others @ [_, ..])) => format!("port {} and {last}", others.join(", ")),
        _ => format!("port {}", parts.concat()),
    }
}

/// The first 64 characters of a text from the input, which messages may repeat for every pod and port.
pub(crate) fn clip(text: &str) -> &str {
    match text.char_indices().nth(64) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
