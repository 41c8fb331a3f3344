//! Whether a selector matches the pods of a workload, and what differs if it does not.

use smallvec::SmallVec;

use crate::{
    inventory::workloads::workload::{Workload, WorkloadController},
    model::{Labels, Pod, Text, names},
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

/// Whether only a cluster knows the value of a label.
pub(super) fn is_opaque(key: &str) -> bool {
    OPAQUE.contains(&key)
}

impl Workload {
    /// Whether its pods may have labels that its template does not have, beside those of which only a cluster knows the
    /// values.
    pub(super) fn controller_adds_labels(&self) -> bool {
        matches!(
            self.controller,
            WorkloadController::Custom { .. }
                | WorkloadController::StatefulSet { .. }
                | WorkloadController::Job(_)
                | WorkloadController::CronJob { .. }
        )
    }

    /// Whether a pod of the workload may have the label: from the template, or from its controller.
    fn may_have(&self, key: &str, value: &Text) -> bool {
        let of_template = self.template.labels.get(key);
        let is_ordinal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let added = match (&self.controller, key) {
            (_, key) if is_opaque(key) => return true,
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

/// What a selector is compared with: a workload, or a pod that no workload makes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Candidate<'a> {
    Workload(&'a Workload),
    Pod(&'a Pod),
}

impl<'a> Candidate<'a> {
    fn labels(self) -> &'a Labels {
        match self {
            Self::Workload(workload) => &workload.template.labels,
            Self::Pod(pod) => &pod.labels,
        }
    }

    fn may_have(self, key: &str, value: &Text) -> bool {
        match self {
            Self::Workload(workload) => workload.may_have(key, value),
            Self::Pod(pod) => is_opaque(key) || pod.labels.get(key) == Some(value),
        }
    }

    /// Whether `selector` may select its pods.
    pub(super) fn is_selected_by(self, selector: &Labels) -> bool {
        selector.iter().all(|(key, value)| self.may_have(key, value))
    }

    /// Kind and name.
    pub(super) fn name(self) -> String {
        match self {
            Self::Workload(workload) => format!("{} {}", workload.kind, workload.name),
            Self::Pod(pod) => format!("Pod {}", pod.name()),
        }
    }

    /// Whether its pods are members of a group that often choose a leader among themselves.
    fn has_members(self) -> bool {
        matches!(self, Self::Workload(w) if matches!(w.controller, WorkloadController::StatefulSet { .. }))
    }
}

/// A candidate that a selector almost matches.
#[derive(Debug)]
pub(super) struct NearMiss<'a> {
    candidate: Candidate<'a>,
    /// How many labels of the selector its pods have.
    same: usize,
    /// The labels of the selector that its pods do not have.
    differing: Vec<(&'a Text, &'a Text)>,
    /// How many letters differ in all of them.
    distance: usize,
}

impl<'a> NearMiss<'a> {
    /// The candidate that comes closest.
    pub(super) fn find(selector: &'a Labels, candidates: impl Iterator<Item = Candidate<'a>>) -> Option<Self> {
        let mut best: Option<Self> = None;
        for candidate in candidates {
            best = Self::better(selector, candidate, best.as_ref()).or(best);
        }
        best
    }

    /// The candidate, if it comes closer than the best one so far. Thousands of Services may each be compared with
    /// thousands of workloads, so nothing is computed beyond the point where it is known to be farther.
    fn better(selector: &'a Labels, candidate: Candidate<'a>, best: Option<&Self>) -> Option<Self> {
        let differing = || selector.iter().filter(|(key, value)| !candidate.may_have(key, value));
        let most = best.map_or(usize::MAX, |b| b.differing.len());
        let count = differing().take(most.saturating_add(1)).count();
        if count > most {
            return None;
        }
        let limit = best.filter(|b| b.differing.len() == count).map_or(usize::MAX, |b| b.distance);
        let labels = candidate.labels();
        let mut distance = 0;
        for (key, value) in differing() {
            distance += match labels.get(key) {
                Some(other) => letters_below(value, other, limit - distance)?,
                None => key.len(),
            };
            if distance >= limit {
                return None;
            }
        }
        let same = selector.len() - count;
        (distance < limit).then(|| Self { candidate, same, distance, differing: differing().collect() })
    }

    /// Whether it looks like a mistake of typing: the pods have the other labels, and of this one almost the value, or the
    /// value under almost the key.
    pub(super) fn is_typo(&self) -> bool {
        let [(key, value)] = self.differing.as_slice() else { return false };
        let labels = self.candidate.labels();
        if labels.contains_key(key) { self.distance <= 2 } else { almost_key(labels, key, value).is_some() }
    }

    /// Whether the pods may get the missing labels while they run, as programs mark the leader of a group: they have the
    /// other labels, and either they are such a group, or another Service selects them by the other labels.
    pub(super) fn may_come_at_run_time(&self, mut selectors: impl Iterator<Item = &'a Labels>) -> bool {
        let labels = self.candidate.labels();
        let is_new =
            |(key, value): &(&Text, &Text)| !labels.contains_key(key) && almost_key(labels, key, value).is_none();
        let is_wider = |other: &Labels| {
            other.len() <= self.same
                && self.candidate.is_selected_by(other)
                && other.iter().all(|(key, _)| !self.differing.iter().any(|(k, _)| *k == key))
        };
        self.same > 0
            && self.differing.iter().all(is_new)
            && (self.candidate.has_members() || selectors.any(|other| !other.is_empty() && is_wider(other)))
    }

    /// What differs, for a message.
    pub(super) fn text(&self) -> String {
        let labels = self.candidate.labels();
        let difference = |(key, value): &(&Text, &Text)| match labels.get(key) {
            Some(other) => format!("{key}={other} instead of {value}"),
            None => match almost_key(labels, key, value) {
                Some(other) => format!("{other}={value} instead of {key}={value}"),
                None => format!("no label {key}={value}"),
            },
        };
        let all: Vec<String> = self.differing.iter().take(3).map(difference).collect();
        format!("{}, which has {}", self.candidate.name(), all.join(", "))
    }
}

/// The key under which the labels have `value`, if it is `key` but for a letter or two.
fn almost_key<'a>(labels: &'a Labels, key: &str, value: &Text) -> Option<&'a Text> {
    labels.iter().find(|(k, v)| *v == value && letters(key, k) <= 2).map(|(k, _)| k)
}

/// The longest text that is compared letter by letter.
const LONGEST: usize = 320;

/// How many letters to insert, remove or replace to make one text of the other. Texts that are longer than labels are
/// not compared.
pub(super) fn letters(a: &str, b: &str) -> usize {
    letters_below(a, b, usize::MAX).unwrap_or(LONGEST)
}

/// The same, if it is below a limit.
fn letters_below(a: &str, b: &str, limit: usize) -> Option<usize> {
    if a.len().max(b.len()) > LONGEST {
        return (LONGEST < limit).then_some(LONGEST);
    }
    if a.len().abs_diff(b.len()) >= limit {
        return None;
    }
    let (a, b) = without_common_ends(a.as_bytes(), b.as_bytes());
    let mut row: SmallVec<[usize; 32]> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        let mut least = row[0];
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
            least = least.min(row[j + 1]);
        }
        // No later row has less than the least of this one.
        if least >= limit {
            return None;
        }
    }
    Some(row[b.len()]).filter(|letters| *letters < limit)
}

/// Two texts without what both begin and end with: it does not add to their distance.
fn without_common_ends<'t>(a: &'t [u8], b: &'t [u8]) -> (&'t [u8], &'t [u8]) {
    let begin = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[begin..], &b[begin..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    (&a[..a.len() - end], &b[..b.len() - end])
}
