//! Policies whose names and patterns are hundreds of bytes long, and nearly equal.

use std::ops::Range;

use serde_json::json;

use super::{ENTRIES, review_by};
use crate::{
    objects::{list, long_name, policy, service, text},
    sizes::{Input, Sizes},
};

/// The dimensions of such policies, and of the groups of the user.
pub(crate) const LONG: &[(&str, usize)] = &[
    ("policies", 1),
    ("names", 0),
    ("wildcards", 0),
    ("groups", 1),
    ("exempt groups", 0),
    ("exempt wildcards", 0),
    // Each is a prefix of the next.
    ("prefixes", 0),
];

/// The longest of the prefixes.
const LONGEST: usize = 240;
/// The most entries of each kind in a policy: a list has several kinds.
const PART: usize = ENTRIES / 4;

pub(crate) fn long_names(s: &Sizes) -> Input {
    let lists = ["names", "wildcards", "exempt groups", "exempt wildcards", "prefixes"];
    let policies = lists.iter().map(|name| s.get(name).div_ceil(PART)).fold(s.get("policies"), usize::max);
    let long = "a".repeat(200);
    let prefix = |k: usize| format!("{}*", ["a", "b", "c"][k / LONGEST % 3].repeat(k % LONGEST + 1));
    let policies = list(policies, |i| {
        let make = |name: &str, make: &dyn Fn(usize) -> String| part(s.get(name), i).map(make).collect::<Vec<_>>();
        let mut names = make("names", &|k| long_name(k));
        names.extend(make("wildcards", &|k| format!("*{long}*{k}*b")));
        let mut groups = make("exempt groups", &|k| long_name(1_000_000 + k));
        groups.extend(make("exempt wildcards", &|k| format!("*{long}*{k}*b")));
        groups.extend(make("prefixes", &prefix));
        let mut spec = json!({ "defaultMode": "warn", "exempt": { "groups": groups } });
        if !names.is_empty() {
            spec["match"] = json!({ "services": { "names": names } });
        }
        policy(i, &spec)
    });
    let groups = list(s.get("groups"), |i| long_name(i).into());
    let body = review_by(&service(&long_name(999_999), 1), None, groups);
    Input { way: "validate".to_owned(), body, stored: text(Vec::new()), policies: text(policies) }
}

/// The part of a list that a policy has: as many policies as one needs have all of it.
fn part(n: usize, policy: usize) -> Range<usize> {
    let first = policy % n.div_ceil(PART).max(1) * PART;
    first..n.min(first + PART)
}
