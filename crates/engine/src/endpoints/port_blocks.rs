//! The subsets of a Service while they are made: pods, the blocks of addresses with the same ports, and the result.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    budget::{self, TooLarge},
    model::{EndpointPort, EndpointSubset, Pod, Service, ServicePort, TargetPort},
    ports::{NameId, PortTargets},
    subsets::{BlockId, Repack, SubsetPlaces, no_port},
};

/// The subsets of a Service, and what the records need to explain them.
pub(super) struct PodSubsets<'a> {
    /// In canonical form.
    pub(super) subsets: Vec<EndpointSubset>,
    pub(super) blocks: PortBlocks<'a>,
    /// The pods that have an address; empty unless they are recorded.
    pub(super) entries: Vec<PodEntry>,
    pub(super) places: SubsetPlaces,
}

/// A pod that has an address.
#[derive(Clone, Copy)]
pub(super) struct PodEntry {
    /// Index among the selected pods.
    pub(super) pod: usize,
    /// The row of its ports.
    pub(super) row: usize,
    /// Whether it is listed as ready.
    pub(super) ready: bool,
    /// The index of its address; `None` if it serves nothing.
    pub(super) address: Option<usize>,
}

/// Blocks of addresses that serve the same ports: one for each row, and the sets of blocks that have the same number
/// under one name.
pub(super) struct PortBlocks<'a> {
    pub(super) service: &'a Service,
    pub(super) targets: PortTargets<'a>,
    /// The block of each row; `None` if it serves nothing.
    of_row: Vec<Option<BlockId>>,
    by_number: BTreeMap<(NameId, i32), Vec<BlockId>>,
    /// For each port that is served its index in the Service; `None` stands for "no port at all".
    pub(super) served: Vec<Option<usize>>,
    /// Those that all pods serve.
    by_all: Range<usize>,
    /// Those that the pods with a number serve.
    by_some: BTreeMap<(NameId, i32), Range<usize>>,
}

impl<'a> PortBlocks<'a> {
    pub(super) fn new(service: &'a Service, sidecars: bool) -> Self {
        Self {
            service,
            targets: PortTargets::new(&service.ports, sidecars),
            of_row: Vec::new(),
            by_number: BTreeMap::new(),
            served: Vec::new(),
            by_all: 0..0,
            by_some: BTreeMap::new(),
        }
    }

    /// Whether pods are listed without a port.
    pub(super) fn portless(&self) -> bool {
        self.service.declared_headless() && self.service.ports.is_empty()
    }

    /// Whether every pod serves something.
    fn all_serve(&self) -> bool {
        self.portless() || !self.targets.numbered().is_empty()
    }

    /// The row of a pod and its block, added if they are new.
    #[inline]
    pub(super) fn of_pod(&mut self, pod: &'a Pod, found: &mut Repack) -> (usize, Option<BlockId>) {
        let row = self.targets.row_of(pod);
        if row == self.of_row.len() {
            let numbers = &self.targets.rows()[row];
            let block = (self.all_serve() || !numbers.is_empty()).then(|| found.block());
            for number in numbers {
                self.by_number.entry(*number).or_default().extend(block);
            }
            self.of_row.push(block);
        }
        (row, self.of_row[row])
    }

    /// Passes the ports that each block serves to `found`.
    pub(super) fn serve(&mut self, found: &mut Repack) -> Result<(), TooLarge> {
        let named = self.by_number.keys().map(|(name, _)| self.targets.weight_of(*name));
        budget::check(named.fold(self.targets.weight_of_numbered(), usize::saturating_add))?;
        let ports = &self.service.ports;
        if self.all_serve() {
            let all = found.set(self.of_row.iter().copied().flatten().collect());
            if self.portless() {
                found.serve(all, no_port());
                self.served.push(None);
            }
            for &place in self.targets.numbered() {
                if let TargetPort::Number(number) = ports[place].target_port {
                    found.serve(all, endpoint_port(&ports[place], number));
                    self.served.push(Some(place));
                }
            }
            self.by_all = 0..self.served.len();
        }
        for (&(name, number), blocks) in &mut self.by_number {
            let start = self.served.len();
            let some = found.set(std::mem::take(blocks));
            for &place in self.targets.askers(name) {
                found.serve(some, endpoint_port(&ports[place], number));
                self.served.push(Some(place));
            }
            self.by_some.insert((name, number), start..self.served.len());
        }
        Ok(())
    }

    /// Places in [`served`](Self::served) of the ports that all blocks serve.
    pub(super) fn served_by_all(&self) -> impl Iterator<Item = usize> + use<> {
        self.by_all.clone()
    }

    /// The names with numbers that the blocks of a row serve.
    pub(super) fn numbers_of(&self, row: usize) -> impl Iterator<Item = (NameId, i32)> {
        self.targets.rows()[row].iter().copied()
    }

    /// Places in [`served`](Self::served) of the ports that refer to a name, with its number.
    pub(super) fn served_by_number(&self, number: (NameId, i32)) -> impl Iterator<Item = usize> + use<> {
        self.by_some.get(&number).cloned().into_iter().flatten()
    }
}

fn endpoint_port(port: &ServicePort, number: i32) -> EndpointPort {
    EndpointPort {
        name: port.name.clone(),
        port: number,
        protocol: port.protocol.clone(),
        app_protocol: port.app_protocol.clone(),
    }
}
