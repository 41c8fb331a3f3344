//! The number that each port of a Service has in a pod (`FindPort`). Shared by Endpoints and slices.
//!
//! A Service port refers to a number, which is the same in every pod, or to a container port by name and protocol. The
//! container ports of a pod that the Service refers to are its `PortRow`. Pods with the same row serve the same ports.
//! No row is longer than the port list of its pod: all rows together are no longer than the input, however many ports
//! the Service has.

use std::{cell::OnceCell, collections::BTreeMap, ops::Range, sync::Arc};

use smallvec::SmallVec;

use crate::{
    budget,
    model::{ContainerPort, Pod, ServicePort, TargetPort, Text},
    phrase::clip,
    reason::Reason,
};

/// The port names of a pod that a Service refers to, each with its number, sorted by name.
pub(crate) type PortRow = SmallVec<[(NameId, i32); 2]>;

/// A name and protocol that some Service port refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NameId(u32);

/// The Service ports that refer to the same name, or to any number.
#[derive(Default)]
struct Askers {
    /// Indices among the ports of the Service.
    ports: Vec<usize>,
    /// Their weight where they are written.
    weight: usize,
}

impl Askers {
    fn add(&mut self, place: usize, port: &ServicePort) {
        self.ports.push(place);
        self.weight += budget::port(&port.name, &port.protocol, port.app_protocol.as_ref());
    }
}

/// What the ports of a Service refer to, and the rows of the pods seen so far.
pub(crate) struct PortTargets<'a> {
    service_ports: &'a [ServicePort],
    /// Whether the ports of native sidecars count.
    sidecars: bool,
    names: BTreeMap<(&'a str, &'a str), NameId>,
    /// The same by id.
    wanted: Vec<(&'a Text, &'a Text)>,
    by_name: Vec<Askers>,
    /// Those that refer to a number.
    numbered: Askers,
    rows: Vec<PortRow>,
    by_row: BTreeMap<PortRow, usize>,
    /// The names, arranged by the ports that refer to them, once a pod lacks some.
    name_runs: OnceCell<Vec<NameRun>>,
    /// The last pod: those of one workload have equal lists, and mostly follow each other.
    last: Option<(&'a Arc<[ContainerPort]>, usize)>,
}

impl<'a> PortTargets<'a> {
    /// The targets of these Service ports, without rows.
    pub(crate) fn new(service_ports: &'a [ServicePort], sidecars: bool) -> Self {
        let mut names = BTreeMap::new();
        let mut wanted = Vec::new();
        let mut by_name: Vec<Askers> = Vec::new();
        let mut numbered = Askers::default();
        for (place, port) in service_ports.iter().enumerate() {
            let askers = match &port.target_port {
                TargetPort::Number(_) => &mut numbered,
                TargetPort::Name(name) => {
                    // There are fewer ports than bytes of input.
                    let next = NameId(u32::try_from(by_name.len()).unwrap_or(u32::MAX));
                    let id = *names.entry((name.as_str(), port.protocol.as_str())).or_insert(next);
                    if id == next {
                        wanted.push((name, &port.protocol));
                        by_name.push(Askers::default());
                    }
                    &mut by_name[id.0 as usize]
                }
            };
            askers.add(place, port);
        }
        let (rows, by_row) = (Vec::new(), BTreeMap::new());
        Self {
            service_ports,
            sidecars,
            names,
            wanted,
            by_name,
            numbered,
            rows,
            by_row,
            name_runs: OnceCell::new(),
            last: None,
        }
    }

    /// The index of the pod's row in [`Self::rows`]; a new row is added.
    #[inline]
    pub(crate) fn row_of(&mut self, pod: &'a Pod) -> usize {
        if let Some((ports, row)) = self.last
            && (Arc::ptr_eq(ports, &pod.ports) || self.is_row_of(row, ports, &pod.ports))
        {
            return row;
        }
        let row = self.find(&pod.ports);
        let at = *self.by_row.entry(row).or_insert_with_key(|row| {
            self.rows.push(row.clone());
            self.rows.len() - 1
        });
        self.last = Some((&pod.ports, at));
        at
    }

