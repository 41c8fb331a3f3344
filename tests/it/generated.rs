//! Generated files are committed, and fresh. The test that finds one stale is also the program that writes it:
//! `cargo xtask openapi` and `cargo xtask docs` run it with `ROSTER_WRITE` set to a group.

mod fields;
mod kubernetes;
mod manifests;
mod markdown;
mod metrics;
mod pictures;
mod screens;

use std::{
    fs,
    io::{Read, Write},
    path::Path,
};

/// A file that is made from the code.
struct Generated {
    /// What writes it: `cargo xtask GROUP`.
    group: &'static str,
    /// Its text is compressed if the path ends with `.gz`.
    path: &'static str,
    text: fn() -> String,
}

const FILES: &[Generated] = &[
    Generated { group: "docs", path: "docs/reference/reasons.md", text: markdown::reasons },
    Generated { group: "docs", path: "docs/reference/versions.md", text: versions },
    Generated { group: "docs", path: "docs/reference/rules.md", text: crate::rules::markdown },
    Generated { group: "docs", path: "docs/reference/cli.md", text: roster::cli::cli_reference },
    Generated { group: "docs", path: "docs/reference/runbooks.md", text: roster::deploy::runbooks },
    Generated { group: "docs", path: "docs/reference/chart.md", text: install },
    Generated { group: "docs", path: "docs/reference/metrics.md", text: metrics::reference },
    Generated { group: "docs", path: "docs/reference/rest.md", text: rest },
    Generated { group: "docs", path: "docs/picture.svg", text: pictures::catalog },
    Generated { group: "docs", path: "tests/data/pictures/cart.svg", text: pictures::cart },
    Generated { group: "docs", path: "tests/data/pictures/web.svg", text: pictures::web },
    Generated { group: "docs", path: "tests/data/pictures/trees.txt", text: pictures::trees },
    Generated { group: "docs", path: "tests/data/pictures/matrix.svg", text: pictures::matrix },
    // The program has it built in: a change takes two runs.
    Generated { group: "openapi", path: "crates/validation/src/fields.json.gz", text: fields::schemas },
    // Before the document that is made from it; the program has it built in, so a change takes two runs.
    Generated { group: "openapi", path: "openapi/kubernetes.json", text: kubernetes::definitions },
    Generated { group: "openapi", path: "openapi/v1.json", text: roster::servers::rest::openapi_json },
    Generated { group: "openapi", path: "openapi/v1-3.0.json", text: roster::servers::rest::openapi_30_json },
];

#[test]
fn generated_files_are_fresh() {
    let write = std::env::var("ROSTER_WRITE").unwrap_or_default();
    let mut stale = Vec::new();
    for file in FILES.iter().filter(|f| write.is_empty() || f.group == write) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file.path);
        let text = (file.text)();
        if !write.is_empty() {
            write_text(&path, &text);
        }
        if read_text(&path) != text {
            stale.push(format!("{}: cargo xtask {}", file.path, file.group));
        }
    }
    for (name, text) in manifests::files().into_iter().filter(|_| write.is_empty() || write == "manifests") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
        if !write.is_empty() {
            write_text(&path, &text);
        }
        if read_text(&path) != text {
            stale.push(format!("{name}: cargo xtask manifests"));
        }
    }
    assert!(stale.is_empty(), "stale; to write them anew:\n{}", stale.join("\n"));
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// The text of a file; empty if there is none.
fn read_text(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    if !is_compressed(path) {
        return String::from_utf8(bytes).unwrap_or_default();
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap_or_default();
    text
}

/// Writes a file, unless it has this text: compressors differ.
fn write_text(path: &Path, text: &str) {
    if read_text(path) == text {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if is_compressed(path) {
        let mut out = flate2::write::GzEncoder::new(fs::File::create(path).unwrap(), flate2::Compression::best());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap();
    } else {
        fs::write(path, text).unwrap();
    }
}

/// `docs/reference/versions.md`: written by hand, but for the table of profiles in it.
fn versions() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/versions.md");
    markdown::versions(&fs::read_to_string(path).unwrap_or_default())
}

/// `docs/reference/chart.md`: written by hand, but for the table of the chart's values at its end.
fn install() -> String {
    with_end("docs/reference/chart.md", "## Values of the chart\n\n", &roster::deploy::values_markdown())
}

/// `docs/reference/rest.md`: written by hand, but for the table of calls at its end.
fn rest() -> String {
    with_end("docs/reference/rest.md", "## Calls\n\n", &markdown::calls())
}

/// A page with another text below its last heading.
fn with_end(page: &str, heading: &str, end: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap_or_default();
    let by_hand = text.split_once(heading).map_or("", |(by_hand, _)| by_hand);
    format!("{by_hand}{heading}{end}")
}
