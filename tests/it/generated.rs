//! Generated files are committed, and fresh. With `ROSTER_WRITE=GROUP` they are written instead of compared:
//! `cargo xtask openapi` and `cargo xtask docs` do that.

use std::path::Path;

/// Group, file, and what belongs into it.
type Generated = (&'static str, &'static str, fn() -> String);

const FILES: &[Generated] = &[
    #[cfg(feature = "server")]
    ("openapi", "openapi/v1.json", roster::http::openapi_json),
];

#[test]
fn every_generated_file_is_fresh() {
    let write = std::env::var("ROSTER_WRITE").ok();
    for (group, name, generate) in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let want = generate();
        if write.as_deref() == Some(group) {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, want).unwrap();
            println!("wrote {name}");
        } else if write.is_none() {
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(committed == want, "{name} is stale: run `cargo xtask {group}`");
        }
    }
}
