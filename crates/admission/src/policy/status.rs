//! The `status` of a policy.

use roster_engine::{
    model::{Text, Time, wire::nullable},
    reason::{Finding, Severity},
};
use serde::{Deserialize, Serialize};

/// The message for a policy that cannot be read. The previous generation stays in force, but is lost on a restart.
const NOT_IN_FORCE: &str = "this generation is not in force; the previous one is, until the next restart";

/// `status` of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyStatus {
    /// The generation of the policy.
    #[serde(deserialize_with = "nullable")]
    pub observed_generation: i64,
    /// `Accepted` and `Ready`.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
}

/// `metav1.Condition`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: Text,
    pub status: Text,
    #[serde(default, deserialize_with = "nullable")]
    pub observed_generation: i64,
    pub last_transition_time: Time,
    pub reason: Text,
    pub message: String,
}

impl PolicyStatus {
    /// The status of a generation with these findings, at `now`. A condition that has not changed since `before` keeps
    /// its time, so that an unchanged status is not written again.
    pub fn of(generation: i64, problems: &[Finding], before: &Self, now: Time) -> Self {
        let errors = problems.iter().filter(|p| p.severity == Severity::Error);
        let bad: Vec<&str> = errors.map(|p| p.message.as_str()).collect();
        let messages: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        let accepted = if bad.is_empty() {
            ("Accepted", "True", if messages.is_empty() { "Valid" } else { "ValidWithWarnings" }, messages.join("; "))
        } else {
            ("Accepted", "False", "Invalid", bad.join("; "))
        };
        let ready = if bad.is_empty() {
            ("Ready", "True", "InForce", String::new())
        } else {
            ("Ready", "False", "Invalid", NOT_IN_FORCE.to_owned())
        };
        let conditions = [accepted, ready].map(|(kind, status, reason, message)| {
            let same = before.conditions.iter().find(|c| c.kind == kind && c.status == status);
            Condition {
                kind: kind.into(),
                status: status.into(),
                observed_generation: generation,
                last_transition_time: same.map_or(now, |c| c.last_transition_time),
                reason: reason.into(),
                message: message.chars().take(1024).collect(),
            }
        });
        Self { observed_generation: generation, conditions: conditions.into() }
    }

    /// Whether it contains all of `wanted`, apart from the conditions of other writers.
    pub fn contains(&self, wanted: &Self) -> bool {
        self.observed_generation == wanted.observed_generation
            && wanted.conditions.iter().all(|c| self.conditions.contains(c))
    }
}
