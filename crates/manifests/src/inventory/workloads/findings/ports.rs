//! Whether the containers of workloads have the ports that a Service sends to.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap},
    fmt::Write,
};

use roster_engine::{
    model::{
        ContainerPort, HashSeed, Service, TargetPort, Text,
        json::message::shortened,
        protocol_or_tcp,
        spelling::{are_alike, typo},
    },
    phrase::counted,
    reason::{Finding, Reason, Severity},
};

use super::{
    comparisons::{Comparisons, NotCompared},
    listing::list,
    manifests::WorkloadOutcome,
    matching::workload_name,
    selection::Selection,
};
use crate::inventory::workloads::assume::WorkloadPods;

/// How many workloads are named that lack a port, each with the names that it has.
const NAMED: usize = 20;
/// How many names of ports are compared with one that is missing.
const COMPARED: usize = 100;
/// Most ports of a Service about which something is found that are reported one by one.
const LISTED: usize = 100;

/// What is wrong with a port of a Service.
#[derive(Clone, Debug)]
struct PortFault {
    code: Reason,
    severity: Severity,
    message: String,
}

impl PortFault {
    fn new(code: Reason, message: String) -> Self {
        Self { code, severity: code.severity(), message }
    }

    /// The DNS name of a headless Service leads to pods that lack its port.
    fn severity_for(&self, service: &Service) -> Severity {
        if service.declared_headless() { self.severity.min(Severity::Warning) } else { self.severity }
    }
}

/// The ports of the workloads that a selector selects. Any number of Services may have the selector.
#[derive(Debug)]
pub(super) struct SelectedPorts<'a> {
    workloads: Vec<WorkloadOutcome<'a>>,
    /// By the places of the workloads, what is said of one that lacks a port. Made for the first port that it lacks.
    of_one: Vec<OnceCell<PortsOfOne<'a>>>,
    /// The protocols of each name, with the places of the workloads that have it.
    by_name: HashMap<&'a str, Vec<(usize, &'a str)>, HashSeed>,
    /// The names that pods of the input have, with their protocols.
    of_pods: BTreeSet<(&'a str, &'a str)>,
    /// The numbers of workloads and pods, sorted.
    numbers: Vec<(i32, &'a str)>,
    /// The names and the numbers of the ports of init containers, with their protocols.
    init_names: BTreeSet<(&'a str, &'a str)>,
    init_numbers: BTreeSet<(i32, &'a str)>,
    /// The names of the workloads.
    workload_names: String,
    port_names: String,
    port_numbers: String,
    /// What was found for a name or a number, and a protocol.
    found: HashMap<(TargetKey<'a>, &'a str), Vec<PortFault>, HashSeed>,
}

/// What is said of a workload that lacks a port.
#[derive(Debug)]
struct PortsOfOne<'a> {
    /// Kind and name of the workload.
    of: String,
    /// The names of its ports.
    names: String,
    /// The names of the ports of its init containers, with their protocols.
    init_names: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> PortsOfOne<'a> {
    fn new((workload, _): WorkloadOutcome<'a>) -> Self {
        let template = &workload.template;
        Self {
            of: workload_name(workload),
            names: names(template.ports.iter()),
            init_names: names_and_protocols(template.init_ports.iter()),
        }
    }
}

/// A target port, as it is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TargetKey<'a> {
    Name(&'a Text),
    Number(i32),
}

