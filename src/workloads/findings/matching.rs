//! Whether a selector matches the pods of a workload, and what differs if it does not.

use crate::{
    model::{Labels, Text, names},
    workloads::workload::{Workload, WorkloadController},
};

/// Labels whose values only a cluster knows.
const OPAQUE: [&str; 7] = [
    "pod-template-hash",
    "controller-revision-hash",
    "pod-template-generation",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    names::ZONE,
    names::REGION,
];

impl Workload {
    /// Whether a pod of the workload may have the label: from the template, or from its controller.
    fn may_have(&self, key: &str, value: &Text) -> bool {
        let of_template = self.template.labels.get(key);
        let is_ordinal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let added = match (&self.controller, key) {
            (_, key) if OPAQUE.contains(&key) => return true,
            // A controller that Roster does not know may add any label.
            (WorkloadController::Custom { .. }, _) => of_template.is_none(),
            (WorkloadController::StatefulSet { .. }, "statefulset.kubernetes.io/pod-name") => {
                let ordinal = value.strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
                return ordinal.is_some_and(is_ordinal);
            }
            (WorkloadController::StatefulSet { .. }, "apps.kubernetes.io/pod-index") => return is_ordinal(value),
            (WorkloadController::Job(job) | WorkloadController::CronJob { job, .. }, _) => match key {
                "batch.kubernetes.io/job-completion-index" => job.indexed && is_ordinal(value),
                "job-name" | "batch.kubernetes.io/job-name" => !job.manual_selector && value.starts_with(&*self.name),
                _ => false,
            },
            _ => false,
        };
        added || of_template == Some(value)
    }

    /// Whether `selector` may select pods of the workload.
    pub(super) fn is_selected_by(&self, selector: &Labels) -> bool {
        selector.iter().all(|(key, value)| self.may_have(key, value))
    }
}

/// A workload that a selector almost matches.
#[derive(Debug)]
pub(super) struct NearMiss<'a> {
    pub(super) workload: &'a Workload,
    /// How many labels of the selector its pods have.
    same: usize,
    /// The labels of the selector that its pods do not have.
    differing: Vec<(&'a Text, &'a Text)>,
    /// How many letters differ in all of them.
    distance: usize,
}

impl<'a> NearMiss<'a> {
    /// The workload that comes closest.
    pub(super) fn find(selector: &'a Labels, workloads: &[&'a Workload]) -> Option<Self> {
        let misses = workloads.iter().map(|workload| Self::of(selector, workload));
        misses.min_by_key(|m| (m.differing.len(), std::cmp::Reverse(m.same), m.distance))
    }

    fn of(selector: &'a Labels, workload: &'a Workload) -> Self {
        let differing: Vec<_> = selector.iter().filter(|(key, value)| !workload.may_have(key, value)).collect();
        let labels = &workload.template.labels;
        let distance = |(key, value): &(&Text, &Text)| labels.get(key).map_or(key.len(), |other| letters(value, other));
        Self {
            workload,
            same: selector.len() - differing.len(),
            distance: differing.iter().map(distance).sum(),
            differing,
        }
    }

    /// Whether it looks like a mistake of typing: the pods have the other labels, and of this one almost the value.
    pub(super) fn is_typo(&self) -> bool {
        let [(key, _)] = self.differing.as_slice() else { return false };
        self.workload.template.labels.contains_key(key) && self.distance <= 2
    }

    /// What differs, for a message.
    pub(super) fn text(&self) -> String {
        let labels = &self.workload.template.labels;
        let difference = |(key, value): &(&Text, &Text)| match labels.get(key) {
            Some(other) => format!("{key}={other} instead of {value}"),
            None => match labels.iter().find(|(k, v)| v == value && letters(key, k) <= 2) {
                Some((other, _)) => format!("{other}={value} instead of {key}={value}"),
                None => format!("no label {key}={value}"),
            },
        };
        let all: Vec<String> = self.differing.iter().take(3).map(difference).collect();
        format!("{} {}, which has {}", self.workload.kind, self.workload.name, all.join(", "))
    }
}

/// How many letters to insert, remove or replace to make one text of the other. Texts that are longer than labels are
/// not compared.
fn letters(a: &str, b: &str) -> usize {
    const LONGEST: usize = 320;
    if a.len().max(b.len()) > LONGEST {
        return LONGEST;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
