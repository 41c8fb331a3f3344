//! The pages of the documentation, and the commands on them.
//!
//! A screen is a command after `$ `, with its output below. Lines after `> ` continue a command. `…` in an output stands for
//! any text. Screens stand in blocks ```` ```console ````. A word behind `console` says what their commands need:
//!
//! | word | who runs the commands |
//! |---|---|
//! | none, `server` | `tests/it/generated/screens.rs`, which also writes their output |
//! | `cluster` | `tests/cluster/screens`, with a real API server |
//! | `install`, `tools` | nobody: `tests/cluster/screens` lists them with reasons |

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folder of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md, and all pages below docs/.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "md" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// A block between two fences.
pub(crate) struct Block<'t> {
    /// The words behind the first fence.
    pub(crate) words: &'t str,
    /// What its lines begin with, because it belongs to the entry of a list.
    indent: &'t str,
    text: &'t str,
}

impl Block<'_> {
    /// Its lines without what they begin with.
    pub(crate) fn text(&self) -> String {
        let lines = self.text.lines().map(|line| line.strip_prefix(self.indent).unwrap_or(line));
        lines.map(|line| line.to_owned() + "\n").collect()
    }
}

/// The blocks of a page, in their order.
pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut found, mut open, mut at) = (Vec::new(), None, 0);
    for line in page.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let (trimmed, indent) =
            (line.trim_start_matches(' '), &line[..line.len() - line.trim_start_matches(' ').len()]);
        match (trimmed.strip_prefix("```"), open) {
            (Some(words), None) => open = Some((words.trim(), indent, at)),
            (Some("" | "\n"), Some((words, indent, first))) => {
                // Without the newline of the last line.
                let text = page[first..begin].strip_suffix('\n').unwrap_or_default();
                found.push(Block { words, indent, text });
                open = None;
            }
            _ => {}
        }
    }
    found
}

/// A command of a page, and its output there.
pub(crate) struct Screen<'t> {
    /// What it needs: the word behind `console`.
    pub(crate) needs: &'t str,
    /// What each of its lines begins with.
    pub(crate) indent: &'t str,
    /// Its lines as they are written, without the newline of the last one.
    pub(crate) written: &'t str,
    /// Its output as it is written.
    pub(crate) shown: &'t str,
}

impl Screen<'_> {
    /// The command without prompts.
    pub(crate) fn command(&self) -> String {
        let lines = self.written.lines().map(|line| self.inside(line).get(2..).unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The output without what its lines begin with.
    pub(crate) fn output(&self) -> String {
        self.shown.trim_end().lines().map(|line| self.inside(line)).collect::<Vec<_>>().join("\n")
    }

    fn inside<'l>(&self, line: &'l str) -> &'l str {
        line.strip_prefix(self.indent).unwrap_or(line)
    }
}

/// The screens of a page, in their order.
pub(crate) fn screens(page: &str) -> Vec<Screen<'_>> {
    let consoles =
        blocks(page).into_iter().filter_map(|block| Some((block.words.strip_prefix("console")?.trim(), block)));
    consoles.flat_map(|(needs, block)| of_block(needs, &block)).collect()
}

fn of_block<'t>(needs: &'t str, block: &Block<'t>) -> Vec<Screen<'t>> {
    let (indent, text) = (block.indent, block.text);
    let prompt = format!("{indent}$ ");
    let begins: Vec<usize> = text.match_indices(&prompt).map(|(at, _)| at).collect();
    let begins: Vec<usize> = begins.into_iter().filter(|at| *at == 0 || text[..*at].ends_with('\n')).collect();
    let ends = begins.iter().skip(1).map(|at| at - 1).chain([text.len()]).collect::<Vec<_>>();
    let more = format!("{indent}> ");
    let screen = |(begin, end): (usize, usize)| {
        let text = &text[begin..end];
        let lines = text.split_inclusive('\n').skip(1).take_while(|line| line.starts_with(&more));
        let first = text.find('\n').map_or(text.len(), |at| at + 1);
        let (written, shown) = text.split_at(first + lines.map(str::len).sum::<usize>());
        Screen { needs, indent, written: written.trim_end_matches('\n'), shown }
    };
    begins.into_iter().zip(ends).map(screen).collect()
}

/// Whether a text is the one that is shown, where `…` stands for any text.
pub(crate) fn matches(shown: &str, text: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
