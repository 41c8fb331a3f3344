//! The Kubernetes release that the controller acts like: the one of the cluster, unless it was chosen.
//!
//! Another release plans other objects. A controller that acts like the wrong one rewrites what is right, and a shadow reports it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kube::Client;
use roster_engine::profile::Minor;
use tokio::time::{Instant, sleep};

use super::cluster_copy::ClusterCopy;
use crate::kube_api::{FailureLog, LiveError, failure_text, server_version};

/// The longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(10);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause between two looks whether the cluster was upgraded.
const LOOK: Duration = Duration::from_mins(5);

/// What is known of the release of the cluster.
#[derive(Debug)]
pub(super) struct ClusterRelease {
    copy: Arc<ClusterCopy>,
    chosen: Option<Minor>,
    /// Why it is not known.
    failure: Mutex<Option<String>>,
}

/// How the release that is acted like compares with that of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    /// It is the same.
    Same,
    /// Another one was chosen.
    Chosen,
    /// There is no profile of that of the cluster.
    NoProfile,
    /// The cluster had it before.
    Upgraded,
}

/// The release to act like in a cluster of this version.
fn acts_like(chosen: Option<Minor>, before: Option<Minor>, version: &str) -> (Minor, Comparison) {
    let (exact, nearest) = (version.parse::<Minor>().ok(), Minor::nearest(version).unwrap_or_default());
    let release = chosen.or(before).unwrap_or(nearest);
    let comparison = match exact {
        Some(exact) if exact == release => Comparison::Same,
        _ if chosen.is_some() => Comparison::Chosen,
        _ if release != nearest => Comparison::Upgraded,
        _ => Comparison::NoProfile,
    };
    (release, comparison)
}

impl ClusterRelease {
    pub(super) fn new(copy: Arc<ClusterCopy>, chosen: Option<Minor>) -> Self {
        if let Some(chosen) = chosen {
            copy.act_like(chosen);
        }
        Self { copy, chosen, failure: Mutex::default() }
    }

    /// Whether it is known.
    pub(super) fn known(&self) -> Result<(), String> {
        if self.copy.release().is_some() {
            return Ok(());
        }
        match &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(format!("{failure} (--compat names a release instead)")),
            None => Err("the release of the cluster is not known yet".to_owned()),
        }
    }

    /// Asks the cluster, and looks from time to time whether it was upgraded. It does not end.
    pub(super) async fn follow(&self, client: Client) {
        let (mut last, mut log) = (None, FailureLog::default());
        loop {
            match server_version(&client, ANSWER).await {
                Ok(version) => {
                    log.end();
                    if last.as_ref() != Some(&version) {
                        self.learn(&version);
                        last = Some(version);
                    }
                    sleep(LOOK).await;
                }
                Err(error) => {
                    self.fail(error, &mut log);
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn learn(&self, version: &str) {
        let (release, comparison) = acts_like(self.chosen, self.copy.release(), version);
        match comparison {
            Comparison::Same => {
                tracing::info!(version, %release, "the controller acts like the release of the cluster");
            }
            Comparison::Chosen => tracing::warn!(
                version,
                compat = %release,
                "the controller acts like another release than that of the cluster: it changes objects that are right there"
            ),
            Comparison::NoProfile => tracing::warn!(
                version,
                %release,
                "the release of the cluster is not known here: the controller acts like the nearest one"
            ),
            Comparison::Upgraded => tracing::warn!(
                version,
                %release,
                "the cluster has another release now: restart the controller to act like it"
            ),
        }
        self.copy.act_like(release);
    }

    fn fail(&self, error: LiveError, log: &mut FailureLog) {
        let text = match error {
            LiveError::Request(doing, error) => format!("{doing}: {}", failure_text(&error)),
            error => format!("{:#}", anyhow::Error::from(error)),
        };
        if log.is_due(&text, Instant::now()) {
            tracing::warn!(error = text, "the cluster does not tell its release");
        }
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use kube::client::Body as KubeBody;
    use tower::service_fn;

    use super::*;
    use crate::servers::controller::cluster_copy_tests::synced;

    /// An API server that refuses the first requests.
    fn client(refused: usize, version: &'static str) -> Client {
        let asked = Arc::new(Mutex::new(0));
        let server = service_fn(move |_: http::Request<KubeBody>| {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            let (code, answer) = if *asked > refused {
                (200, format!(r#"{{"major":"1","gitVersion":"{version}"}}"#))
            } else {
                (403, r#"{"kind":"Status","message":"cannot get path /version","code":403}"#.to_owned())
            };
            let answer = http::Response::builder().status(code).body(Body::from(answer)).unwrap();
            async move { Ok::<_, Infallible>(answer) }
        });
        Client::new(server, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn the_cluster_is_asked_until_it_answers() {
        let copy = Arc::new(synced());
        let release = Arc::new(ClusterRelease::new(copy.clone(), None));
        assert_eq!(release.known(), Err("the release of the cluster is not known yet".to_owned()));
        let (following, asked) = (release.clone(), client(2, "v1.30.4-gke.100"));
        tokio::spawn(async move { following.follow(asked).await });
        sleep(PAUSE / 2).await;
        let error = release.known().unwrap_err();
        assert!(error.contains("asking for the version") && error.contains("cannot get path /version"), "{error}");
        copy.release_is_known().await;
        assert_eq!((release.known(), copy.profile()), (Ok(()), "1.30".parse::<Minor>().unwrap().profile()));
    }

    #[test]
    fn the_release_of_the_cluster_is_acted_like_unless_one_is_chosen() {
        for (chosen, before, version, want, comparison) in [
            (None, None, "v1.30.4", "1.30", Comparison::Same),
            (None, None, "v1.38.0", "1.37", Comparison::NoProfile),
            (None, None, "v1.19.16", "1.22", Comparison::NoProfile),
            (None, None, "", "1.37", Comparison::NoProfile),
            (None, Some("1.30"), "v1.30.5", "1.30", Comparison::Same),
            (None, Some("1.30"), "v1.31.0", "1.30", Comparison::Upgraded),
            (None, Some("1.37"), "v1.38.1", "1.37", Comparison::NoProfile),
            (Some("1.30"), Some("1.30"), "v1.30.4", "1.30", Comparison::Same),
            (Some("1.30"), Some("1.30"), "v1.37.0", "1.30", Comparison::Chosen),
            (Some("1.37"), Some("1.37"), "v1.38.0", "1.37", Comparison::Chosen),
        ] {
            let minor = |text: Option<&str>| text.map(|text| text.parse().unwrap());
            let (release, got) = acts_like(minor(chosen), minor(before), version);
            assert_eq!((release.to_string().as_str(), got), (want, comparison), "{chosen:?} {before:?} {version}");
        }
    }
}
