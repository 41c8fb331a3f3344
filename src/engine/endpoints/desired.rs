//! The subsets that a Service's pods make.

use std::{collections::BTreeMap, ops::Range};

use super::oddities;
use crate::{
    engine::{
        budget::{self, TooLarge},
        canonical_ips::Uncanonical,
        membership,
        ports::{NameId, Targets},
        reason::{Finding, Reason},
        record::Recorder,
        state::{Context, Report},
        subsets::{BlockId, Packed, Places, Repack, no_port},
    },
    model::{
        EndpointAddress, EndpointPort, EndpointSubset, Family, ObjectRef, Pod, PodIp, Service, ServicePort, TargetPort,
        Text,
    },
};

use super::notes;

/// What this controller writes, in a sentence.
pub(super) const LISTS: &str = "Endpoints";

/// The subsets of a Service, and what is needed to tell how they came about.
pub(super) struct Desired<'a> {
    /// In canonical form.
    pub(super) subsets: Vec<EndpointSubset>,
    pub(super) blocks: Blocks<'a>,
    /// The pods that have an address, if somebody reads of them.
    pub(super) entries: Vec<Entry>,
    pub(super) places: Places,
}

/// A pod that has an address.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Index among the selected pods.
    pub(super) pod: usize,
    /// The row of its ports.
    pub(super) row: usize,
    /// Whether it is put in as ready.
    pub(super) ready: bool,
    /// Which of the addresses it is; `None` if it serves nothing.
    pub(super) address: Option<usize>,
}

/// The canonical subsets of a Service: addresses grouped by the ports they serve.
pub(super) fn subsets<'a>(
    service: &'a Service,
    pods: &[&'a Pod],
    context: &Context,
    report: &mut Report,
    recorder: &mut impl Recorder,
) -> Result<Desired<'a>, TooLarge> {
    let mut found = Repack::with_capacity(pods.len());
    let mut blocks = Blocks::new(service, context.profile.sidecar_ports_endpoints);
    let mut entries = Vec::new();
    let publish = publishes_not_ready(service, context);
    let mut uncanonical = Uncanonical::new(LISTS, context.profile.canonical_ips);
    let mut without_node = Vec::new();
    let traced = recorder.open();
    if traced {
        found.keep_places();
    }
    let mut addresses = 0..;
    for (index, &pod) in pods.iter().enumerate() {
        let ip = match address_of(service, pod, publish, context, report) {
            Ok(ip) => ip,
            Err(reason) => {
                notes::left_out(service, index, pod, reason, recorder);
                continue;
            }
        };
        uncanonical.of_pod(pod, ip);
        let ready = publish || pod.ready();
        let (row, block) = blocks.of_pod(pod, &mut found);
        if let Some(block) = block {
            found.address(address(service, pod, ip, context), block, ready);
            if pod.node_name.is_empty() {
                without_node.push(pod);
            }
        }
        if traced {
            let address = block.and_then(|_| addresses.next());
            entries.push(Entry { pod: index, row, ready, address });
        }
    }
    uncanonical.tell(|| service.key(), report);
    oddities::without_node(service, &without_node, report);
    blocks.serve(&mut found)?;
    let Packed { subsets, places } = found.pack(context.profile.hash)?;
    Ok(Desired { subsets, blocks, entries, places })
}

/// The blocks of addresses that serve the same ports: one for each row, and the sets of them that have the same
/// number under one name.
pub(super) struct Blocks<'a> {
    pub(super) service: &'a Service,
    pub(super) targets: Targets<'a>,
    /// The block of each row, unless it serves nothing.
    of_row: Vec<Option<BlockId>>,
    by_number: BTreeMap<(NameId, i32), Vec<BlockId>>,
    /// For each port that was served its place; `None` stands for "no port at all".
    pub(super) served: Vec<Option<usize>>,
    /// Which of those all pods serve.
    by_all: Range<usize>,
    /// Which of those the pods serve that have a number.
    by_some: BTreeMap<(NameId, i32), Range<usize>>,
}

