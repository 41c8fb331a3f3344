//! The zones of a cluster, and how much of its CPU each of them has (`TopologyCache.SetNodes`).

use std::collections::BTreeMap;

use super::Text;

/// Zones by name, and the share of the CPU of each.
#[derive(Clone, Debug)]
pub(crate) struct ZoneShares {
    names: Vec<Text>,
    shares: Vec<f64>,
}

impl ZoneShares {
    /// The zones of nodes, by the zone and the CPU of each; `None` if a node has no zone or CPU, or if there are fewer than two
    /// zones.
    pub(super) fn of<'a>(nodes: impl Iterator<Item = (Option<&'a Text>, i64)>) -> Option<Self> {
        let mut cpu: BTreeMap<&Text, i128> = BTreeMap::new();
        for (zone, nano) in nodes {
            *cpu.entry(zone.filter(|_| nano > 0)?).or_default() += i128::from(nano);
        }
        let total: i128 = cpu.values().sum();
        if cpu.len() < 2 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "as upstream divides them")]
        let share = |nano: i128| milli(nano) as f64 / milli(total) as f64;
        let shares = cpu.values().map(|nano| share(*nano)).collect();
        Some(Self { names: cpu.into_keys().cloned().collect(), shares })
    }

    /// Index of a zone in the order of names.
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        self.names.binary_search_by(|zone| zone.as_str().cmp(name)).ok()
    }

    /// Name of a zone.
    pub(crate) fn name(&self, index: usize) -> &Text {
        &self.names[index]
    }

    /// Shares, in the order of names.
    pub(crate) fn shares(&self) -> &[f64] {
        &self.shares
    }
}

/// Thousandths, rounded up (`Quantity.MilliValue`). Upstream adds exactly, and rounds zone and total once each.
fn milli(nano: i128) -> i128 {
    (nano + 999_999) / 1_000_000
}
