//! Checks of a Service against the pods that it selects.

use std::collections::BTreeMap;

use roster_engine::{
    model::{Service, ServicePort, ServiceType, TargetPort, protocol_or_tcp},
    phrase::port_numbers,
};

use crate::{LivePods, Rule, Unknown, fault::Fault, findings::RuleFindings, kinds::object_check::Subject};

/// Most numbers of one port that a message lists.
const MAX_NUMBERS: usize = 3;

/// Most ports of the selected pods that are looked at, which takes some milliseconds. Replicas share theirs.
const MAX_PORTS: usize = 256 << 10;

/// The rules that compare a Service with the pods that it selects.
pub const POD_RULES: &[Rule] = &[Rule::SelectorMatchesNothing, Rule::TargetPortMissing, Rule::TargetPortDiffers];

/// The check of [`POD_RULES`].
pub(super) fn check(subject: &Subject<'_, Service>, findings: &mut RuleFindings<'_>) {
    let service = subject.object;
    // An API server drops an empty selector.
    let Some(selector) = service.selector.as_ref().filter(|s| !s.is_empty()) else { return };
    if service.kind == ServiceType::ExternalName {
        return;
    }
    let named: Vec<NamedPort<'_>> = service.ports.iter().enumerate().filter_map(NamedPort::of).collect();
    let mut numbers: Vec<PortNumbers<'_>> =
        named.iter().map(|n| PortNumbers { key: n.key(), ..PortNumbers::default() }).collect();
    // Each distinct target is looked up once: there may be thousands of ports and thousands of pods.
    numbers.sort_unstable_by_key(|n| n.key);
    numbers.dedup_by_key(|n| n.key);
    // Without named ports, one pod is enough.
    let pods = match subject.cluster.live_pods(subject.namespace, selector, named.is_empty()) {
        Ok(pods) => pods,
        Err(Unknown(why)) => {
            findings.unchecked(Rule::SelectorMatchesNothing, why);
            if !named.is_empty() {
                findings.unchecked(Rule::TargetPortMissing, why);
                findings.unchecked(Rule::TargetPortDiffers, why);
            }
            return;
        }
    };
    if pods.is_cut {
        for rule in [Rule::SelectorMatchesNothing, Rule::TargetPortMissing, Rule::TargetPortDiffers] {
            findings.over_budget(rule, "there are too many Services and pods to compare");
        }
        return;
    }
    let text = || selector.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",");
    if pods.count == 0 {
        let text = text();
        let message = format_args!("no pod in namespace {} has the labels {text} yet", subject.namespace);
        findings.add(Rule::SelectorMatchesNothing, Fault::Text(&text), format_args!("spec.selector"), message);
        return;
    }
    if !count_ports(&pods, &mut numbers) {
        for rule in [Rule::TargetPortMissing, Rule::TargetPortDiffers] {
            findings.over_budget(rule, "the selected pods have too many ports");
        }
        return;
    }
    for named in &named {
        if let Ok(at) = numbers.binary_search_by(|n| n.key.cmp(&named.key())) {
            check_port(named, &numbers[at].pods, pods.count, findings);
        }
    }
}

/// Counts the numbers that the pods use. Returns whether all ports of the pods were looked at.
fn count_ports(pods: &LivePods, numbers: &mut [PortNumbers<'_>]) -> bool {
    let mut left = MAX_PORTS;
    for (i, (ports, count)) in pods.ports.iter().enumerate() {
        let Some(rest) = left.checked_sub(ports.len()) else { return false };
        left = rest;
        // As in the newest release: the first port with this name and protocol counts.
        for port in ports.iter() {
            let key = (port.name.as_str(), port.protocol.as_str());
            if let Ok(at) = numbers.binary_search_by(|n| n.key.cmp(&key)) {
                numbers[at].add(i, port.number, *count);
            }
        }
    }
    true
}

/// A port of the Service whose target is a name.
struct NamedPort<'a> {
    at: usize,
    name: &'a str,
    protocol: &'a str,
}

impl<'a> NamedPort<'a> {
    fn of((at, port): (usize, &'a ServicePort)) -> Option<Self> {
        let TargetPort::Name(name) = &port.target_port else { return None };
        Some(Self { at, name, protocol: protocol_or_tcp(&port.protocol) })
    }

    fn key(&self) -> (&'a str, &'a str) {
        (self.name, self.protocol)
    }
}

/// The numbers that the pods use for one name and protocol.
#[derive(Default)]
struct PortNumbers<'a> {
    key: (&'a str, &'a str),
    /// The number of pods that use each.
    pods: BTreeMap<i32, usize>,
    /// The last list of ports that was counted.
    last: Option<usize>,
}

impl PortNumbers<'_> {
    /// Adds the port of a list of ports that `count` pods have.
    fn add(&mut self, list: usize, number: i32, count: usize) {
        if self.last.replace(list) != Some(list) {
            *self.pods.entry(number).or_default() += count;
        }
    }
}

/// Checks one named port, for which the selected pods use these numbers. The same port for another selector is another
/// fault.
fn check_port(named: &NamedPort<'_>, numbers: &BTreeMap<i32, usize>, pods: usize, findings: &mut RuleFindings<'_>) {
    let NamedPort { at, name, protocol } = named;
    if numbers.len() == 1 {
        return;
    }
    let fault = format!("{protocol} {name}");
    let fault = Fault::SelectedPort(&fault);
    let field = format_args!("spec.ports[{at}].targetPort");
    if numbers.is_empty() {
        let none = match pods {
            1 => "the selected pod does not have".to_owned(),
            pods => format!("none of the {pods} selected pods has"),
        };
        let message = format_args!("{none} a {protocol} port {name:?}");
        findings.add(Rule::TargetPortMissing, fault, field, message);
    } else {
        let message = format_args!("{name:?} is {}", port_numbers(numbers, MAX_NUMBERS));
        findings.add(Rule::TargetPortDiffers, fault, field, message);
    }
}
