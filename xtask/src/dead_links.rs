//! Links and paths in documents that lead nowhere.

use std::collections::BTreeSet;
use std::path::Path;

use crate::tidy::{Files, plain};

/// Finds links and code spans that name a missing file, in documents and in comments, and links to missing headings.
pub(crate) fn check(files: &Files, findings: &mut Vec<String>) {
    let tops: BTreeSet<&str> =
        files.all.iter().filter(|p| p.components().count() > 1).filter_map(|p| p.iter().next()?.to_str()).collect();
    for (document, text) in files.with_extension("md") {
        let folder = document.parent().unwrap_or(Path::new(""));
        for (number, line) in prose(text) {
            for (target, anchor) in links(line) {
                let file = if target.is_empty() { document.to_owned() } else { plain(&folder.join(target)) };
                if !files.has(&file) {
                    findings.push(format!("{}:{number}: dead link {target}", document.display()));
                } else if !anchor.is_empty() && files.text(&file).is_some_and(|text| !anchors(text).contains(anchor)) {
                    findings.push(format!("{}:{number}: {target} has no heading #{anchor}", document.display()));
                }
            }
        }
    }
    for (path, text) in files.with_extension("md").chain(files.with_extension("rs")) {
        let code = path.extension().is_some_and(|e| e == "rs");
        for (number, line) in prose(text).filter(|(_, l)| !code || l.trim_start().starts_with("//")) {
            for named in spans(line).filter(|s| is_path(s, &tops)) {
                let file = named.split(':').next().unwrap_or(named).trim_end_matches('/');
                // Comments of code also name folders that are made at run time.
                let meant = !code || Path::new(file).extension().is_some();
                if meant && !files.has(Path::new(file)) {
                    findings.push(format!("{}:{number}: {named} does not exist", path.display()));
                }
            }
        }
    }
}

/// Lines with their numbers, without fenced code blocks.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let fence = line.trim_start().trim_start_matches(['/', '!', ' ']).starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((number, line))
    })
}

/// Targets of `[text](target)` inside the repository, each with its anchor.
pub(crate) fn links(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next())
        .filter(|t| !t.is_empty() && !t.contains("://"))
        .map(|t| t.split_once('#').unwrap_or((t, "")))
}

/// The anchors of a document: those of its headings, as GitHub and mdBook name them, and `<a id="…">`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        found.extend(line.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned));
        let Some(heading) = line.strip_prefix('#').map(|l| l.trim_start_matches('#').trim()) else { continue };
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let name: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let mut of_name = (1..=found.len()).map(|n| format!("{name}-{n}"));
        let again = of_name.find(|n| !found.contains(n)).unwrap_or_default();
        found.insert(if found.contains(&name) { again } else { name });
    }
    found
}

/// The texts between single backticks.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether a span names a file: below one of the repository's folders, or a document or manifest at the top.
fn is_path(span: &str, tops: &BTreeSet<&str>) -> bool {
    if span.contains(|c: char| c.is_whitespace() || "*{}<>$()…|".contains(c)) {
        return false;
    }
    match span.split_once('/') {
        Some((top, _)) => tops.contains(top),
        None => Path::new(span).extension().is_some_and(|e| e == "md") || span == "deny.toml" || span == "Cargo.toml",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_spans_are_read() {
        let found: Vec<_> = links("see [a](b.md#c), [d](https://e) and [f](#g)").collect();
        assert_eq!(found, [("b.md", "c"), ("", "g")]);
        assert_eq!(spans("`src/lib.rs` and `x`").collect::<Vec<_>>(), ["src/lib.rs", "x"]);
        let tops = BTreeSet::from(["src"]);
        for (span, want) in [("src/lib.rs", true), ("v1/Endpoints", false), ("src/*.rs", false), ("README.md", true)] {
            assert_eq!(is_path(span, &tops), want, "{span}");
        }
    }

    #[test]
    fn headings_have_the_anchors_of_renderers() {
        let text = "# A `b`: c\n## Two\n```\n# no\n```\n## Two\n| <a id=\"e1\"></a>E1 |\n";
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["a-b-c", "e1", "two", "two-1"]);
    }
}
