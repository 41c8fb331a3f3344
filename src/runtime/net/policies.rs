//! Keeps the policies of a file in force.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    admission::policy::EndpointPolicy,
    decode::{self, Source},
    engine::reason::Severity,
    servers::webhook::{InForce, told},
};

/// How often the file is looked at: a mounted `ConfigMap` takes about a minute anyway.
const POLL: Duration = Duration::from_secs(1);
/// Most bytes of the file.
const MAX_FILE: u64 = 16 << 20;

/// Reads the policies of a file; what follows keeps them, and never ends. At the start a file with an error is refused;
/// later it keeps what was. A change counts once two looks have seen the same: half a file may be good YAML as well.
pub(super) async fn of_file(path: &Path, in_force: &Arc<InForce>) -> anyhow::Result<impl Future<Output = ()> + use<>> {
    let text = read(path).await?;
    in_force.set_file(parse(&text, path)?);
    let (path, in_force) = (path.to_owned(), in_force.clone());
    Ok(async move {
        let mut known = Some(text);
        let mut seen = known.clone();
        let mut tick = interval(POLL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let now = read(&path).await.ok();
            let is_settled = now == seen;
            seen = now;
            if !is_settled || seen == known {
                continue;
            }
            known.clone_from(&seen);
            match known.as_ref().map(|text| parse(text, &path)) {
                Some(Ok(policies)) => {
                    tracing::info!(policies = policies.len(), "the file of policies was read again");
                    in_force.set_file(policies);
                }
                Some(Err(error)) => tracing::warn!(error = %format!("{error:#}"), "kept the policies of before"),
                None => tracing::warn!(path = %path.display(), "cannot be read: kept the policies of before"),
            }
        }
    })
}

async fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = || format!("the policies in {}", path.display());
    let length = tokio::fs::metadata(path).await.with_context(name)?.len();
    ensure!(length <= MAX_FILE, "{}: more than {MAX_FILE} bytes", path.display());
    tokio::fs::read(path).await.with_context(name)
}

/// The policies of `text`. What is only warned of, as a field of a later release, is logged.
fn parse(text: &[u8], path: &Path) -> anyhow::Result<Vec<EndpointPolicy>> {
    let name = path.display().to_string();
    // Somebody is about to write it, or could not. No policy at all is an empty list.
    ensure!(!text.trim_ascii().is_empty(), "{name}: there is nothing in it");
    let (policies, problems) = decode::policies(text, &Source::file(&name))?;
    let (errors, others): (Vec<_>, Vec<_>) = problems.into_iter().partition(|p| p.severity == Severity::Error);
    ensure!(errors.is_empty(), "{}", told(&errors));
    if !others.is_empty() {
        tracing::warn!(problems = %told(&others), "the file of policies is in force, but not all that it says");
    }
    Ok(policies.iter().cloned().collect())
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;
    use crate::{
        admission::{AdmissionRequest, Mode, Rule},
        servers::webhook::Policies,
    };

    const POLICY: &str = "\
apiVersion: roster.dev/v1
kind: EndpointPolicy
metadata: {name: a}
spec:
  defaultMode: warn
";

    /// The time goes on as soon as everybody waits for it.
    #[tokio::test(start_paused = true)]
    async fn a_change_of_the_file_holds_once_it_has_settled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.yaml");
        let in_force = Arc::new(InForce::new(None));
        let mode = || {
            in_force
                .settings(&AdmissionRequest { kind: "Service".into(), ..AdmissionRequest::default() })
                .mode(Rule::ExternalIp)
        };
        let enforce = POLICY.replace("warn", "enforce");
        tokio::fs::write(&path, POLICY).await.unwrap();
        tokio::spawn(of_file(&path, &in_force).await.unwrap());
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
    fn only_errors_refuse_a_file() {
        for (name, more, want) in [
            ("nothing", "", Ok(1)),
            ("a field of a later release", "  newThing: 1\n", Ok(1)),
            ("a policy twice", &format!("---\n{POLICY}"), Ok(1)),
            ("a value that means nothing", "  rules: []\n  match: 5\n", Err("p.yaml:7: spec.match ")),
            ("another kind", "---\nkind: Service\n", Err("p.yaml:7: \"Service\" is no EndpointPolicy")),
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
        assert_eq!(of(" \n").unwrap_err().to_string(), "p.yaml: there is nothing in it");
        assert_eq!(of("[]").unwrap(), 0);
    }
}
