//! The live pods that a selector matches, read in steps.

use std::{collections::HashMap, sync::Arc};

use roster_admission::{LivePods, Unknown};
use roster_engine::model::{ContainerPort, HashSeed, Labels, PodPhase, Text};

use super::{
    cluster_index::{IndexReader, NO_PODS},
    fields::{PodCandidates, PodFields},
    table::Row,
};

/// A selector with so many pairs is compared with as many pods at once as an empty one.
const PAIRS_OF_A_STEP: usize = 4;

/// The fewest pods that are compared at once, whatever the selector.
const FEWEST_ROWS: usize = 16;

/// Comparing so many pairs more counts as one more pod.
const PAIRS_OF_A_ROW: usize = 8;

/// The live pods of the namespace that have these labels, or the first of them. Only so many pods are compared with the
/// selector at once that a writer hardly waits; each counts as it was then. Of a selector with many pairs, these are fewer.
pub(super) fn live_pods<I: IndexReader>(
    reader: &I,
    namespace: &str,
    selector: &Labels,
    only_one: bool,
) -> Result<LivePods, Unknown> {
    let most = reader.left();
    let mut found = PodCounts { left: most, ..PodCounts::default() };
    let at_once = (I::ROWS_AT_ONCE / (selector.len() / PAIRS_OF_A_STEP).max(1)).max(FEWEST_ROWS);
    let mut next = Some(Text::default());
    while let Some(from) = next {
        next = reader.read(|index| {
            let pods = index.live.pods.known()?;
            index.knows(pods, namespace, NO_PODS)?;
            if let Some(places) = index.candidates.places(namespace, selector) {
                found.add(places.iter().map(|place| &pods.rows()[*place]), selector, only_one);
                return Ok(None);
            }
            let rest = pods.starting_at(namespace, &from);
            let (step, rest) = rest.split_at(rest.len().min(at_once));
            let is_enough = found.add(step.iter(), selector, only_one);
            Ok(rest.first().filter(|_| !is_enough).map(|pod| pod.name().into()))
        })?;
    }
    reader.spend(most - found.left);
    Ok(found.pods)
}

/// Live pods, while they are counted.
#[derive(Default)]
struct PodCounts {
    pods: LivePods,
    /// How many more pods may be compared, with a selector of few pairs.
    left: usize,
    /// The list of ports of the last pod. Neighbours are mostly replicas.
    last: usize,
    /// The places of the lists of ports, by their addresses in memory; only if there are several.
    places: HashMap<usize, usize, HashSeed>,
}

impl PodCounts {
    /// Adds those of the pods that are live and have the labels. Returns whether these are enough.
    fn add<'p, P: PodFields + 'p>(
        &mut self,
        pods: impl Iterator<Item = &'p P>,
        selector: &Labels,
        only_one: bool,
    ) -> bool {
        let cost = 1 + selector.len() / PAIRS_OF_A_ROW;
        for pod in pods {
            let Some(left) = self.left.checked_sub(cost) else {
                self.pods.is_cut = true;
                return true;
            };
            self.left = left;
            if pod.phase() != PodPhase::Live || !selector.selects(pod.labels()) {
                continue;
            }
            self.pods.count += 1;
            if only_one {
                return true;
            }
            self.add_ports(pod.ports());
        }
        false
    }

    fn add_ports(&mut self, ports: &Arc<[ContainerPort]>) {
        if ports.is_empty() {
            return;
        }
        if let Some((last, count)) = self.pods.ports.get_mut(self.last)
            && Arc::ptr_eq(last, ports)
        {
            *count += 1;
            return;
        }
        let id = ports.as_ptr().addr();
        self.last = *self.places.entry(id).or_insert_with(|| {
            self.pods.ports.push((ports.clone(), 0));
            self.pods.ports.len() - 1
        });
        self.pods.ports[self.last].1 += 1;
    }
}
