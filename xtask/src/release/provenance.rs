//! The provenance: which files were made, of which commit, and how. It is a statement of in-toto with a predicate of SLSA.

use anyhow::Result;
use serde_json::{Value, json};

use super::checksums::digests;
use super::{Release, files, toolchain};
use crate::steps::Outcome;

/// The type of the predicate.
const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";

/// Writes the statement about all files that are in the folder.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let subject = |(name, digest)| json!({ "name": name, "digest": { "sha256": digest } });
    let subjects: Vec<Value> = digests(release)?.into_iter().map(subject).collect();
    println!("    {} files", subjects.len());
    let statement = statement(release, &files::repository()?, &subjects, &toolchain::materials()?);
    release.write(&release.provenance(), serde_json::to_vec_pretty(&statement)?)?;
    Ok(Outcome::Passed)
}

/// A statement without the time of its making and the machine, which would differ from run to run.
fn statement(release: &Release, repository: &str, subjects: &[Value], materials: &[Value]) -> Value {
    // A tag that nobody has set on this commit would be a false statement.
    let uri = match &release.tag {
        Some(tag) => format!("git+{repository}@refs/tags/{tag}"),
        None => format!("git+{repository}@{}", release.commit),
    };
    let source = json!({ "uri": uri, "digest": { "gitCommit": release.commit } });
    let dependencies: Vec<&Value> = std::iter::once(&source).chain(materials).collect();
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": format!("{repository}/blob/{}/docs/reference/release.md", release.commit),
                "externalParameters": { "command": "cargo xtask release", "repository": repository, "version": release.version },
                "internalParameters": { "SOURCE_DATE_EPOCH": release.epoch },
                "resolvedDependencies": dependencies,
            },
            "runDetails": { "builder": { "id": format!("{repository}/blob/{}/xtask/src/release/mod.rs", release.commit) } },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_the_commit_the_compilers_and_the_files() {
        let mut release = crate::release::example();
        let subject = json!({ "name": "a", "digest": { "sha256": "0" } });
        let source = |release: &Release| {
            let statement = statement(release, "https://example.com/roster", &[], &[]);
            statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["uri"].clone()
        };
        assert_eq!(source(&release), "git+https://example.com/roster@abc");
        release.tag = Some("v1.2.3".to_owned());
        let statement = statement(&release, "https://example.com/roster", &[subject], &[json!({ "uri": "rustc" })]);
        let definition = &statement["predicate"]["buildDefinition"];
        for (what, want) in [
            (&statement["subject"][0]["name"], json!("a")),
            (&definition["resolvedDependencies"][0]["digest"]["gitCommit"], json!("abc")),
            (&definition["resolvedDependencies"][0]["uri"], json!("git+https://example.com/roster@refs/tags/v1.2.3")),
            (&definition["resolvedDependencies"][1]["uri"], json!("rustc")),
            (&definition["internalParameters"]["SOURCE_DATE_EPOCH"], json!(1_700_000_000)),
        ] {
            assert_eq!(*what, want, "{statement}");
        }
    }
}
