//! The policies of a file, which are loaded again when it changes.

use std::{path::Path, sync::Arc};

use anyhow::{Context, ensure};
use roster_admission::policy::EndpointPolicy;
use roster_engine::reason::Severity;
use roster_manifests::decode::{self, Source};

use super::{ActivePolicies, first_messages};
use crate::runtime::files::{FileContents, FileSet};

/// The limit of the file in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Loads the policies of a file, and returns the task that loads them again at every change. It never ends. At the start
/// a file with an error is refused; later the previous policies stay.
pub(super) async fn serve(
    path: &Path,
    policies: &Arc<ActivePolicies>,
) -> anyhow::Result<impl Future<Output = ()> + Send + use<>> {
    let file = FileSet::new([path.to_owned()], MAX_FILE);
    let contents = file.read().await.context("the policy file")?;
    policies.set_file(parse(&text(&contents), path)?);
    let (path, policies) = (path.to_owned(), policies.clone());
    Ok(file.watch(contents, move |read| {
        let parsed = read.map_err(|error| anyhow::anyhow!("{error}")).and_then(|read| parse(&text(read), &path));
        match parsed {
            Ok(all) => {
                tracing::info!(policies = all.len(), "policy file loaded");
                policies.set_file(all);
            }
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "the policy file cannot be used; the previous policies stay");
            }
        }
    }))
}

fn text(contents: &FileContents) -> Vec<u8> {
    contents.0.concat()
}

/// The policies of `text`. Findings that are not errors, such as a field of a later release, are logged.
fn parse(text: &[u8], path: &Path) -> anyhow::Result<Vec<EndpointPolicy>> {
    let name = path.display().to_string();
    // An empty file is one that is about to be written. An empty list has no policies.
    ensure!(!text.trim_ascii().is_empty(), "{name}: the file is empty");
    let (policies, problems) = decode::policies(text, &Source::file(&name))?;
    let (errors, others): (Vec<_>, Vec<_>) = problems.into_iter().partition(|p| p.severity == Severity::Error);
    ensure!(errors.is_empty(), "{}", first_messages(&errors));
    if !others.is_empty() {
        tracing::warn!(findings = %first_messages(&others), "the policy file is in force, with findings");
    }
    Ok(policies.iter().cloned().collect())
}

#[cfg(test)]
mod tests {
    use roster_admission::{AdmissionRequest, Mode, Rule};
    use tokio::time::sleep;

    use super::*;
    use crate::{runtime::files::POLL, servers::webhook::SettingsSource};

    const POLICY: &str = "\
apiVersion: roster.dev/v1
kind: EndpointPolicy
metadata: {name: a}
spec:
  defaultMode: warn
";

    /// Paused time goes on as soon as every task waits.
    #[tokio::test(start_paused = true)]
    async fn a_changed_file_takes_effect_once_it_has_settled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.yaml");
        let in_force = Arc::new(ActivePolicies::new(None));
        let mode = || {
            in_force
                .settings(&AdmissionRequest { kind: "Service".into(), ..AdmissionRequest::default() })
                .mode(Rule::ExternalIp)
        };
        let enforce = POLICY.replace("warn", "enforce");
        tokio::fs::write(&path, POLICY).await.unwrap();
        tokio::spawn(serve(&path, &in_force).await.unwrap());
        for (name, text, want) in [
            ("a change", enforce.as_str(), Mode::Enforce),
            ("a mistake", "kind: Service", Mode::Enforce),
            ("nothing", "", Mode::Enforce),
            ("a change back", POLICY, Mode::Warn),
        ] {
            let before = mode();
            tokio::fs::write(&path, text).await.unwrap();
            sleep(POLL / 2).await;
            assert_eq!(mode(), before, "{name}, seen once at most");
            sleep(3 * POLL).await;
            assert_eq!(mode(), want, "{name}");
        }
        // Between two looks, and one later.
        sleep(POLL / 2).await;
        tokio::fs::write(&path, &enforce).await.unwrap();
        sleep(POLL).await;
        tokio::fs::write(&path, POLICY).await.unwrap();
        for _ in 0..6 {
            assert_eq!(mode(), Mode::Warn, "a change that is seen once never holds");
            sleep(POLL / 2).await;
        }
        tokio::fs::remove_file(&path).await.unwrap();
        sleep(3 * POLL).await;
        assert_eq!(mode(), Mode::Warn, "a file that is gone");
        tokio::fs::write(&path, enforce).await.unwrap();
        sleep(3 * POLL).await;
        assert_eq!(mode(), Mode::Enforce, "a file that came back");
    }

    #[test]
    fn only_errors_make_a_file_unusable() {
        for (name, more, want) in [
            ("nothing", "", Ok(1)),
            ("a field of a later release", "  newThing: 1\n", Ok(1)),
            ("a policy twice", &format!("---\n{POLICY}"), Ok(1)),
            ("a value that means nothing", "  rules: []\n  match: 5\n", Err("p.yaml:7: spec.match ")),
            ("another kind", "---\nkind: Service\n", Err("p.yaml:7: \"Service\" is not an EndpointPolicy")),
            ("no YAML", "a: [", Err("p.yaml:")),
        ] {
            let read = parse(format!("{POLICY}{more}").as_bytes(), Path::new("p.yaml"));
            match (read.map(|all| all.len()), want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want, "{name}"),
                (Err(got), Err(want)) => assert!(got.to_string().starts_with(want), "{name}: {got}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        let of = |text: &str| parse(text.as_bytes(), Path::new("p.yaml")).map(|all| all.len());
        assert_eq!(of(" \n").unwrap_err().to_string(), "p.yaml: the file is empty");
        assert_eq!(of("[]").unwrap(), 0);
    }
}