impl<'a> SelectedPorts<'a> {
    /// The ports of the workloads of a selection. The rules compare pods of the input with a Service, so that the workloads that
    /// made these are left out.
    pub(super) fn new(selection: &Selection<'a>) -> Self {
        let made = |outcome| matches!(outcome, &WorkloadPods::InInput | &WorkloadPods::OfAnother);
        let is_compared = |(_, outcome): &&WorkloadOutcome<'a>| selection.pods.is_empty() || !made(*outcome);
        let workloads: Vec<WorkloadOutcome<'a>> = selection.workloads.iter().filter(is_compared).copied().collect();
        let of_pods = || selection.pods.iter().flat_map(|pod| pod.ports.iter());
        let ports = || workloads.iter().flat_map(|(w, _)| w.template.ports.iter());
        let mut by_name: HashMap<&str, Vec<(usize, &str)>, HashSeed> = HashMap::default();
        for (place, (workload, _)) in workloads.iter().enumerate() {
            for port in workload.template.ports.iter().filter(|p| !p.name.is_empty()) {
                by_name.entry(&port.name).or_default().push((place, protocol_or_tcp(&port.protocol)));
            }
        }
        let mut numbers: Vec<(i32, &str)> =
            ports().chain(of_pods()).map(|p| (p.number, protocol_or_tcp(&p.protocol))).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let of_init = || workloads.iter().flat_map(|(w, _)| w.template.init_ports.iter());
        Self {
            init_names: names_and_protocols(of_init()),
            init_numbers: of_init().map(|p| (p.number, protocol_or_tcp(&p.protocol))).collect(),
            by_name,
            of_pods: names_and_protocols(of_pods()),
            numbers,
            workload_names: list(workloads.iter().map(|(w, _)| workload_name(w))),
            port_names: names(ports()),
            port_numbers: list(ports().map(|p| match protocol_or_tcp(&p.protocol) {
                "TCP" => p.number.to_string(),
                other => format!("{}/{other}", p.number),
            })),
            found: HashMap::default(),
            of_one: workloads.iter().map(|_| OnceCell::new()).collect(),
            workloads,
        }
    }

    /// Adds the findings about the ports of a Service that selects the workloads.
    pub(super) fn check(&mut self, service: &'a Service, comparisons: &Comparisons, findings: &mut Vec<Finding>) {
        if self.workloads.is_empty() {
            return;
        }
        let mut faulty = 0;
        let is_served = OnceCell::new();
        for (i, port) in service.ports.iter().enumerate() {
            if faulty == LISTED {
                findings.push(not_compared(service, i));
                return;
            }
            let target = match &port.target_port {
                // An API server refuses a number in quotes, which is reported.
                TargetPort::Name(name) if is_number(name) => continue,
                TargetPort::Name(name) if !name.is_empty() => TargetKey::Name(name),
                TargetPort::Number(number) if *number != 0 => TargetKey::Number(*number),
                _ => TargetKey::Number(port.port),
            };
            // An API server refuses it, which is reported.
            if matches!(target, TargetKey::Number(number) if !(1..=65535).contains(&number)) {
                continue;
            }
            let key = (target, protocol_or_tcp(&port.protocol));
            if !self.found.contains_key(&key) {
                let found = self.faults(key, comparisons);
                self.found.insert(key, found);
            }
            let faults = self.found.get(&key).map(Vec::as_slice).unwrap_or_default();
            faulty += usize::from(!faults.is_empty());
            let is_meant = |fault: &PortFault| {
                fault.code == Reason::TargetPortUndeclared && *is_served.get_or_init(|| self.declares_one_of(service))
            };
            findings.extend(faults.iter().map(|fault| Finding {
                pointer: Some(format!("/spec/ports/{i}/targetPort")),
                severity: if is_meant(fault) { Severity::Info } else { fault.severity_for(service) },
                ..Finding::new(fault.code, service.key(), fault.message.clone())
            }));
        }
    }

