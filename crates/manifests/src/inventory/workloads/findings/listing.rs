//! Lists of names in messages, which are short however long the input is.

use std::collections::BTreeSet;

use roster_engine::model::{Service, json::message::shortened};

/// How many are named.
const SHOWN: usize = 5;
/// How many Services are named in a finding about another object.
const SERVICES: usize = 3;

/// The first texts, each once, and the number of the others.
pub(super) fn list<T: AsRef<str> + Ord>(texts: impl Iterator<Item = T>) -> String {
    let mut first: Vec<String> = Vec::new();
    let mut all = BTreeSet::new();
    for text in texts.filter(|text| !text.as_ref().is_empty()) {
        if !all.contains(&text) {
            first.extend((all.len() < SHOWN).then(|| shortened(text.as_ref()).into_owned()));
            all.insert(text);
        }
    }
    with_more(&first, all.len())
}

fn with_more(first: &[String], all: usize) -> String {
    let more = all - first.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    first.join(", ") + &rest
}

/// The Services that a finding about a workload is about: the first of them, and how many there are.
#[derive(Debug, Default)]
pub(super) struct ServiceNames<'a> {
    /// By their places in the input.
    first: Vec<(usize, &'a Service)>,
    count: usize,
}

impl<'a> ServiceNames<'a> {
    /// Adds Services, which are sorted by their places.
    pub(super) fn add(&mut self, services: &[(usize, &'a Service)]) {
        self.count += services.len();
        self.first.extend(services.iter().take(SERVICES));
        self.first.sort_unstable_by_key(|(place, _)| *place);
        self.first.truncate(SERVICES);
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// `Service a` or `Services a, b, c and 2 more`.
    pub(super) fn text(&self) -> String {
        let names: Vec<String> = self.first.iter().map(|(_, s)| s.meta.name.to_string()).collect();
        format!("Service{} {}", if self.count == 1 { "" } else { "s" }, with_more(&names, self.count))
    }

    /// `singular` if there is one Service, and else `plural`.
    pub(super) fn verb(&self, singular: &'static str, plural: &'static str) -> &'static str {
        if self.count == 1 { singular } else { plural }
    }
}