    /// Whether `ports` make the same row as `known`. A wrong `false` only costs time.
    #[inline]
    fn is_row_of(&self, row: usize, known: &[ContainerPort], ports: &[ContainerPort]) -> bool {
        /// Up to this many names are searched one by one in a short list; for more, the whole lists are compared.
        const FEW: usize = 4;
        if self.wanted.len() > FEW || ports.len() > FEW * FEW {
            return known == ports;
        }
        let mut row = self.rows[row].as_slice();
        for (id, &(name, protocol)) in self.wanted.iter().enumerate() {
            // Comparing two such texts is faster than comparing one with a `str`.
            let found =
                ports.iter().find(|p| p.name == *name && p.protocol == *protocol && (self.sidecars || !p.sidecar));
            let known = match row {
                [(known, number), rest @ ..] if known.0 as usize == id => {
                    row = rest;
                    Some(*number)
                }
                _ => None,
            };
            if found.map(|p| p.number) != known {
                return false;
            }
        }
        true
    }

    /// The row of a port list: of several container ports with one name the first counts.
    fn find(&self, ports: &[ContainerPort]) -> PortRow {
        let looked_at = ports.iter().filter(|p| self.sidecars || !p.sidecar);
        let mut row: PortRow = looked_at.filter_map(|p| Some((self.name_of(p)?, p.number))).collect();
        row.sort_by_key(|(name, _)| *name);
        row.dedup_by_key(|(name, _)| *name);
        row
    }

    /// The name of a container port, if the Service refers to it.
    pub(crate) fn name_of(&self, port: &ContainerPort) -> Option<NameId> {
        self.names.get(&(port.name.as_str(), port.protocol.as_str())).copied()
    }

    /// All rows, in the order in which they came.
    pub(crate) fn rows(&self) -> &[PortRow] {
        &self.rows
    }

    /// Indices of the Service ports that refer to a number.
    pub(crate) fn numbered(&self) -> &[usize] {
        &self.numbered.ports
    }

    /// Indices of the Service ports that refer to `name`.
    pub(crate) fn askers(&self, name: NameId) -> &[usize] {
        &self.by_name[name.0 as usize].ports
    }

    /// The weight of the ports that refer to a number.
    pub(crate) fn weight_of_numbered(&self) -> usize {
        self.numbered.weight
    }

    /// The weight of the ports that refer to `name`.
    pub(crate) fn weight_of(&self, name: NameId) -> usize {
        self.by_name[name.0 as usize].weight
    }

    /// The weight of the ports of a row.
    pub(crate) fn weight_of_row(&self, row: &PortRow) -> usize {
        row.iter().fold(self.numbered.weight, |sum, (name, _)| sum.saturating_add(self.weight_of(*name)))
    }

