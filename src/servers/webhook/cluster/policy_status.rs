//! Writes into the `status` of each policy whether it holds, and what is wrong with it.
//!
//! Every replica sees every policy, and no Lease decides which one writes: a status is applied with the
//! `resourceVersion` that it is about, so that the first of several replicas writes it, and the others see that it is up to
//! date. A replica writes once for each generation: two releases that disagree do not overwrite each other forever.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kube::{
    Api, ResourceExt,
    api::{DynamicObject, Patch, PatchParams},
};
use roster_admission::policy::{PolicyStatus, PolicyVersion};
use roster_engine::{
    model::{
        HashSeed, Time,
        installed::{POLICIES_MANAGER, POLICY_KIND},
    },
    reason::Finding,
};
use serde_json::{Value, json};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::runtime::clock::Clock;

/// Longest time of one write.
const WORK: Duration = Duration::from_secs(10);
/// How soon to retry after an error of the API server; twice that the next time.
const RETRY: Duration = Duration::from_secs(2);
/// Longest time between retries.
const LONGEST: Duration = Duration::from_mins(1);

/// The statuses to write. The watch of policies and the task that writes share it.
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
    /// The last generation of each policy whose status this replica has written.
    written: HashMap<String, Generation, HashSeed>,
}

/// The numbers start anew for a policy that is deleted and created again.
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

/// The outcome of a write.
#[derive(Debug, PartialEq, Eq)]
enum WriteOutcome {
    Written,
    /// The policy has changed or was deleted, or the status is refused: the watch brings the next version.
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

    /// A policy was deleted.
    pub(super) fn forget(&self, name: &str) {
        let mut book = self.book();
        book.due.remove(name);
        book.written.remove(name);
    }

    /// Writes what is due, forever.
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
    /// Replaces what is due for a policy. Returns whether anything is.
    fn take(&mut self, name: &str, due: Option<DueStatus>) -> bool {
        match due {
            Some(due) if self.written.get(name) != Some(&due.generation) => {
                self.due.insert(name.to_owned(), due);
                true
            }
            _ => {
                self.due.remove(name);
                false
            }
        }
    }

    /// Removes what was due, unless the policy has changed meanwhile.
    fn done(&mut self, name: &str, due: &DueStatus, written: bool) {
        if self.due.get(name) == Some(due) {
            self.due.remove(name);
        }
        if written {
            self.written.insert(name.to_owned(), due.generation.clone());
        }
    }
}

/// The status to write; `None` if it is up to date, or the policy is being deleted.
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

/// Applies a status on the server's side: conditions of other managers stay.
async fn apply(api: &Api<DynamicObject>, name: &str, due: &DueStatus) -> WriteOutcome {
    let params = PatchParams::apply(POLICIES_MANAGER).force();
    let object = applied(name, due);
    match timeout(WORK, api.patch_status(name, &params, &Patch::Apply(object))).await {
        Ok(Ok(_)) => WriteOutcome::Written,
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {
            tracing::debug!(policy = name, %status, "the policy changed before its status was written");
            WriteOutcome::Void
        }
        // Other policies may still be written.
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 400 | 422) => {
            tracing::warn!(policy = name, %status, "the status of a policy is refused");
            WriteOutcome::Void
        }
        Ok(Err(error)) => WriteOutcome::Again(error.to_string()),
        Err(_) => WriteOutcome::Again(format!("no response from the API server within {} s", WORK.as_secs())),
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

    /// A policy as an API server sends it.
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
    fn a_status_that_is_up_to_date_is_not_due() {
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
    fn a_replica_writes_once_for_each_generation() {
        let mut book = StatusBook::default();
        let of = |version, generation| due(&policy(version, generation, &Value::Null), &[], now());
        assert!(book.take("p", of(1, 1)));
        // A conflict: nothing was said, and the next version is due.
        book.done("p", &of(1, 1).unwrap(), false);
        assert!(book.due.is_empty() && book.take("p", of(2, 1)));
        book.done("p", &of(2, 1).unwrap(), true);
        assert!(!book.take("p", of(3, 1)), "another release disagrees");
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
