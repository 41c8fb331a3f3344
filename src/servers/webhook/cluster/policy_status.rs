//! Writes what Roster made of a policy into its `status`.
//!
//! Every replica sees every policy, and no Lease says who speaks: a status is applied with the `resourceVersion` that
//! it is about, so that of several replicas the first one is heard, and the others then see that all is said. A replica
//! speaks once about a generation: two releases that disagree do not answer each other for ever.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kube::{
    Api, ResourceExt,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::{
    admission::policy::{PolicyStatus, PolicyVersion},
    engine::reason::Finding,
    model::{
        Time,
        installed::{POLICIES_MANAGER, POLICY_KIND},
    },
    runtime::clock::Clock,
};

/// Longest time of one write.
const WORK: Duration = Duration::from_secs(10);
/// So soon it is tried again when the API server does not take it; twice that the next time.
const RETRY: Duration = Duration::from_secs(2);
/// At most so long after.
const LONGEST: Duration = Duration::from_mins(1);

/// What is still to be said. One is shared by the watch of policies and the task that writes.
#[derive(Clone)]
pub(super) struct PolicyStatuses {
    clock: Clock,
    book: Arc<Mutex<StatusBook>>,
    more: Arc<Notify>,
}

/// By the name of the policy.
#[derive(Default)]
struct StatusBook {
    due: BTreeMap<String, DueStatus>,
    /// About which generation of which policy this replica has spoken.
    said: BTreeMap<String, Generation>,
}

/// Of one that was deleted and made again, the numbers begin again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Generation {
    uid: String,
    number: i64,
}

/// A status, and the version of the object that it is about.
#[derive(Clone, Debug, PartialEq)]
struct DueStatus {
    version: String,
    generation: Generation,
    status: PolicyStatus,
}

/// What came of a write.
#[derive(Debug, PartialEq, Eq)]
enum WriteOutcome {
    Written,
    /// It has changed meanwhile, or is gone, or cannot have this status: the watch tells what is next.
    Void,
    Again(String),
}

impl PolicyStatuses {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, book: Arc::default(), more: Arc::default() }
    }

    /// A policy as it is stored now, and what is wrong with it.
    pub(super) fn see(&self, object: &DynamicObject, problems: &[Finding]) {
        let due = due(object, problems, Time(self.clock.now()));
        let mut book = self.book();
        if book.take(&object.name_any(), due) {
            self.more.notify_one();
        }
    }

    /// A policy is gone.
    pub(super) fn forget(&self, name: &str) {
        let mut book = self.book();
        book.due.remove(name);
        book.said.remove(name);
    }

    /// Writes what is due, for ever.
    pub(super) async fn write(self, api: Api<DynamicObject>) {
        let mut pause = RETRY;
        loop {
            let Some((name, due)) = self.next() else {
                self.more.notified().await;
                continue;
            };
            match apply(&api, &name, &due).await {
                WriteOutcome::Again(why) => {
                    tracing::warn!(policy = name, error = why, "the status of a policy is not written");
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST);
                    continue;
                }
                outcome => self.book().done(&name, &due, outcome == WriteOutcome::Written),
            }
            pause = RETRY;
        }
    }

    fn next(&self) -> Option<(String, DueStatus)> {
        self.book().due.first_key_value().map(|(name, due)| (name.clone(), due.clone()))
    }

    fn book(&self) -> MutexGuard<'_, StatusBook> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StatusBook {
    /// Takes what is to be said of a policy; whether there is something.
    fn take(&mut self, name: &str, due: Option<DueStatus>) -> bool {
        match due {
            Some(due) if self.said.get(name) != Some(&due.generation) => {
                self.due.insert(name.to_owned(), due);
                true
            }
            _ => {
                self.due.remove(name);
                false
            }
        }
    }

    /// What was due is over, unless the policy has changed meanwhile.
    fn done(&mut self, name: &str, due: &DueStatus, written: bool) {
        if self.due.get(name) == Some(due) {
            self.due.remove(name);
        }
        if written {
            self.said.insert(name.to_owned(), due.generation.clone());
        }
    }
}

/// What is to be said of a policy; `None` if it says so already, or is on its way out.
fn due(object: &DynamicObject, problems: &[Finding], now: Time) -> Option<DueStatus> {
    let meta = &object.metadata;
    let before: PolicyStatus = serde_json::from_value(object.data["status"].clone()).unwrap_or_default();
    let generation = Generation { uid: meta.uid.clone()?, number: meta.generation? };
    let status = PolicyStatus::of(generation.number, problems, &before, now);
    let version = meta.resource_version.clone()?;
    (meta.deletion_timestamp.is_none() && !before.contains(&status)).then_some(DueStatus {
        version,
        generation,
        status,
    })
}