    /// The Service ports that a pod of this row has, each with its number.
    pub(crate) fn ports_of<'b>(&'b self, row: &'b PortRow) -> impl Iterator<Item = (&'a ServicePort, i32)> + 'b {
        let numbered =
            self.numbered.ports.iter().map(|i| &self.service_ports[*i]).filter_map(|p| match p.target_port {
                TargetPort::Number(number) => Some((p, number)),
                TargetPort::Name(_) => None,
            });
        let named = row.iter().flat_map(|(name, n)| self.askers(*name).iter().map(|i| (&self.service_ports[*i], *n)));
        numbered.chain(named)
    }

    /// The Service ports that a pod of this row lacks. Those that follow one another are one miss, unless the pod has
    /// something similar: a pod that lacks all ports is not as much work as it lacks ports.
    pub(crate) fn misses(&self, row: usize, pod: &Pod) -> Vec<PortMiss> {
        let mut misses = PortMisses::of(pod);
        let known = self.rows[row].iter().map(|(name, _)| (name.0 as usize, true));
        let similar = pod.ports.iter().flat_map(|port| self.asked_as(&port.name)).map(|name| (name.0 as usize, false));
        // Of one name, that it is there comes first.
        let mut known: Vec<(usize, bool)> = known.chain(similar).collect();
        known.sort_unstable_by_key(|(name, is_there)| (*name, !is_there));
        known.dedup_by_key(|(name, _)| *name);
        let mut all = Vec::new();
        let mut next = 0;
        for (name, is_there) in known.into_iter().chain([(self.wanted.len(), true)]) {
            self.add_misses(&mut all, next..name, &mut misses);
            if !is_there {
                self.add_misses(&mut all, name..name + 1, &mut misses);
            }
            next = name + 1;
        }
        all
    }

    /// The names and protocols with this name.
    fn asked_as<'b>(&'b self, name: &'b str) -> impl Iterator<Item = NameId> + use<'a, 'b> {
        let of_name = self.names.range((name, "")..).take_while(move |((of, _), _)| *of == name);
        of_name.map(|(_, id)| *id)
    }

    /// Adds that a pod lacks the ports that refer to these names.
    fn add_misses(&self, all: &mut Vec<PortMiss>, names: Range<usize>, misses: &mut PortMisses<'_>) {
        let runs = self.name_runs.get_or_init(|| NameRun::all(&self.by_name));
        let first = runs.partition_point(|run| run.names.end <= names.start);
        for run in runs[first..].iter().take_while(|run| run.names.start < names.end) {
            let (begin, end) = (run.names.start.max(names.start), run.names.end.min(names.end));
            let (reason, detail) = misses.miss(&self.wanted[begin..end]);
            let first = run.first_port + begin - run.names.start;
            all.push(PortMiss { ports: first..first + end - begin, reason, detail });
        }
    }
}

/// Service ports that a pod lacks, and why.
pub(crate) struct PortMiss {
    /// Indices among the ports of the Service.
    pub(crate) ports: Range<usize>,
    pub(crate) reason: Reason,
    pub(crate) detail: String,
}

/// Names, one after another, to which ports refer that follow one another as well.
#[derive(Debug)]
struct NameRun {
    names: Range<usize>,
    first_port: usize,
}

impl NameRun {
    /// All names in as few runs as possible. One for which several ports ask has a run for each of them.
    fn all(by_name: &[Askers]) -> Vec<Self> {
        let mut runs: Vec<Self> = Vec::new();
        for (name, Askers { ports, .. }) in by_name.iter().enumerate() {
            for port in ports {
                let follows = |run: &&mut Self| run.names.end == name && run.first_port + run.names.len() == *port;
                match runs.last_mut().filter(follows).filter(|_| ports.len() == 1) {
                    Some(run) => run.names.end += 1,
                    None => runs.push(Self { names: name..name + 1, first_port: *port }),
                }
            }
        }
        runs
    }
}

/// The most port names that a sentence lists.
const NAMED: usize = 8;

/// Up to this many container ports are searched one by one.
const FEW_PORTS: usize = 16;

/// Why a pod lacks ports of a Service, and what it has instead. The container ports are searched once for all of them.
pub(crate) struct PortMisses<'a> {
    pod: &'a Pod,
    /// The container ports of each name, once a pod with many is asked.
    by_name: Option<BTreeMap<&'a str, Namesakes<'a>>>,
    /// The first names of its ports, once they are asked for.
    names: Option<String>,
}

/// The container ports with one name.
#[derive(Default)]
struct Namesakes<'a> {
    /// The protocols of the first few.
    protocols: Vec<&'a str>,
    /// The first number in a native sidecar of each protocol.
    in_sidecars: BTreeMap<&'a str, i32>,
}

