//! `docs/cli.md` is made from the arguments' definition.

#[test]
fn the_reference_is_fresh() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let text = roster::cli::cli_reference();
    if std::env::var("ROSTER_WRITE").as_deref() == Ok("docs") {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == text, "docs/cli.md is stale: cargo xtask docs");
}
