//! Addresses that are listed more than once for one port.

use std::collections::BTreeMap;

use roster_engine::model::{AddressKey, protocol_or_tcp};

use super::checked_endpoints::{AddressField, CheckedAddress, CheckedEndpoints};
use crate::{
    Rule,
    findings::RuleFindings,
    kinds::{addresses::ListedAddress, object_check::Subject},
};

/// Most pairs of a repeated address and a port that are compared, which takes one or two milliseconds. Objects written
/// by people have far fewer.
const MAX_PAIRS: usize = 256 << 10;

/// Compares the addresses of each port, as `RepackSubsets` does: an address may be in several subsets with different
/// ports.
pub(super) fn check(subject: &Subject<'_, CheckedEndpoints<CheckedAddress>>, findings: &mut RuleFindings<'_>) {
    type Listed<'a> = ListedAddress<'a, AddressField>;
    let mut all: Vec<(AddressKey<&str>, Listed<'_>)> =
        subject.object.addresses().map(|a| (a.address.key(), a)).collect();
    // The sort is stable: the fields of one address stay in order.
    all.sort_by_key(|(key, _)| *key);
    if all.windows(2).all(|pair| pair[0].0 != pair[1].0) {
        return;
    }
    let ports = Ports::of(subject.object);
    // For each port, the last address that was seen for it, and its field.
    let mut seen: Vec<Option<(usize, AddressField)>> = vec![None; ports.count];
    let mut left = MAX_PAIRS;
    for (id, same) in all.chunk_by(|a, b| a.0 == b.0).enumerate().filter(|(_, same)| same.len() > 1) {
        // In one subset, each time but the first repeats the one before it, for all ports.
        let of_subsets = same.chunk_by(|(_, a), (_, b)| a.field.subset == b.field.subset);
        let pairs: usize = of_subsets.clone().map(|some| ports.of_subset[some[0].1.field.subset].len()).sum();
        let Some(rest) = left.checked_sub(pairs) else {
            findings.over_budget(Rule::DuplicateAddress, "there are too many addresses and ports to compare");
            return;
        };
        left = rest;
        for some in of_subsets {
            let mut clash = None;
            for port in &ports.of_subset[some[0].1.field.subset] {
                let before = seen[*port].replace((id, some[some.len() - 1].1.field));
                clash = clash.or(before.filter(|(of, _)| *of == id).map(|(_, field)| field));
            }
            for (_, listed) in some {
                let (text, field) = (listed.address.text(), &listed.field);
                if let Some(before) = clash {
                    let how = if before.list == field.list { "is listed twice" } else { "is both ready and not ready" };
                    let message = format_args!("{text} {how} for one port");
                    findings.add(Rule::DuplicateAddress, listed.fault(), format_args!("{field}"), message);
                }
                clash = Some(*field);
            }
        }
    }
}

/// The ports of each subset, as numbers. A subset without ports publishes its addresses under a port of its own.
struct Ports {
    of_subset: Vec<Vec<usize>>,
    count: usize,
}

impl Ports {
    fn of(object: &CheckedEndpoints<CheckedAddress>) -> Self {
        let mut known: BTreeMap<(&str, &str, i32), usize> = BTreeMap::new();
        let mut of_subset = Vec::with_capacity(object.subsets.len());
        for subset in &object.subsets {
            let mut ports = Vec::with_capacity(subset.ports.len().max(1));
            let keys = subset.ports.iter().map(|p| (p.name.as_str(), protocol_or_tcp(&p.protocol), p.port));
            for key in keys.chain(subset.ports.is_empty().then_some(("", "", -1))) {
                let next = known.len();
                ports.push(*known.entry(key).or_insert(next));
            }
            // A port that is listed twice counts once.
            ports.sort_unstable();
            ports.dedup();
            of_subset.push(ports);
        }
        Self { of_subset, count: known.len() }
    }
}
