//! What no compiler checks: orphan files, dead paths in documents, files that must not be tracked, phrases.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::command::capture;
use crate::dead_links;
use crate::phrases::Phrases;
use crate::steps::Outcome;

/// Longer files are noted.
const LONG: usize = 500;
/// Longer files are refused.
const TOO_LONG: usize = 600;

/// Checks the files that git tracks or would track.
pub(crate) fn check() -> Result<Outcome> {
    let files = Files::read()?;
    let mut findings = Vec::new();
    orphans(&files, &mut findings);
    dead_links::check(&files, &mut findings);
    let phrases = Phrases::new();
    let layers = Layers::new(files.all.iter().map(PathBuf::as_path));
    for (path, text) in &files.texts {
        secrets(path, text, &mut findings);
        machine(path, text, &mut findings);
        length(path, text, &mut findings);
        features(path, text, &mut findings);
        layers.check(path, text, &mut findings);
        phrases.check(path, text, &mut findings);
    }
    if findings.is_empty() {
        println!("    {} files", files.all.len());
        return Ok(Outcome::Passed);
    }
    for finding in &findings {
        println!("    {finding}");
    }
    bail!("{} findings", findings.len());
}

/// The files of the repository, and the contents of text files.
pub(crate) struct Files {
    pub(crate) all: BTreeSet<PathBuf>,
    texts: Vec<(PathBuf, String)>,
}

impl Files {
    fn read() -> Result<Self> {
        let listed = capture("git", "ls-files -z --cached --others --exclude-standard")?;
        // git still lists a file whose deletion is not committed.
        let all: BTreeSet<PathBuf> = listed.split('\0').map(PathBuf::from).filter(|p| p.is_file()).collect();
        let mut texts = Vec::new();
        for path in &all {
            let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
            texts.extend(String::from_utf8(bytes).ok().map(|text| (path.clone(), text)));
        }
        Ok(Self { all, texts })
    }

    pub(crate) fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = (&'a Path, &'a str)> {
        let wanted = move |p: &Path| p.extension().is_some_and(|e| e == extension);
        self.texts.iter().filter(move |(p, _)| wanted(p)).map(|(p, t)| (p.as_path(), t.as_str()))
    }

    pub(crate) fn text(&self, path: &Path) -> Option<&str> {
        let at = self.texts.binary_search_by(|(p, _)| p.as_path().cmp(path)).ok()?;
        self.texts.get(at).map(|(_, text)| text.as_str())
    }

    /// Whether the path is a file or a folder of the repository.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.all.iter().any(|p| p.starts_with(path))
    }
}

// ---------------------------------------------------------------- orphan files

/// Finds Rust files that no crate root reaches, so that they are never compiled.
fn orphans(files: &Files, findings: &mut Vec<String>) {
    let found = files.with_extension("rs").map(|(p, _)| p.to_owned()).filter(|p| is_root(p));
    let named = files.with_extension("toml").flat_map(|(manifest, text)| {
        let folder = manifest.parent().unwrap_or(Path::new(""));
        text.lines().filter_map(|l| quoted_after(l, "path = ")).map(|p| plain(&folder.join(p)))
    });
    let mut open: Vec<(PathBuf, bool)> = found.chain(named).map(|p| (p, true)).collect();
    let mut reached = BTreeSet::new();
    while let Some((path, root)) = open.pop() {
        let Some(text) = files.text(&path) else { continue };
        if reached.insert(path.clone()) {
            open.extend(modules(&path, root, text).into_iter().map(|p| (p, false)));
        }
    }
    for (path, _) in files.with_extension("rs").filter(|(p, _)| !reached.contains(*p)) {
        findings.push(format!("{}: no crate reaches this file (a `mod` line is missing?)", path.display()));
    }
}

/// Whether the file is a crate root that Cargo finds by convention.
fn is_root(path: &Path) -> bool {
    let parent = path.parent().and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default();
    let above = path.parent().and_then(Path::parent).and_then(Path::file_name).and_then(|n| n.to_str());
    match path.file_name().and_then(|n| n.to_str()).unwrap_or_default() {
        "lib.rs" => parent == "src",
        "main.rs" => parent == "src" || matches!(above, Some("tests" | "examples" | "benches" | "bin")),
        "build.rs" => true,
        _ => matches!(parent, "tests" | "examples" | "benches" | "bin" | "fuzz_targets"),
    }
}

