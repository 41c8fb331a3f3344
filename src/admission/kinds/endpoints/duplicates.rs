//! Addresses that are listed more than once for one port.

use std::collections::BTreeMap;

use super::{Field, Listed};
use crate::{
    admission::{
        Rule,
        findings::{About, Findings},
        kinds::Subject,
    },
    model::protocol_or_tcp,
};

/// Most pairs of a repeated address and a port that are compared: a millisecond or two. No object that a person
/// writes comes near.
const MAX_PAIRS: usize = 256 << 10;

/// An address may be in several subsets, with other ports in each: what counts is what is published for one port,
/// as in `RepackSubsets`.
pub(super) fn check(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    let mut all: Vec<(&str, Field)> = subject.object.addresses().map(|a| (a.text, a.field)).collect();
    // Stable: of one address the places stay in order.
    all.sort_by(|a, b| a.0.cmp(b.0));
    if all.windows(2).all(|pair| pair[0].0 != pair[1].0) {
        return;
    }
    let ports = Ports::of(subject.object);
    // For each port, the last address it was seen for, and where.
    let mut seen: Vec<Option<(usize, Field)>> = vec![None; ports.count];
    let mut left = MAX_PAIRS;
    for (id, same) in all.chunk_by(|a, b| a.0 == b.0).enumerate().filter(|(_, same)| same.len() > 1) {
        let pairs: usize = same.iter().map(|(_, field)| ports.of_subset[field.subset].len()).sum();
        let Some(rest) = left.checked_sub(pairs) else {
            findings.unchecked(Rule::DuplicateAddress, "there are too many addresses and ports to compare");
            return;
        };
        left = rest;
        for (text, field) in same {
            let mut clash = None;
            for port in &ports.of_subset[field.subset] {
                let before = seen[*port].replace((id, *field));
                clash = clash.or(before.filter(|(of, _)| *of == id));
            }
            if let Some((_, before)) = clash {
                let how = if before.list == field.list { "is listed twice" } else { "is ready and not ready" };
                let message = format_args!("{text} {how} for one port");
                findings.add(Rule::DuplicateAddress, About::Text(text), format_args!("{field}"), message);
            }
        }
    }
}

/// The ports of each subset, as numbers. A subset without ports publishes its addresses for "no port".
struct Ports {
    of_subset: Vec<Vec<usize>>,
    count: usize,
}

impl Ports {
    fn of(object: &Listed) -> Self {
        let mut known: BTreeMap<(&str, &str, i32), usize> = BTreeMap::new();
        let mut of_subset = Vec::with_capacity(object.subsets.len());
        for subset in &object.subsets {
            let mut ports = Vec::with_capacity(subset.ports.len().max(1));
            let keys = subset.ports.iter().map(|p| (p.name.as_str(), protocol_or_tcp(&p.protocol), p.port));
            for key in keys.chain(subset.ports.is_empty().then_some(("", "", -1))) {
                let next = known.len();
                ports.push(*known.entry(key).or_insert(next));
            }
            // A port that is listed twice is still one port.
            ports.sort_unstable();
            ports.dedup();
            of_subset.push(ports);
        }
        Self { of_subset, count: known.len() }
    }
}
