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

use kube::{Client, ResourceExt, core::DynamicObject};
use roster_admission::policy::{PolicyStatus, PolicyVersion};
use roster_engine::{
    model::{
        HashSeed, Resource, Time,
        installed::{POLICIES_MANAGER, POLICY_KIND},
    },
    reason::Finding,
};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::sleep};

use crate::{
    kube_api::{WriteError, WriteOutcome, Writer},
    runtime::{back_off::BackOff, clock::Clock},
};

/// The first and the longest pause after an error of the API server.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_mins(1)];

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
    pub(super) async fn write(self, client: Client) {
        let writer = Writer::new(client, Resource::EndpointPolicy, None, POLICIES_MANAGER);
        let [first, longest] = PAUSES;
        let mut back_off = BackOff::new(first, longest).with_jitter();
        loop {
            let Some((name, due)) = self.next() else {
                self.more.notified().await;
                continue;
            };
            match apply(&writer, &name, &due).await {
                Ok(written) => {
                    self.book().done(&name, &due, written);
                    back_off.reset();
                }
                Err(error) => {
                    tracing::warn!(policy = name, %error, "the status of a policy is not written");
                    sleep(back_off.next()).await;
                }
            }
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

/// Applies a status on the server's side: conditions of other managers stay. `false`: it is void. The policy has changed or
/// was deleted, or the status is refused, and the watch brings the next version. An error may pass.
async fn apply(writer: &Writer<DynamicObject>, name: &str, due: &DueStatus) -> Result<bool, WriteError> {
    match writer.apply_status(name, &applied(name, due)).await {
        Ok(WriteOutcome::Done(_)) => Ok(true),
        Ok(WriteOutcome::Conflict | WriteOutcome::Gone) => {
            tracing::debug!(policy = name, "the policy changed before its status was written");
            Ok(false)
        }
        // Other policies may still be written.
        Err(error) if error.is_invalid() => {
            tracing::warn!(policy = name, %error, "the status of a policy is refused");
            Ok(false)
        }
        Err(error) => Err(error),
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
    use axum::{
        Json, Router,
        extract::State,
        http::StatusCode,
        response::{IntoResponse, Response},
    };
    use tokio::time::Instant;

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

    /// The status codes of the next answers, and when requests came.
    #[derive(Default)]
    struct Requests {
        codes: Vec<u16>,
        at: Vec<Instant>,
    }

    async fn answer(State(requests): State<Arc<Mutex<Requests>>>) -> Response {
        let mut requests = requests.lock().unwrap();
        requests.at.push(Instant::now());
        let code = requests.codes.pop().unwrap();
        let body = if code == 200 {
            serde_json::to_value(policy(8, 1, &Value::Null)).unwrap()
        } else {
            json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "r", "message": "m" })
        };
        (StatusCode::from_u16(code).unwrap(), Json(body)).into_response()
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_is_written_again_after_an_error_that_may_pass() {
        for (codes, is_written) in [
            (vec![200], true),
            (vec![409], false),
            (vec![404], false),
            (vec![422], false),
            (vec![400], false),
            (vec![500, 403, 200], true),
            (vec![500, 500, 500, 409], false),
        ] {
            let mut reversed = codes.clone();
            reversed.reverse();
            let requests = Arc::new(Mutex::new(Requests { codes: reversed, at: Vec::new() }));
            let client = kube::Client::new(Router::new().fallback(answer).with_state(requests.clone()), "default");
            let statuses = PolicyStatuses::new(Clock::system());
            statuses.see(&policy(7, 1, &Value::Null), &[]);
            let task = tokio::spawn(statuses.clone().write(client));
            sleep(Duration::from_mins(5)).await;
            let pauses: Vec<f64> =
                requests.lock().unwrap().at.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
            assert_eq!(pauses.len(), codes.len() - 1, "{codes:?}");
            for (pause, longest) in pauses.iter().zip([2.0, 4.0, 8.0]) {
                assert!((longest / 2.0..=longest + 0.01).contains(pause), "{codes:?}: {pauses:?}");
            }
            assert!(statuses.book().due.is_empty(), "{codes:?}");
            assert_eq!(statuses.book().written.contains_key("p"), is_written, "{codes:?}");
            task.abort();
        }
    }
}