    fn faults(&self, (target, protocol): (TargetKey<'a>, &str), comparisons: &Comparisons) -> Vec<PortFault> {
        match target {
            TargetKey::Number(number) => self.numbered(number, protocol).into_iter().collect(),
            TargetKey::Name(name) => match self.named(name, protocol) {
                Some(fault) => vec![fault],
                None => self.missing_in_some(name, protocol, comparisons),
            },
        }
    }

    fn numbered(&self, number: i32, protocol: &str) -> Option<PortFault> {
        if self.numbers.binary_search(&(number, protocol)).is_ok() {
            return None;
        }
        let has = match self.port_numbers.as_str() {
            _ if self.init_numbers.contains(&(number, protocol)) => ONLY_INIT.to_owned(),
            "" => "they declare none".to_owned(),
            numbers => format!("they declare {numbers}"),
        };
        let of = &self.workload_names;
        let message = format!("no container of {of} declares the port {number} ({protocol}); {has}");
        let fault = PortFault::new(Reason::TargetPortUndeclared, message);
        let severity = if self.is_unexpected(number) { Severity::Warning } else { fault.severity };
        Some(PortFault { severity, ..fault })
    }

    /// Whether a port that no container declares is probably wrong. A declaration is not needed, but each pod has one container,
    /// which declares other ports for clients, and nothing that it is given names this one.
    fn is_unexpected(&self, number: i32) -> bool {
        let is_silent = |(workload, _): &WorkloadOutcome<'_>| {
            let template = &workload.template;
            let has_port = template.ports.iter().any(|port| port.number == number);
            template.requests.len() == 1
                && template.ports.iter().any(|port| !is_auxiliary(&port.name))
                && !(has_port || template.is_configured || template.suggested_ports.contains(&number))
        };
        self.workloads.iter().all(is_silent)
    }

    /// Whether the workloads declare a port to which a Service sends: then its others are meant as well.
    fn declares_one_of(&self, service: &Service) -> bool {
        service.ports.iter().any(|port| {
            let protocol = protocol_or_tcp(&port.protocol);
            let has_number = |number| self.numbers.binary_search(&(number, protocol)).is_ok();
            match &port.target_port {
                TargetPort::Name(name) if !name.is_empty() => self.by_name.contains_key(name.as_str()),
                TargetPort::Number(number) if *number != 0 => has_number(*number),
                _ => has_number(port.port),
            }
        })
    }

    /// The fault of a name that neither a workload nor a pod has.
    fn named(&self, name: &Text, protocol: &str) -> Option<PortFault> {
        let of_name = self.by_name.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
        if of_name.iter().any(|(_, has)| *has == protocol) {
            return None;
        }
        if self.of_pods.contains(&(name.as_str(), protocol)) {
            return None;
        }
        let other = of_name.first().map(|(_, has)| *has);
        let init = self.init_names.contains(&(name.as_str(), protocol));
        Some(missing(name, protocol, &self.workload_names, other, init, &self.port_names))
    }

    /// The workloads that lack a named port which others, or pods, have: their pods do not become endpoints of this port.
    fn missing_in_some(&self, name: &Text, protocol: &str, comparisons: &Comparisons) -> Vec<PortFault> {
        let having = self.by_name.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let mut having: Vec<usize> =
            having.iter().filter(|(_, has)| *has == protocol).map(|(place, _)| *place).collect();
        having.dedup();
        let having_it = if having.is_empty() { "pods" } else { "other workloads" };
        let count = self.workloads.len() - having.len();
        let mut having = having.into_iter().peekable();
        let is_without = |place: &usize| having.next_if_eq(place).is_none();
        let without: Vec<usize> = (0..self.workloads.len()).filter(is_without).take(NAMED).collect();
        let lacking = |place: &usize| {
            let fault = self.lacking(*place, name, protocol, comparisons);
            PortFault { message: format!("{}; {having_it} behind the Service have it", fault.message), ..fault }
        };
        let mut faults: Vec<PortFault> = without.iter().map(lacking).collect();
        if let Some(last) = faults.last_mut().filter(|_| count > NAMED) {
            // Writing to a string does not fail.
            let _ = write!(last.message, "; {} more lack it", count - NAMED);
        }
        faults
    }