/// By server-side apply: other managers' conditions stay.
async fn apply(api: &Api<DynamicObject>, name: &str, due: &DueStatus) -> WriteOutcome {
    let params = PatchParams::apply(POLICIES_MANAGER).force();
    let object = applied(name, due);
    match timeout(WORK, api.patch_status(name, &params, &Patch::Apply(object))).await {
        Ok(Ok(_)) => WriteOutcome::Written,
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {
            tracing::debug!(policy = name, %status, "a status came too late");
            WriteOutcome::Void
        }
        // The next policy may fare better.
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 400 | 422) => {
            tracing::warn!(policy = name, %status, "the status of a policy is refused");
            WriteOutcome::Void
        }
        Ok(Err(error)) => WriteOutcome::Again(error.to_string()),
        Err(_) => WriteOutcome::Again(format!("no answer from the API server within {} s", WORK.as_secs())),
    }
}

fn applied(name: &str, due: &DueStatus) -> Value {
    json!({
        "apiVersion": PolicyVersion::V1.api_version(),
        "kind": POLICY_KIND,
        "metadata": { "name": name, "resourceVersion": due.version },
        "status": due.status,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Time {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    /// A policy as an API server would tell it.
    fn policy(version: u32, generation: i64, status: &Value) -> DynamicObject {
        let object = json!({
            "apiVersion": "roster.dev/v1",
            "kind": "EndpointPolicy",
            "metadata": { "name": "p", "uid": "u", "generation": generation, "resourceVersion": version.to_string() },
            "spec": {},
            "status": status,
        });
        serde_json::from_value(object).unwrap()
    }

    fn said(generation: i64) -> Value {
        serde_json::to_value(PolicyStatus::of(generation, &[], &PolicyStatus::default(), now())).unwrap()
    }

    #[test]
    fn what_is_said_already_is_not_due() {
        let foreign = |mut status: Value| {
            let other = json!({ "type": "Other", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z",
                "reason": "R", "message": "" });
            status["conditions"].as_array_mut().unwrap().push(other);
            status
        };
        for (name, generation, status, want) in [
            ("nothing is said yet", 1, Value::Null, true),
            ("all is said", 1, said(1), false),
            ("of the generation before", 2, said(1), true),
            ("beside somebody else's condition", 1, foreign(said(1)), false),
            ("what is there cannot be read", 1, json!({ "conditions": "x" }), true),
        ] {
            let found = due(&policy(7, generation, &status), &[], "2026-02-02T00:00:00Z".parse().unwrap());
            assert_eq!(found.is_some(), want, "{name}");
            assert!(found.is_none_or(|d| d.version == "7" && d.generation.number == generation), "{name}");
        }
        let mut deleted = policy(7, 1, &Value::Null);
        deleted.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).ok();
        assert_eq!(due(&deleted, &[], now()), None);
    }

    #[test]
    fn a_replica_speaks_once_about_a_generation() {
        let mut book = StatusBook::default();
        let of = |version, generation| due(&policy(version, generation, &Value::Null), &[], now());
        assert!(book.take("p", of(1, 1)));
        // A conflict: nothing was said, and the next version is due.
        book.done("p", &of(1, 1).unwrap(), false);
        assert!(book.due.is_empty() && book.take("p", of(2, 1)));
        book.done("p", &of(2, 1).unwrap(), true);
        assert!(!book.take("p", of(3, 1)), "somebody disagrees");
        assert!(book.take("p", of(4, 2)));
        // It changed while it was written.
        assert!(book.take("p", of(5, 3)));
        book.done("p", &of(4, 2).unwrap(), true);
        assert_eq!(book.due.get("p"), of(5, 3).as_ref());
        assert!(!book.take("p", None), "another replica was quicker");
        assert!(book.due.is_empty());
    }

    #[test]
    fn only_the_status_is_applied() {
        let due = due(&policy(7, 1, &Value::Null), &[], now()).unwrap();
        let mut object = applied("p", &due);
        let status = object["status"].take();
        assert_eq!(
            object,
            json!({ "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "status": null,
                "metadata": { "name": "p", "resourceVersion": "7" } })
        );
        assert_eq!(status, said(1));
    }
}
