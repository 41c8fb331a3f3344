//! Keeps the policies of a file in force.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    decode::{self, Source},
    policy::EndpointPolicy,
    reason::Problem,
    webhook::{InForce, told},
};

/// How often the file is looked at: a mounted `ConfigMap` takes about a minute anyway.
const POLL: Duration = Duration::from_secs(2);
/// Most bytes of the file.
const MAX_FILE: u64 = 16 << 20;

/// Reads the policies of a file; what follows keeps them, and never ends. At the start everything in the file must be
/// right; later, a file that is not keeps what was.
pub(super) async fn of_file(path: &Path, in_force: &Arc<InForce>) -> anyhow::Result<impl Future<Output = ()> + use<>> {
    let mut text = read(path).await?;
    let (policies, problems) = parse(&text, path)?;
    ensure!(problems.is_empty(), "{}", told(&problems));
    in_force.set_file(policies);
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
                Ok((policies, problems)) if problems.is_empty() => {
                    tracing::info!(policies = policies.len(), "the file of policies was read again");
                    in_force.set_file(policies);
                }
                Ok((_, problems)) => tracing::warn!(problems = %told(&problems), "kept the policies of before"),
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

fn parse(text: &[u8], path: &Path) -> anyhow::Result<(Vec<EndpointPolicy>, Vec<Problem>)> {
    let name = path.display().to_string();
    let (policies, problems) = decode::policies(text, &Source::file(&name))?;
    Ok((policies.iter().cloned().collect(), problems))
}