impl<'a> Namesakes<'a> {
    fn add(&mut self, port: &'a ContainerPort) {
        if self.protocols.len() < NAMED {
            self.protocols.push(&port.protocol);
        }
        if port.sidecar {
            self.in_sidecars.entry(&port.protocol).or_insert(port.number);
        }
    }
}

impl<'a> PortMisses<'a> {
    pub(crate) fn of(pod: &'a Pod) -> Self {
        Self { pod, by_name: None, names: None }
    }

    /// Why the pod lacks the ports of these names and protocols: there are several only if it has nothing similar.
    pub(crate) fn miss(&mut self, wanted: &[(&Text, &Text)]) -> (Reason, String) {
        let Some((name, protocol)) = wanted.first() else { return (Reason::NamedPortMissing, String::new()) };
        let ports = &self.pod.ports;
        let mut few = Namesakes::default();
        let namesakes = if ports.len() > FEW_PORTS {
            let by_name = self.by_name.get_or_insert_with(|| {
                let mut by_name: BTreeMap<&str, Namesakes<'_>> = BTreeMap::new();
                ports.iter().for_each(|port| by_name.entry(&port.name).or_default().add(port));
                by_name
            });
            by_name.get(name.as_str())
        } else {
            ports.iter().filter(|port| port.name == **name).for_each(|port| few.add(port));
            Some(&few)
        };
        let Some(Namesakes { protocols, in_sidecars }) = namesakes.filter(|found| !found.protocols.is_empty()) else {
            let have = self.names.get_or_insert_with(|| named_ports(ports));
            return (Reason::NamedPortMissing, format!("no container port is named {}; {have}", any_of(wanted)));
        };
        if let Some(number) = in_sidecars.get(protocol.as_str()) {
            let detail = format!(
                "port {:?} is {number} in a native sidecar, whose ports this release does not search",
                clip(name)
            );
            return (Reason::SidecarPortIgnored, detail);
        }
        let shown = |protocol| if str::is_empty(protocol) { "without protocol" } else { clip(protocol) };
        let have = protocols.iter().map(|protocol| shown(protocol)).collect::<Vec<_>>().join(", ");
        let asked = shown(protocol.as_str());
        (Reason::ProtocolMismatch, format!("port {:?} is {have} in the pod, {asked} in the Service", clip(name)))
    }
}

/// Names, as `"http", "admin" or "metrics"`. One that is asked for with several protocols counts once.
fn any_of(wanted: &[(&Text, &Text)]) -> String {
    let mut named: Vec<String> = wanted.iter().take(NAMED).map(|(name, _)| format!("{:?}", clip(name))).collect();
    named.dedup();
    let last = match wanted.len().saturating_sub(NAMED) {
        0 => named.pop().unwrap_or_default(),
        more => format!("{more} more"),
    };
    if named.is_empty() { last } else { format!("{} or {last}", named.join(", ")) }
}