/// The files to which the `mod name;` and `include!` lines of one file may refer.
fn modules(path: &Path, root: bool, text: &str) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let owns_folder = root || path.file_name().is_some_and(|n| n == "mod.rs");
    let base = if owns_folder { folder.to_owned() } else { path.with_extension("") };
    let mut found = Vec::new();
    let mut renamed = None;
    for line in text.lines().map(str::trim) {
        if let Some(file) = quoted_after(line, "#[path = ") {
            renamed = Some(folder.join(file));
        }
        if let Some(file) = quoted_after(line, "include!(") {
            found.push(folder.join(file));
        }
        let Some((before, name)) = line.strip_suffix(';').and_then(|l| l.rsplit_once("mod ")) else { continue };
        if !before.is_empty() && !before.ends_with(' ') {
            continue;
        }
        match renamed.take() {
            Some(file) => found.push(file),
            None => found.extend([base.join(format!("{name}.rs")), base.join(name).join("mod.rs")]),
        }
    }
    found.into_iter().map(|p| plain(&p)).collect()
}

/// The path without `.` and `..`.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

fn quoted_after<'a>(line: &'a str, head: &str) -> Option<&'a str> {
    line.split_once(head)?.1.strip_prefix('"')?.split_once('"').map(|(text, _)| text)
}

// ---------------------------------------------------------------- what must not be tracked

fn secrets(path: &Path, text: &str, findings: &mut Vec<String>) {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let marks = [concat!("PRIVATE ", "KEY-----"), concat!("BEGIN ", "CERTIFICATE-----")];
    if matches!(extension, "pem" | "key" | "crt" | "p12" | "pfx") || marks.iter().any(|m| text.contains(m)) {
        findings.push(format!("{}: keys and certificates must not be tracked; tests create them", path.display()));
    }
}

/// Finds paths and settings of one machine, and unfinished merges.
fn machine(path: &Path, text: &str, findings: &mut Vec<String>) {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let homes = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/"), concat!("/ho", "me/")];
    let settings =
        [concat!("GOPR", "OXY="), concat!("index", "-url"), concat!("[regis", "tries"), concat!("replace", "-with")];
    for (number, line) in text.lines().enumerate() {
        let at = || format!("{}:{}", path.display(), number + 1);
        if let Some(home) = homes.iter().find(|h| names_folder(line, h)) {
            findings.push(format!("{}: {home}… is a path of one machine", at()));
        }
        if let Some(setting) = settings.iter().find(|s| line.contains(**s)) {
            findings.push(format!("{}: {setting} configures a package registry, which belongs to the machine", at()));
        }
        if ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark)) {
            findings.push(format!("{}: conflict marker", at()));
        }
        let foreign = match name {
            "Cargo.lock" => line.starts_with("source = ") && !line.contains("github.com/rust-lang/crates.io-index"),
            "package-lock.json" => line.contains("\"resolved\":") && !line.contains("//registry.npmjs.org/"),
            _ => false,
        };
        if foreign {
            findings.push(format!("{}: the package is not from its public registry", at()));
        }
    }
}

/// Whether a line names the folder, and not a longer path or a URL that contains it.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|l| l.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric() && !"/.~_-})".contains(c))
    })
}

fn length(path: &Path, text: &str, findings: &mut Vec<String>) {
    if path.extension().is_none_or(|e| e != "rs") {
        return;
    }
    let lines = text.lines().count();
    if lines > TOO_LONG {
        findings.push(format!("{}: {lines} lines; split files over {TOO_LONG} lines by concept", path.display()));
    } else if lines > LONG {
        println!("    note: {} has {lines} lines", path.display());
    }
}

/// Finds features in the code of the program and its crates: they have none.
fn features(path: &Path, text: &str, findings: &mut Vec<String>) {
    if (path.starts_with("src") || path.starts_with("crates")) && text.contains("cfg(feature") {
        findings.push(format!("{}: cfg(feature): there are no features", path.display()));
    }
}

// ---------------------------------------------------------------- layers

/// What the rooms of `src/` must not import of the others. Cargo checks the crates below them.
struct Layers {
    /// A folder, and what it must not import.
    rooms: Vec<(String, Vec<String>)>,
}