    /// The fault of a port that others have. Of a workload without pods, only what looks like a typo is a warning: charts give
    /// the labels of a Service to their Jobs, too.
    fn lacking(&self, place: usize, name: &Text, protocol: &str, comparisons: &Comparisons) -> PortFault {
        let (workload, outcome) = self.workloads[place];
        let PortsOfOne { of, names, init_names } =
            self.of_one[place].get_or_init(|| PortsOfOne::new(self.workloads[place]));
        let of_name = self.by_name.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let first = of_name.partition_point(|(of, _)| *of < place);
        let other = of_name.get(first).filter(|(of, _)| *of == place).map(|(_, has)| *has);
        let init = init_names.contains(&(name.as_str(), protocol));
        let fault = missing(name, protocol, of, other, init, names);
        if outcome.is_assumed() {
            return PortFault { severity: Severity::Warning, ..fault };
        }
        let (severity, message) = match has_typo(&workload.template.ports, name, comparisons) {
            Ok(true) => (Severity::Warning, fault.message),
            Ok(false) => (Severity::Info, fault.message),
            Err(NotCompared) => {
                (Severity::Info, format!("{}; too many names are compared to find the nearest", fault.message))
            }
        };
        PortFault { severity, message, ..fault }
    }
}

/// Whether a workload has a port whose name is almost this one.
fn has_typo(ports: &[ContainerPort], name: &Text, comparisons: &Comparisons) -> Result<bool, NotCompared> {
    let is_alike = |p: &&ContainerPort| !p.name.is_empty() && p.name != *name && are_alike(p.name.len(), name.len());
    let alike = || ports.iter().take(COMPARED).filter(is_alike);
    comparisons.take_mistyped(name.len(), alike().count())?;
    Ok(alike().any(|p| typo(&p.name, name).is_some()))
}

/// The finding that the ports from one on are not compared, because enough of those before it have findings.
fn not_compared(service: &Service, from: usize) -> Finding {
    let more = counted(service.ports.len() - from, "more port");
    let message = format!("not checked whether containers have {more}: {LISTED} have findings");
    let finding = Finding::new(Reason::NotChecked, service.key(), message);
    Finding { severity: Severity::Warning, pointer: Some(format!("/spec/ports/{from}")), ..finding }
}

/// What else is said of a port that only an init container has.
const ONLY_INIT: &str = "only an init container does, which ends before they start";

/// Whether a port is for the program's operators, by its name: a program that declares only such ports may serve others.
fn is_auxiliary(name: &str) -> bool {
    const WORDS: [&str; 9] =
        ["admin", "debug", "health", "healthz", "metrics", "pprof", "probe", "probes", "profiling"];
    name.split('-').any(|word| WORDS.contains(&word))
}

/// Whether a name is a number in quotes.
fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit())
}

/// The fault of a name that the workloads `of` do not have, or have with the protocol `other`, or only in an init container.
fn missing(name: &Text, protocol: &str, of: &str, other: Option<&str>, init: bool, names: &str) -> PortFault {
    if let Some(has) = other {
        let message =
            format!("the port {} of {of} has the protocol {has}, and that of the Service {protocol}", shortened(name));
        return PortFault::new(Reason::ProtocolMismatch, message);
    }
    let has = match names {
        _ if init => ONLY_INIT.to_owned(),
        "" => "no port has a name".to_owned(),
        one if !one.contains(", ") => format!("the only name is {one}"),
        names => format!("the names are {names}"),
    };
    PortFault::new(
        Reason::NamedPortMissing,
        format!("no container of {of} has a port named {}; {has}", shortened(name)),
    )
}

fn names<'p>(ports: impl Iterator<Item = &'p ContainerPort>) -> String {
    list(ports.map(|p| &*p.name))
}

fn names_and_protocols<'p>(ports: impl Iterator<Item = &'p ContainerPort>) -> BTreeSet<(&'p str, &'p str)> {
    ports.map(|p| (p.name.as_str(), protocol_or_tcp(&p.protocol))).collect()
}
