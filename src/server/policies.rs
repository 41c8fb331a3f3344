//! Keeps the policies of a file in force.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    decode::{self, Source},
    policy::EndpointPolicy,
    reason::Severity,
    webhook::{InForce, told},
};

/// How often the file is looked at: a mounted `ConfigMap` takes about a minute anyway.
const POLL: Duration = Duration::from_secs(2);
/// Most bytes of the file.
const MAX_FILE: u64 = 16 << 20;

/// Reads the policies of a file; what follows keeps them, and never ends. At the start a file with an error is refused;
/// later it keeps what was.
pub(super) async fn of_file(path: &Path, in_force: &Arc<InForce>) -> anyhow::Result<impl Future<Output = ()> + use<>> {
    let mut text = read(path).await?;
    in_force.set_file(parse(&text, path)?);
    let (path, in_force) = (path.to_owned(), in_force.clone());
    Ok(async move {
        let mut tick = interval(POLL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            // A file that is gone for a moment is being replaced.
            let Ok(now) = read(&path).await else { continue };
            if now == text {
                continue;
            }
            text = now;
            match parse(&text, &path) {
                Ok(policies) => {
                    tracing::info!(policies = policies.len(), "the file of policies was read again");
                    in_force.set_file(policies);
                }
                Err(error) => tracing::warn!(error = %format!("{error:#}"), "kept the policies of before"),
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
    use super::*;

    const POLICY: &str = "\
apiVersion: roster.dev/v1
kind: EndpointPolicy
metadata: {name: a}
spec:
  defaultMode: warn
";

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