impl Layers {
    /// The rooms among these files. Each folder of `src/servers/` is a server, which must not know another one.
    fn new<'a>(files: impl Iterator<Item = &'a Path>) -> Self {
        let row = |room: &str, others: &[&str]| (room.to_owned(), others.iter().map(ToString::to_string).collect());
        let mut rooms: Vec<(String, Vec<String>)> = vec![
            row("src/runtime/", &["cli", "deploy", "kube_api", "servers"]),
            row("src/deploy/", &["cli", "kube_api", "runtime", "servers"]),
            row("src/kube_api/", &["cli", "deploy", "servers"]),
        ];
        let below = files.filter_map(|path| path.strip_prefix("src/servers").ok()?.to_str()?.split_once('/'));
        let servers: BTreeSet<&str> = below.map(|(server, _)| server).collect();
        for server in &servers {
            let others = servers.iter().filter(|other| *other != server).map(|other| format!("servers::{other}"));
            rooms.push((format!("src/servers/{server}/"), others.chain(["cli".to_owned()]).collect()));
        }
        Self { rooms }
    }

    fn check(&self, path: &Path, text: &str, findings: &mut Vec<String>) {
        let Some((room, forbidden)) = self.rooms.iter().find(|(room, _)| path.starts_with(room)) else { return };
        for import in imports(text) {
            if let Some(other) = forbidden.iter().find(|other| import.starts_with(other.as_str())) {
                findings.push(format!("{}: {room} imports {import}, and must not know {other}", path.display()));
            }
        }
    }
}

/// The paths below `crate::` in the code, without comments: `a::b` of `crate::a::b`, and `a::b` and `c` of `crate::{a::b, c}`.
fn imports(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    let code = lines.collect::<Vec<_>>().concat();
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        import_tree(rest, "", &mut found);
    }
    found
}

/// Reads one path or group of paths, and returns what follows.
fn import_tree<'t>(text: &'t str, prefix: &str, found: &mut Vec<String>) -> &'t str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(text.len());
    let (path, mut rest) = text.split_at(end);
    let path = format!("{prefix}{path}");
    let Some(inside) = rest.strip_prefix('{') else {
        found.push(path);
        return rest;
    };
    rest = inside;
    loop {
        rest = import_tree(rest.trim_start(), &path, found);
        // What follows a name, such as ` as other`.
        rest = rest.trim_start_matches(|c: char| c != ',' && c != '}');
        match rest.strip_prefix(',').map(str::trim_start) {
            Some(next) if !next.starts_with('}') => rest = next,
            last => {
                let end = last.unwrap_or(rest);
                return end.strip_prefix('}').unwrap_or(end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_where_rust_looks() {
        let found = |path: &str, text| {
            let path = Path::new(path);
            modules(path, is_root(path), text).iter().map(|p| p.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("src/lib.rs", "pub mod a;"), ["src/a.rs", "src/a/mod.rs"]);
        assert_eq!(found("src/a/mod.rs", "pub(crate) mod b;"), ["src/a/b.rs", "src/a/b/mod.rs"]);
        assert_eq!(found("src/a.rs", "    mod b;"), ["src/a/b.rs", "src/a/b/mod.rs"]);
        assert_eq!(found("tests/it/main.rs", "#[path = \"../x.rs\"]\nmod x;"), ["tests/x.rs"]);
        assert_eq!(found("src/lib.rs", "mod inline { fn f() {} }\n// a comment;"), [""; 0]);
    }

    #[test]
    fn imports_are_found_in_groups_and_in_code() {
        for (text, want) in [
            ("use crate::a::b;", "a::b"),
            ("use crate::{\n    a::{b, c::D},\n    e,\n};", "a::b a::c::D e"),
            ("use crate::{a::{self as x, b::{c, d}}, e::f};", "a::self a::b::c a::b::d e::f"),
            ("fn f(x: crate::a::B<u8>) {} // crate::no", "a::B"),
        ] {
            assert_eq!(imports(text).join(" "), want, "{text}");
        }
    }

    #[test]
    fn a_room_must_not_import_a_higher_one_nor_a_server_another_one() {
        let files = ["src/lib.rs", "src/servers/mod.rs", "src/servers/edge/mod.rs", "src/servers/rest/view.rs"];
        let layers = Layers::new(files.into_iter().map(Path::new));
        for (path, text, want) in [
            ("src/runtime/a.rs", "use crate::{runtime::x, servers::rest};", 1),
            ("src/servers/rest/a.rs", "use crate::{runtime::x, servers::{edge, rest::App}};", 1),
            ("src/servers/edge/a.rs", "use crate::{cli, servers::{edge, rest::App}};", 2),
            ("src/cli/a.rs", "use crate::servers::{edge, rest};", 0),
        ] {
            let mut findings = Vec::new();
            layers.check(Path::new(path), text, &mut findings);
            assert_eq!(findings.len(), want, "{path}: {findings:?}");
        }
    }

    #[test]
    fn paths_of_machines_are_known() {
        let folder = concat!("/ho", "me/");
        assert!(names_folder(&format!("cd {folder}me"), folder));
        assert!(!names_folder(&format!("https://example.com{folder}"), folder));
    }
}
