//! What cases ask of the whole inputs, and the answers: thousands of cases may ask the same.

use std::collections::{BTreeMap, HashMap};

use roster_engine::{
    explain::{Explanation, PodVerdict},
    model::{HashSeed, ObjectKey, Text},
    profile::Minor,
};

use super::test_file::{PortChoice, ServesExpectation};

/// What a case asks. The Service is `NAME` or `NAMESPACE/NAME`; all if it is missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    Plan(Option<String>),
    Upgrade(Minor, Minor, Option<String>),
    Findings,
    Serves(ServingQuestion),
    /// Why it serves no others.
    NotServing(ServingQuestion),
}

/// The part of a Service that a case asks about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ServingQuestion {
    pub(super) service: String,
    pub(super) port: Option<PortChoice>,
    pub(super) zone: Option<Text>,
    pub(super) clients_in_zone: Option<Text>,
}

impl From<&ServesExpectation> for ServingQuestion {
    fn from(wanted: &ServesExpectation) -> Self {
        Self {
            service: wanted.service.clone(),
            port: wanted.port.clone(),
            zone: wanted.zone.clone(),
            clients_in_zone: wanted.clients_in_zone.clone(),
        }
    }
}

/// What is there, and what explains it.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) all: Found,
    /// The same of each object, where a case may ask for one.
    pub(super) of_objects: BTreeMap<ObjectKey, Found>,
}

/// Sorted texts, and the first lines of what explains them.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) texts: Vec<String>,
    pub(super) why: Explained,
}

/// The first lines of an explanation, and how many there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Explained {
    lines: Vec<String>,
    more: usize,
}

impl Explained {
    /// The most lines of a case.
    const SHOWN: usize = 10;

    /// Adds a line, which is not written if there are enough.
    pub(super) fn add(&mut self, line: impl FnOnce() -> String) {
        if self.lines.len() < Self::SHOWN {
            self.lines.push(line());
        } else {
            self.more += 1;
        }
    }

    /// The lines, and the number of the others.
    pub(super) fn lines(&self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        self.lines.iter().cloned().chain(more).collect()
    }
}

/// The first of a number of names: `a, b and 2 more`.
pub(super) fn first_names<T: AsRef<str>>(first: &[T], all: usize) -> String {
    let names: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
    match all - first.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

impl FromIterator<String> for Explained {
    fn from_iter<I: IntoIterator<Item = String>>(lines: I) -> Self {
        let mut explained = Self::default();
        lines.into_iter().for_each(|line| explained.add(|| line));
        explained
    }
}

/// An explanation of which thousands of cases may each ask for one pod.
#[derive(Debug)]
pub(super) struct ExplanationByPod {
    pub(super) explanation: Explanation,
    /// The places of the rows of a pod.
    of_pods: HashMap<Text, Vec<usize>, HashSeed>,
}

impl ExplanationByPod {
    pub(super) fn new(explanation: Explanation) -> Self {
        let mut of_pods: HashMap<Text, Vec<usize>, HashSeed> = HashMap::default();
        for (place, row) in explanation.rows.iter().enumerate() {
            of_pods.entry(row.pod.clone()).or_default().push(place);
        }
        Self { explanation, of_pods }
    }

    /// The rows of a pod.
    pub(super) fn of_pod(&self, name: &Text) -> impl Iterator<Item = &PodVerdict> {
        let places = self.of_pods.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| self.explanation.rows.get(*place))
    }

    /// The names of the first pods, in the order of the rows, and how many there are in all.
    pub(super) fn pods(&self, most: usize) -> (Vec<&str>, usize) {
        let first = self
            .explanation
            .rows
            .iter()
            .enumerate()
            .filter(|(place, row)| self.of_pods.get(&row.pod).and_then(|places| places.first()) == Some(place));
        (first.map(|(_, row)| row.pod.as_str()).take(most).collect(), self.of_pods.len())
    }
}