/// The first names of container ports, in a sentence.
fn named_ports(ports: &[ContainerPort]) -> String {
    let names = ports.iter().map(|port| port.name.as_str()).filter(|name| !name.is_empty());
    let have = names.take(NAMED).map(clip).collect::<Vec<_>>().join(", ");
    if have.is_empty() { "none is named".to_owned() } else { format!("there is {have}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_miss_names_what_the_pod_has_instead() {
        let tcp = json!({"name": "http", "protocol": "TCP", "containerPort": 9000});
        let udp = json!({"name": "http", "protocol": "UDP", "containerPort": 53});
        let bare = json!({"name": "http", "containerPort": 80});
        for (containers, sidecars, want) in [
            (json!([]), json!([]), "named-port-missing no container port is named \"http\"; none is named"),
            (
                json!([{"name": "www", "protocol": "TCP", "containerPort": 80}]),
                json!([]),
                "named-port-missing no container port is named \"http\"; there is www",
            ),
            (json!([udp]), json!([]), "protocol-mismatch port \"http\" is UDP in the pod, TCP in the Service"),
            (
                json!([udp, bare]),
                json!([]),
                "protocol-mismatch port \"http\" is UDP, without protocol in the pod, TCP in the Service",
            ),
            (
                json!([]),
                json!([udp, tcp]),
                "sidecar-port-ignored port \"http\" is 9000 in a native sidecar, whose ports this release does not search",
            ),
            (
                json!([udp]),
                json!([tcp]),
                "sidecar-port-ignored port \"http\" is 9000 in a native sidecar, whose ports this release does not search",
            ),
        ] {
            let pod: Pod = serde_json::from_value(json!({"spec": {
                "containers": [{"ports": containers}],
                "initContainers": [{"restartPolicy": "Always", "ports": sidecars}],
            }}))
            .unwrap();
            let (name, protocol) = (Text::new("http"), Text::new("TCP"));
            let (reason, detail) = PortMisses::of(&pod).miss(&[(&name, &protocol)]);
            assert_eq!(format!("{reason} {detail}"), want);
        }
    }

    /// The ports that pods with these container ports lack, and why.
    fn misses(targets: &[(&str, &str)], containers: &[(&str, &str)]) -> String {
        let target = |name: &str| name.parse().map_or_else(|_| TargetPort::Name(name.into()), TargetPort::Number);
        let port = |(name, protocol): &(&str, &str)| ServicePort {
            target_port: target(name),
            protocol: (*protocol).into(),
            ..ServicePort::default()
        };
        let ports: Vec<ServicePort> = targets.iter().map(port).collect();
        let port = |(name, protocol): &(&str, &str)| json!({"name": name, "protocol": protocol, "containerPort": 80});
        let containers: Vec<_> = containers.iter().map(port).collect();
        let pod: Pod = serde_json::from_value(json!({"spec": {"containers": [{"ports": containers}]}})).unwrap();
        let mut targets = PortTargets::new(&ports, true);
        let row = targets.row_of(&pod);
        let text = |PortMiss { ports, detail, .. }: &PortMiss| {
            format!("{}-{}: {}", ports.start, ports.end, detail.split_once(';').map_or(&**detail, |(what, _)| what))
        };
        targets.misses(row, &pod).iter().map(text).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn ports_that_follow_one_another_are_one_miss() {
        let names = |count: usize| -> Vec<String> { (0..count).map(|i| format!("p{i}")).collect() };
        let (a, b, c) = (("a", "TCP"), ("b", "TCP"), ("c", "TCP"));
        for (targets, containers, want) in [
            (&[][..], &[][..], ""),
            (&[a], &[a], ""),
            (&[a, b, c], &[], "0-3: no container port is named \"a\", \"b\" or \"c\""),
            (&[a, b, c], &[b], "0-1: no container port is named \"a\"; 2-3: no container port is named \"c\""),
            (
                &[a, b, c],
                &[("b", "UDP")],
                "0-1: no container port is named \"a\"; 1-2: port \"b\" is UDP in the pod, TCP in the Service; \
                 2-3: no container port is named \"c\"",
            ),
            (
                &[a, ("80", "TCP"), b, a, ("a", "UDP"), c],
                &[],
                "0-1: no container port is named \"a\"; 3-4: no container port is named \"a\"; \
                 2-3: no container port is named \"b\"; 4-6: no container port is named \"a\" or \"c\"",
            ),
            (&[("a", "UDP"), a], &[], "0-2: no container port is named \"a\""),
        ] {
            assert_eq!(misses(targets, containers), want, "{targets:?} {containers:?}");
        }
        let many = names(100);
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "TCP")).collect();
        let want = "0-100: no container port is named \"p0\", \"p1\", \"p2\", \"p3\", \"p4\", \"p5\", \"p6\", \"p7\" or 92 more";
        assert_eq!(misses(&many, &[]), want);
    }
}