impl<'a> Blocks<'a> {
    fn new(service: &'a Service, sidecars: bool) -> Self {
        Self {
            service,
            targets: Targets::new(&service.ports, sidecars),
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

    /// The row of a pod and its block, which are made if they are new.
    #[inline]
    fn of_pod(&mut self, pod: &'a Pod, found: &mut Repack) -> (usize, Option<BlockId>) {
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

    /// Tells which ports each block serves.
    fn serve(&mut self, found: &mut Repack) -> Result<(), TooLarge> {
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

    /// Which ports a row serves, by the order in which they were served.
    pub(super) fn served_by(&self, row: usize) -> impl Iterator<Item = usize> {
        let some = self.targets.rows()[row].iter().filter_map(|number| self.by_some.get(number));
        self.by_all.clone().chain(some.cloned().flatten())
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

/// `publishNotReadyAddresses`, or up to 1.23 what the tolerate-unready annotation says instead (E1).
fn publishes_not_ready(service: &Service, context: &Context) -> bool {
    let annotation = context.profile.tolerate_unready_annotation.then(|| service.tolerates_unready());
    annotation.flatten().unwrap_or(service.publish_not_ready)
}

/// The family of the one address per pod that Endpoints hold (`podToEndpointAddressForService`). Where
/// early patches of 1.33 to 1.36 crash for want of `ipFamilies`, it is inferred as in all others (E7).
pub(super) fn family(service: &Service, pod: &Pod) -> Family {
    if let Some(first) = service.families.first() {
        *first
    } else if service.headless() {
        pod.pod_ip_family
    } else {
        Family::of(&service.cluster_ip)
    }
}

/// The address under which a pod is listed, or why it is not.
fn address_of<'a>(
    service: &Service,
    pod: &'a Pod,
    include_terminating: bool,
    context: &Context,
    report: &mut Report,
) -> Result<&'a PodIp, Reason> {
    if let Some(why) = membership::excluded(pod, include_terminating) {
        return Err(why);
    }
    // `status.podIP` alone makes a member, but only what is in `status.podIPs` is listed.
    if pod.ips.is_empty() {
        return Err(Reason::NoPodIp);
    }
    let family = family(service, pod);
    let ip = pod.ips.iter().find(|ip| ip.family == family).ok_or(Reason::FamilyMismatch)?;
    // A text that is published as it stands may be empty, which upstream takes for no address at all.
    if ip.published(context.profile.canonical_ips).is_none_or(Text::is_empty) {
        report.problems.push(Finding::new(
            Reason::UnparsablePodIp,
            pod.key(),
            format!(
                "status.podIPs holds {:?}, which is not an IP address; the pod is left out of the Endpoints",
                ip.raw
            ),
        ));
        return Err(Reason::UnparsablePodIp);
    }
    Ok(ip)
}

fn address(service: &Service, pod: &Pod, ip: &PodIp, context: &Context) -> EndpointAddress {
    let target_ref = if context.profile.target_resource_version {
        ObjectRef { resource_version: pod.resource_version.clone(), ..(*pod.reference).clone() }.into()
    } else {
        pod.reference.clone()
    };
    EndpointAddress {
        ip: ip.published(context.profile.canonical_ips).cloned().unwrap_or_default(),
        hostname: membership::published_hostname(pod, service).cloned().unwrap_or_default(),
        node_name: Some(pod.node_name.clone()),
        target_ref: Some(target_ref),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::engine::{explain::explain, plan::PlanRequest};

    /// Endpoints and slices agree on a pod without an address, and it is counted once.
    #[test]
    fn a_pod_without_addresses_has_one_reason() {
        let empty = "status.podIPs is empty";
        for (status, code, details) in [
            (json!({}), "no-pod-ip", ["", ""]),
            (json!({"podIP": "10.0.0.1"}), "no-pod-ip", [empty, empty]),
            (json!({"podIP": "10.0.0.1", "podIPs": []}), "no-pod-ip", [empty, empty]),
            (
                json!({"podIP": "fd00::1", "podIPs": [{"ip": "fd00::1"}]}),
                "family-mismatch",
                ["Endpoints list IPv4 addresses only", "IPv4 is asked for, the pod has fd00::1"],
            ),
        ] {
            let request: PlanRequest = serde_json::from_value(json!({
                "service": {
                    "metadata": {"name": "web", "namespace": "ns"},
                    "spec": {"selector": {"app": "web"}, "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"],
                             "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}]},
                },
                "pods": [{
                    "metadata": {"name": "a", "namespace": "ns", "labels": {"app": "web"}},
                    "spec": {"nodeName": "n"}, "status": status,
                }],
                "nodes": [{"metadata": {"name": "n"}}],
            }))
            .unwrap();
            let told = request.with_state(|state, _| explain(state, &request.options));
            let rows: Vec<_> =
                told.rows.iter().map(|r| (r.reasons[0].code.code(), r.reasons[0].detail.as_str())).collect();
            assert_eq!(rows, details.map(|d| (code, d)), "{status}");
            let unserved: Vec<_> = told.reasons.iter().map(|r| r.detail.as_str()).collect();
            assert_eq!(unserved, [format!("port 80 (http): {code} in 1 pod")], "{status}");
        }
    }
}
